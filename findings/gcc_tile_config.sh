#!/bin/sh
# gcc_tile_config.sh - gcc 12's _tile_loadconfig tells the optimizer that the instruction reads 8 bytes, but ldtilecfg reads 64. With
# -O1 and above, the stores of a local configuration's other 56 bytes, which are the sizes of all tiles, disappear, and the
# processor reads what happens to be on the stack. There is no warning. clang keeps the stores.
#
# Guess before the run: an intrinsic reads what its instruction reads, so all stores remain at every level.
# Needs: gcc 12 for x86-64, python3 with venv, and a package index. Installs ziglang 0.15.1 (clang 20.1.2, 100 MB) into a temporary
# folder. Only compiles, so any x86-64 processor will do.
set -eu
case $(gcc -dumpmachine 2>/dev/null),$(gcc -dumpversion 2>/dev/null) in
x86_64-*,12*) ;;
*)
    echo "skipped: gcc 12 for x86-64 is not installed"
    exit 0
    ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q ziglang==0.15.1 || {
    echo "skipped: ziglang 0.15.1 cannot be installed"
    exit 0
}
cat >"$folder/configure.c" <<'END_OF_C'
#include <immintrin.h>
void configure(void)
{
    unsigned char config[64] = {0};
    config[0] = 1;   /* palette */
    config[16] = 48; /* bytes of a row of tile 0 */
    config[48] = 7;  /* rows of tile 0 */
    _tile_loadconfig(config);
}
END_OF_C
clang() {
    ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache \
        "$folder/venv/bin/python" -m ziglang cc -target x86_64-linux-gnu "$@" 2>/dev/null
}

# stores COMPILER OPTION...: counts which of the three numbers are stored before the configuration is loaded.
stores() {
    "$@" -mamx-tile -S -o "$folder/configure.s" "$folder/configure.c"
    found=0
    for number in 1 48 7; do
        grep -q "movb[[:space:]]*\\\$$number," "$folder/configure.s" && found=$((found + 1))
    done
    echo "$found"
}

gcc0=$(stores gcc -O0) gcc1=$(stores gcc -O1) gcc2=$(stores gcc -O2) clang2=$(stores clang -O2)
echo "$(gcc --version | head -n 1); clang $(clang --version | sed -n 's/.*clang version \([0-9.]*\).*/\1/p')"
echo "gcc -O0: $gcc0 of 3 numbers are stored; expected 3"
echo "gcc -O1: $gcc1 of 3; expected 3"
echo "gcc -O2: $gcc2 of 3; expected 3"
echo "clang -O2: $clang2 of 3; expected 3"
if [ "$gcc0 $gcc1 $gcc2 $clang2" = "3 1 1 3" ]; then
    echo "seen: as found"
else
    echo "seen: something else than when this was written"
    exit 1
fi
