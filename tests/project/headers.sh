#!/bin/sh
# headers.sh ROOT CC CXX - compiles each public header by itself as C99, C11 and C++11, with warnings as errors.
set -u
root=$1 cc=$2 cxx=$3
flags="-fsyntax-only -pedantic -Wall -Wextra -Werror"
bad=0
for header in "$root"/include/rapt/*.h; do
    name=rapt/$(basename "$header")
    for standard in c99 c11; do
        echo "#include <$name>" | $cc -std=$standard $flags -I"$root/include" -Wstrict-prototypes -x c - ||
            { echo "$name: not valid $standard"; bad=1; }
    done
    echo "#include <$name>" | $cxx -std=c++11 $flags -I"$root/include" -x c++ - || { echo "$name: not valid C++11"; bad=1; }
done
exit $bad
