#!/bin/sh
# hardening.sh CC READELF library program... - checks that the binaries have what lib/harden.cmake requests: addresses
# that are read-only before main (RELRO, BIND_NOW), no executable stack, no text relocations, position-independent
# programs, stack canaries, checked calls of the C library. Then it tests itself: a small program is built without
# each of the properties in turn, and each loss must be noticed.
set -u
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
