#!/bin/sh
# clang_wide_vectors.sh - clang passes a vector of 512 bits by the options of the whole file and not by the attribute of the
# function: __attribute__((target("avx512f"))) without -mavx512f reads it from memory, where gcc, and clang with the option,
# use a register. Two files that agree on a function's declaration, one with the attribute and one with the option, therefore
# disagree on where its arguments are, without a warning. gcc takes the attribute into account.
#
# Guess before the run: the attribute decides, since it makes the registers available, as with gcc.
# Needs: gcc for x86-64, python3 with venv, and a package index. Installs ziglang 0.15.1 (clang 20.1.2, 100 MB) into a temporary
# folder. Only compiles, so any x86-64 processor will do.
set -eu
case $(gcc -dumpmachine 2>/dev/null) in
x86_64-*) ;;
*)
    echo "skipped: gcc for x86-64 is not installed"
    exit 0
    ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q ziglang==0.15.1 || {
    echo "skipped: ziglang 0.15.1 cannot be installed"
    exit 0
}
cat >"$folder/second.c" <<'END_OF_C'
typedef float sixteen __attribute__((vector_size(64)));
__attribute__((target("avx512f"))) sixteen second(sixteen a, sixteen b);
sixteen second(sixteen a, sixteen b)
{
    (void)a;
    return b;
}
END_OF_C
clang() {
    ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache \
        "$folder/venv/bin/python" -m ziglang cc -target x86_64-linux-gnu "$@" 2>/dev/null
}

# where COMPILER OPTION...: tells whether the second argument is read from a register or from memory (the caller's frame).
where() {
    "$@" -O2 -S -o "$folder/second.s" "$folder/second.c"
    if grep -qE '^[[:space:]]*v?mov[a-z]+[[:space:]]+[0-9]+\(%r[bs]p\)' "$folder/second.s"; then
        echo memory
    else
        echo register
    fi
}
changed=0

# row WHAT GOT SEEN EXPECTED
row() {
    echo "$1: $2, expected $4"
    [ "$2" = "$3" ] || changed=1
}
gcc --version | head -n 1
clang --version | head -n 1
row "gcc, attribute" "$(where gcc)" register register
row "gcc, attribute and -mavx512f" "$(where gcc -mavx512f)" register register
row "clang, attribute" "$(where clang)" memory register
row "clang, attribute and -mavx512f" "$(where clang -mavx512f)" register register
[ $changed = 0 ] && echo "seen: as found" || echo "seen: something else than when this was written"
exit $changed
