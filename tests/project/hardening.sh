#!/bin/sh
# hardening.sh CC READELF library program... - what lib/harden.cmake asks for is in the binaries: addresses
# read-only before main (RELRO, BIND_NOW), no executable stack, no relocated code, position-independent
# programs, stack canaries, checked calls of the C library. Says what it found. Then the judge is judged:
# a small program loses one property after the other, and each loss must be noticed.
set -u
cc=$1 readelf=$2
shift 2
command -v "$readelf" >/dev/null || { echo "skipped: project/hardening: readelf is not installed"; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# judge file: what the binary has, one property a line.
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
        *) echo "$file: without $property"; bad=1 ;;
        esac
    done
done

# The judge sees each loss.
cat >"$scratch/victim.c" <<'END'
#include <stdio.h>
#include <string.h>
#ifdef RELOCATED /* an address among the instructions, filled in at the start */
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
# loses property flag...: the small program with these flags has every property but this one.
loses() {
    property=$1
    shift
    "$cc" $hardened "$@" "$scratch/victim.c" -o "$scratch/victim" 2>/dev/null || { echo "$*: not built"; bad=1; return; }
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
