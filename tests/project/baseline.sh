#!/bin/sh
# baseline.sh OBJDUMP program librapt.a scalar.o - the library starts on every x86-64 processor.
# 1. Outside the tables of AVX kernels there is no AVX register. 2. The program, which prints the
# instruction set it was given, runs on an emulated processor without AVX and one without AVX-512.
set -u
objdump=$1 program=$2 archive=$3 scalar=$4
bad=0

# Lines with a vector register wider than SSE's, as "member: instruction".
avx() {
    "$objdump" -d --no-show-raw-insn "$1" |
        awk '/file format/ { member = $1 } /%[yz]mm[0-9]/ { print member, $0 }'
}
found=$({ avx "$archive" | grep -vE '^[^ ]*\btable\.c'; avx "$scalar"; } | head -n 20)
[ -z "$found" ] || { echo "AVX in the baseline:"; echo "$found"; bad=1; }
[ "$(avx "$archive" | wc -l)" -gt 1000 ] || { echo "no AVX anywhere: this test sees nothing"; bad=1; }

# expect processor answer
# (On standard error qemu lists what it cannot emulate of that processor.)
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
