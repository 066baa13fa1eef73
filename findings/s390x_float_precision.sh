#!/bin/sh
# s390x_float_precision.sh - gcc computes float expressions in double on s390x if the language is -std=c11, and in float if it
# is gnu11. So the same source gives other bits there than on every other 64-bit target, even with -ffp-contract=off, and only
# if CMake's C_EXTENSIONS is off. `-fexcess-precision=fast` restores float.
#
# Guess before the run: FLT_EVAL_METHOD is 0 on every 64-bit target, since s390x has instructions for float, and the letter of
# the standard does not change arithmetic.
# Needs: gcc-s390x-linux-gnu (Debian; found with 12.2.0), and qemu-s390x with libc6-dev-s390x-cross for the result. Skipped
# without the compiler.
set -eu
command -v s390x-linux-gnu-gcc >/dev/null || {
    echo "skipped: gcc-s390x-linux-gnu is not installed"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
s390x-linux-gnu-gcc --version | head -n 1
changed=0

# row WHAT GOT SEEN EXPECTED
row() {
    echo "$1: $2, expected $4"
    [ "$2" = "$3" ] || changed=1
}

method() {
    echo "int x;" | s390x-linux-gnu-gcc "$@" -dM -E -x c - | awk '$2 == "__FLT_EVAL_METHOD__" { print $3 }'
}
row "FLT_EVAL_METHOD, -std=c11" "$(method -std=c11)" 1 0
row "FLT_EVAL_METHOD, -std=gnu11" "$(method -std=gnu11)" 0 0
row "FLT_EVAL_METHOD, -std=c11 -fexcess-precision=fast" "$(method -std=c11 -fexcess-precision=fast)" 0 0

# (1 + 2^-23)(1 - 2^-23) - 1 is 0 in float, since the product rounds to 1, and -2^-46 in double.
cat >"$folder/product.c" <<'END_OF_C'
#include <stdio.h>
int main(void)
{
    volatile float a = 1 + 0x1p-23f, b = 1 - 0x1p-23f, c = 1;
    float d = a * b - c;
    printf("%a\n", (double)d);
    return 0;
}
END_OF_C
product() {
    s390x-linux-gnu-gcc -O2 -ffp-contract=off -static "$@" -o "$folder/product" "$folder/product.c" 2>/dev/null &&
        qemu-s390x "$folder/product"
}
if command -v qemu-s390x >/dev/null && product -std=c11 >/dev/null; then
    row "a * b - c, -std=c11" "$(product -std=c11)" -0x1p-46 0x0p+0
    row "a * b - c, -std=gnu11" "$(product -std=gnu11)" 0x0p+0 0x0p+0
else
    echo "skipped: the product: qemu-s390x or libc6-dev-s390x-cross is missing"
fi
[ $changed = 0 ] && echo "seen: as found" || echo "seen: something else than when this was written"
exit $changed
