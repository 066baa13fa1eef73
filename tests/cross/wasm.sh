#!/bin/sh
# wasm.sh ROOT BITS - compiles the library for WebAssembly as the pages of lessons contain it, once with vectors (SIMD128)
# and once without, and runs the tests of kernels, attention and generation with both, side by side in node. BITS is the
# program made from bits.c for the machine here: it must print the same in WebAssembly.
set -u
root=$1 bits=$2
skip() { echo "skipped: cross/wasm: $*"; exit 77; }
command -v node >/dev/null || skip "node is not installed"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir include
echo 'typedef int jmp_buf;' >include/setjmp.h # wasi-libc refuses its own
echo 'int main(void) { return 0; }' >trial.c
for clang in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 ""; do
    [ -n "$clang" ] || skip "no clang compiles for wasm32-wasi"
    command -v $clang >/dev/null && $clang --target=wasm32-wasi trial.c -o trial.wasm 2>log && break
done
cat >run.mjs <<'END'
import {readFileSync} from "node:fs";
import {WASI} from "node:wasi";
const [file, tests] = process.argv.slice(2);
const wasi = new WASI({version: "preview1", args: [file], returnOnExit: true, env: {TMPDIR: "/tmp"},
                       preopens: {"/tests": tests, "/tmp": "temporary"}});
const env = new Proxy({}, {get: (_, name) => () => { throw new Error(`${name} does not exist in WebAssembly`); }});
const {instance} = await WebAssembly.instantiate(readFileSync(file), {...wasi.getImportObject(), env});
process.exit(wasi.start(instance));
END
# With threads for garbage collection, node 20.20 crashes at the end of generate/generate in most runs.
run() { node --no-warnings --single-threaded-gc ../run.mjs "$1" "$root/tests"; }

# Reasons why some tests are not run.
memory="attention/ahead|attention/huge|attention/layouts|attention/pages" # more than 32 bits address, or protected pages
fused="attention/accuracy"   # compares errors with those of fused multiply-add
files="generate/variants|generate/vectors" # they write models and checkpoints with calls that WASI lacks
slow="generate/sample"       # millions of draws
threads="generate/prefix"    # starts threads
without="$memory|$fused|$files|$slow|$threads"

# Tests train models, too, and read and write files, which pages do not.
more=$(ls "$root"/lib/train/*.c "$root"/lib/text/*.c "$root"/lib/text/*/*.c "$root"/lib/format/*.c "$root"/lib/format/posix/*.c |
    grep -v -e /shortlist.c -e /posix/read.c -e /posix/reserve.c)
compile() {
    $clang --target=wasm32-wasi -std=c11 -O1 -ffp-contract=off -w -DRAPT_TESTS_DIR='"/tests"' -D_WASI_EMULATED_MMAN \
        -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS -I"$scratch/include" -I"$root/tests/cross" \
        -I"$root/apps/lessons/module" -I"$root/include" -I"$root/lib" -I"$root/tests" -include "$root/tests/cross/wasi.h" "$@"
}
compile -nostdlib -Wl,-r $more "$root"/tests/oracle/*.c -o more.o || exit 1
compile -DRAPT_ISA=scalar -DRAPT_SIMD_HEADER='"simd_scalar.h"' -c "$root"/tests/kernel/isa/exp2_row.c -o isa.o || exit 1
link() { # OBJECT PROGRAM
    compile "$1" ../more.o ../isa.o rapt.o -Wl,-z,stack-size=4194304,--allow-undefined -lwasi-emulated-mman \
        -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lm -o "$2"
}

# check OPTION: links everything with the library compiled with OPTION, and runs it.
check() {
    bad=0
    mkdir ."$1" ."$1"/temporary && cd ."$1" || exit 1
    sh "$root/apps/lessons/module/library.sh" "$root" rapt.o $clang "$1" || exit 1
    link ../bits.o bits.wasm && run bits.wasm >there || bad=1
    cmp ../here there && echo "$1: $(wc -l <there) lines of checksums are the same" || bad=1
    for object in ../tests/*.o; do
        name=$(basename "$object" .o)
        link "$object" test.wasm >log 2>&1 && run test.wasm >>log 2>&1 || { echo "$1: $name FAILED:"; tail -n 5 log; bad=1; }
    done
    [ $bad = 0 ] && echo "$1: $count programs of tests pass"
    exit $bad
}

bad=0
"$bits" >here || exit 1
compile -c "$root/tests/cross/bits.c" -o bits.o || exit 1
mkdir tests
count=0
for source in "$root"/tests/kernel/*.c "$root"/tests/attention/*.c "$root"/tests/generate/*.c; do
    name=$(basename "$(dirname "$source")")/$(basename "$source" .c)
    if echo "$name" | grep -qxE "$without"; then continue; fi
    count=$((count + 1))
    compile -c "$source" -o "tests/$(echo "$name" | tr / .).o" || { echo "$name does not compile"; bad=1; }
done
[ $count -ge 40 ] || { echo "$count tests, not 40"; bad=1; }
(check -msimd128) >vectors 2>&1 &
(check -mno-simd128) || bad=1
wait $! || bad=1
cat vectors
echo "not run: $without"
exit $bad
