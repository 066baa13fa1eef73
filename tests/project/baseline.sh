#!/bin/sh
# baseline.sh OBJDUMP program librapt.a scalar.o int8_scalar.o bf16_scalar.o - checks that the library runs on every x86-64 processor:
# 1. AVX registers are used only in the tables of AVX kernels.
# 2. The program, which prints the instruction set that was chosen, runs on an emulated processor without AVX and on one
#    without AVX-512.
set -u
objdump=$1 program=$2 archive=$3 scalar=$4 bytes=$5 pairs=$6
bad=0

# Prints the instructions that use a vector register wider than SSE's, as "member: instruction".
avx() {
    "$objdump" -d --no-show-raw-insn "$1" |
        awk '/file format/ { member = $1 } /%[yz]mm[0-9]/ { print member, $0 }'
}
found=$({ avx "$archive" | grep -vE '^[^ ]*\b((int8|int8_tiles|bf16)_)?table\.c'; avx "$scalar"; avx "$bytes"; avx "$pairs"; } | head -n 20)
[ -z "$found" ] || { echo "AVX in the baseline:"; echo "$found"; bad=1; }
[ "$(avx "$archive" | wc -l)" -gt 1000 ] || { echo "no AVX found anywhere: this test does not work"; bad=1; }

# expect PROCESSOR ANSWER: runs the program on an emulated processor
# (qemu's standard error lists the features of that processor that it cannot emulate.)
expect() {
    answer=$(qemu-x86_64 -cpu "$1" "$program" 2>/dev/null) || { echo "$1: failed"; bad=1; }
    echo "$1: $answer"
    [ "$answer" = "$2" ] || { echo "$1: expected $2"; bad=1; }
}
if command -v qemu-x86_64 >/dev/null; then
    expect Nehalem scalar
    expect Haswell avx2
else
    echo "skipped: project/baseline, on an emulated processor: qemu-x86_64 is not installed"
    [ $bad = 1 ] || exit 77
fi
exit $bad
