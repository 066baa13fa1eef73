#!/bin/sh
# arm64.sh ROOT - compiles base, kernel and the oracle for arm64, with warnings as errors, and runs
# tests/kernel on an emulated processor, where they compare NEON with plain C, bit for bit.
set -u
root=$1
cc=aarch64-linux-gnu-gcc
for tool in $cc qemu-aarch64; do
    command -v $tool >/dev/null || { echo "skipped: cross/arm64: $tool is not installed"; exit 77; }
done
[ -e /usr/aarch64-linux-gnu/include/stdlib.h ] || {
    echo "skipped: cross/arm64: libc6-dev-arm64-cross is not installed"
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Uses the options of lib/CMakeLists.txt.
compile() {
    $cc -std=c11 -O2 -ffp-contract=off -ffunction-sections -Wall -Wextra -Wshadow -Wconversion \
        -Wstrict-prototypes -Wvla -Wno-unknown-pragmas -Werror -DRAPT_HAVE_NEON -DRAPT_HAVE_NEONDOT \
        -I"$root/tests/cross" -I"$root/include" -I"$root/lib" -I"$root/tests" "$@"
}
failed() { echo "$1: FAILED"; bad=1; }

bad=0
for isa in scalar neon; do
    compile -O3 -DRAPT_ISA=$isa -DRAPT_SIMD_HEADER="\"simd_$isa.h\"" -c "$root/lib/kernel/table.c" \
        -o "$scratch/table_$isa.o" || failed "table.c for $isa"
    for kind in $isa=BF16_STEPS ${isa}_slices=BF16_TILES; do
        compile -O3 -DRAPT_BF16=${kind%=*} -DRAPT_BF16_SUMS=${kind#*=} -DRAPT_SIMD_HEADER="\"simd_$isa.h\"" \
            -DRAPT_BF16_HEADER="\"kernel/bf16_emulated.h\"" -c "$root/lib/kernel/bf16_gemm.c" \
            -o "$scratch/bf16_${kind%=*}.o" || failed "bf16_gemm.c for $kind"
    done
    for source in "$root"/tests/kernel/isa/*.c; do
        compile -O3 -DRAPT_ISA=$isa -DRAPT_SIMD_HEADER="\"simd_$isa.h\"" -c "$source" \
            -o "$scratch/$(basename "$source" .c)_$isa.o" || failed "$source for $isa"
    done
done
int8() { # NAME HEADER OPTION...
    name=$1 header=$2
    shift 2
    compile -O3 -DRAPT_INT8=$name -DRAPT_SIMD_HEADER="\"simd_$header.h\"" \
        -DRAPT_INT8_HEADER="\"kernel/int8_$header.h\"" "$@" -c "$root/lib/kernel/int8_gemm.c" \
        -o "$scratch/int8_$name.o" || failed "int8_gemm.c for $name"
}
int8 scalar scalar
int8 neon neon
int8 neondot neon -march=armv8.2-a+dotprod
for source in "$root"/lib/base/*.c "$root/lib/kernel/choose.c" "$root"/tests/oracle/*.c; do
    [ -e "$source" ] || continue
    folder=$(basename "$(dirname "$source")")
    compile -c "$source" -o "$scratch/$folder.$(basename "$source" .c).o" || failed "$source"
done
[ $bad = 0 ] || exit 1

count=0
for source in "$root"/tests/kernel/*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    count=$((count + 1))
    echo "== kernel/$name"
    compile "$source" "$scratch"/*.o -Wl,--gc-sections -o "$scratch/test" -lm || { failed "$name"; continue; }
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$scratch/test" || failed "$name"
done
[ $count -gt 0 ] || { echo "no tests found in tests/kernel"; exit 1; }
exit $bad
