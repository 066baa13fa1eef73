#!/bin/sh
# library.sh ROOT OUT CLANG [OPTION]... - compiles the part of the library that a page needs to WebAssembly, as one
# relocatable object OUT: attention, models and generation, with the kernels of plain C. With -msimd128 clang turns their
# loops over lanes into vectors of 128 bits. Both give the bits of plain C on x86-64, since WebAssembly, too, has no
# fused multiply-add.
set -eu
lib=$1/lib out=$2 clang=$3
folder=$1/apps/lessons/module
shift 3
compile() {
    "$clang" -Os --target=wasm32-wasi -std=c11 -ffp-contract=off -ffunction-sections -fdata-sections \
        -Wno-unknown-pragmas -D_WASI_EMULATED_MMAN -I"$folder" -I"$folder/../../../include" -I"$lib" "$@"
}
sources=$(ls "$lib"/base/*.c "$lib"/op/*.c "$lib"/attention/*.c "$lib"/attention/*/*.c "$lib"/model/*.c \
    "$lib"/generate/*.c | grep -v /sleef_fallback.c)
scalar='-DRAPT_SIMD_HEADER="simd_scalar.h"'
compile -O2 "$@" "$scalar" -DRAPT_ISA=scalar -c "$lib/kernel/table.c" -o "$out.table"
compile -O2 "$@" "$scalar" -DRAPT_INT8=scalar '-DRAPT_INT8_HEADER="kernel/int8_scalar.h"' -c "$lib/kernel/int8_gemm.c" \
    -o "$out.int8"
bf16() { # NAME SUMS OPTION...
    name=$1 sums=$2
    shift 2
    compile -O2 "$@" "$scalar" -DRAPT_BF16="$name" -DRAPT_BF16_SUMS="$sums" '-DRAPT_BF16_HEADER="kernel/bf16_emulated.h"' \
        -c "$lib/kernel/bf16_gemm.c" -o "$out.$name"
}
bf16 scalar BF16_STEPS "$@"
bf16 scalar_slices BF16_TILES "$@"
compile "$@" -nostdlib -Wl,-r $sources "$lib/kernel/choose.c" "$lib/text/shortlist.c" "$lib/format/posix/read.c" \
    "$out.table" "$out.int8" "$out.scalar" "$out.scalar_slices" -o "$out"
