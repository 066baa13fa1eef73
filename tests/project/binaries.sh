#!/bin/sh
# What is in the binaries: AVX only where it may be used, hardening, and the same bytes from every build.
# usage: binaries.sh CHECK ARGUMENT...
set -u

# baseline OBJDUMP program librapt.a scalar.o int8_scalar.o bf16_scalar.o bf16_scalar_slices.o - checks that the library runs on every x86-64 processor:
# 1. AVX registers are used only in the tables of AVX kernels.
# 2. The program, which prints the instruction set that was chosen, runs on an emulated processor without AVX and on one
#    without AVX-512.
baseline() {
    objdump=$1 program=$2 archive=$3 scalar=$4 bytes=$5 pairs=$6 slices=$7
    bad=0

    # Prints the instructions that use a vector register wider than SSE's, as "member: instruction".
    avx() {
        "$objdump" -d --no-show-raw-insn "$1" |
            awk '/file format/ { member = $1 } /%[yz]mm[0-9]/ { print member, $0 }'
    }
    found=$({ avx "$archive" | grep -vE '^[^ ]*\b(table|int8_gemm|int8_tiles|bf16_gemm|bf16_tiles)\.c'; avx "$scalar"; avx "$bytes"; avx "$pairs"; avx "$slices"; } | head -n 20)
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
}

# hardening CC READELF library program... - checks that the binaries have what lib/harden.cmake requests: addresses
# that are read-only before main (RELRO, BIND_NOW), no executable stack, no text relocations, position-independent
# programs, stack canaries, checked calls of the C library. Then it tests itself: a small program is built without
# each of the properties in turn, and each loss must be noticed.
hardening() {
    cc=$1 readelf=$2
    shift 2
    command -v "$readelf" >/dev/null || { echo "skipped: project/hardening: readelf is not installed"; exit 77; }
    scratch=$(mktemp -d) || exit 1
    trap 'rm -rf "$scratch"' EXIT

    # judge FILE: prints the properties of the binary, one per line.
    judge() {
        LC_ALL=C "$readelf" -W --file-header --program-headers --dynamic --symbols "$1" >"$scratch/text" || return 1
        awk '
            /GNU_RELRO/                            { print "relro" }
            /BIND_NOW/ || /FLAGS_1.* NOW( |$)/     { print "bind-now" }
            /GNU_STACK/ && / RW  /                 { print "data-stack" }
            /TEXTREL/                              { relocated = 1 }
            / EXEC \(/                             { fixed = 1 }
            / UND __stack_chk_fail/                { print "canary" }
            / UND __[a-z]+_chk/ && !/stack_chk/    { print "checked-calls" }
            END { if (!relocated) print "plain-code"; if (!fixed) print "any-address" }
        ' "$scratch/text" | sort -u
    }
    wanted="any-address bind-now canary checked-calls data-stack plain-code relro"

    bad=0
    for file in "$@"; do
        found=$(judge "$file" | tr '\n' ' ')
        echo "$(basename "$file"): $found"
        for property in $wanted; do
            case " $found" in
            *" $property "*) ;;
            *) echo "$file: $property is missing"; bad=1 ;;
            esac
        done
    done

    # Every loss must be noticed.
    cat >"$scratch/victim.c" <<'END'
#include <stdio.h>
#include <string.h>
#ifdef RELOCATED /* an address in the code, which the loader fills in */
__asm__(".text\n.quad printf\n");
#endif
int main(int count, char **words)
{
    char copy[64];
    strcpy(copy, words[count - 1]);
    return printf("%s\n", copy) < 0;
}
END
    hardened="-O2 -fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
    -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack"
    # loses PROPERTY FLAG...: checks that the small program built with these flags lacks only this property.
    loses() {
        property=$1
        shift
        "$cc" $hardened "$@" "$scratch/victim.c" -o "$scratch/victim" 2>/dev/null || { echo "$*: the build failed"; bad=1; return; }
        found=$(judge "$scratch/victim" | tr '\n' ' ')
        expected=$(echo " $wanted " | sed "s/ $property / /;s/^ *//")
        [ "$found" = "$expected" ] || { echo "with $*: found $found, expected $expected"; bad=1; }
    }
    loses nothing
    loses relro -Wl,-z,norelro
    loses bind-now -Wl,-z,lazy
    loses data-stack -Wl,-z,execstack
    loses plain-code -DRELOCATED -Wl,-z,notext
    loses any-address -fno-pie -no-pie
    loses canary -fno-stack-protector
    loses checked-calls -U_FORTIFY_SOURCE
    exit $bad
}

# reproducible ROOT - builds the same sources in two folders, in different orders, and checks that librapt.so,
# librapt.a and toy_translate have the same bytes, including debugging information.
reproducible() {
    root=$1
    scratch=$(mktemp -d) || exit 1
    trap 'rm -rf "$scratch"' EXIT

    # Copies both before building, so that an edit in the meantime affects neither.
    for folder in one another/folder; do
        mkdir -p "$scratch/$folder" &&
            cp -r "$root/CMakeLists.txt" "$root/LICENSE" "$root/README.md" "$root/include" "$root/lib" "$root/apps" "$scratch/$folder" || exit 1
    done

    # build FOLDER JOBS: builds the files to compare.
    build() {
        cmake -S "$1" -B "$1/build" -DRAPT_TESTS=OFF -DRAPT_PERF=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$scratch/log" 2>&1 &&
            CCACHE_DISABLE=1 cmake --build "$1/build" --parallel "$2" --target rapt rapt_static toy_translate \
                >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; return 1; }
    }
    build "$scratch/one" 1 && build "$scratch/another/folder" "$(getconf _NPROCESSORS_ONLN)" || exit 1

    bad=0
    for file in lib/librapt.so lib/librapt.a bin/toy_translate; do
        a=$scratch/one/build/$file b=$scratch/another/folder/build/$file
        cmp "$a" "$b" || bad=1
        # The name of the folder must not appear even if it is the same in both builds.
        ! grep -q "$scratch" "$a" || { echo "$file contains the name of the folder it was built in"; bad=1; }
        echo "$file: $(wc -c <"$a") bytes, $(sha256sum <"$a" | cut -c1-16)"
    done
    exit $bad
}

"$@"
