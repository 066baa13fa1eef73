#!/bin/sh
# gcc_prefetch_calls.sh - gcc 12 takes a function that only prefetches for one without effects, and with -O1 and above removes the
# calls of it that are not inlined, without a warning: the program prefetches nothing. A function that is inlined keeps its
# prefetches, and so does one with a statement of assembly. clang keeps the calls. So an attempt to prefetch in a function of
# its own may seem to gain nothing because it never ran.
#
# Guess before the run: a prefetch is requested by the programmer, so calls of a function that prefetches remain at every level.
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
cat >"$folder/sum.c" <<'END_OF_C'
#include <stddef.h>
static KIND void prefetch_block(const float *block, size_t count)
{
    for (size_t i = 0; i < count; i += 16) __builtin_prefetch(block + i);
    STATEMENT;
}
float sum_block(const float *block, size_t count)
{
    float sum = 0;
    prefetch_block(block + count, count); /* the next block */
    for (size_t i = 0; i < count; i++) sum += block[i];
    return sum;
}
END_OF_C
clang() {
    ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache \
        "$folder/venv/bin/python" -m ziglang cc -target x86_64-linux-gnu "$@" 2>/dev/null
}

# prefetches KIND STATEMENT COMPILER OPTION...: says whether sum_block prefetches.
prefetches() {
    kind=$1 statement=$2
    shift 2
    "$@" "-DKIND=$kind" "-DSTATEMENT=$statement" -S -o "$folder/sum.s" "$folder/sum.c"
    calls=$(grep -c 'call.*prefetch_block' "$folder/sum.s") || :
    direct=$(sed -n '/^sum_block:/,/^\t\.size/p' "$folder/sum.s" | grep -c prefetcht0) || :
    [ "$((calls + direct))" -gt 0 ] && echo yes || echo no
}
apart='__attribute__((noinline))'
within='inline __attribute__((always_inline))'

seen=
# show EXPECTED NAME KIND STATEMENT COMPILER OPTION...
show() {
    expected=$1 name=$2
    shift 2
    answer=$(prefetches "$@")
    seen="$seen $answer"
    echo "$name: $answer; expected $expected"
}
echo "$(gcc --version | head -n 1); clang $(clang --version | sed -n 's/.*clang version \([0-9.]*\).*/\1/p'): is the next block prefetched?"
show yes "gcc -O0, in a function of its own" "$apart" '(void)0' gcc -O0
show yes "gcc -O1, in a function of its own" "$apart" '(void)0' gcc -O1
show yes "gcc -O3, in a function of its own" "$apart" '(void)0' gcc -O3
show yes "gcc -O3, inlined" "$within" '(void)0' gcc -O3
show yes "gcc -O3, with a statement of assembly" "$apart" '__asm__ volatile("")' gcc -O3
show yes "clang -O3, in a function of its own" "$apart" '(void)0' clang -O3
if [ "$seen" = " yes no no yes yes yes" ]; then
    echo "seen: as found"
else
    echo "seen: something else than when this was written"
    exit 1
fi
