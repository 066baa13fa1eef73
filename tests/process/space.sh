#!/bin/sh
# space.sh BIN librapt.so - the library and the programs are not linked with a BLAS, and the programs run in
# 200 MB of address space.
set -eu
bin=$1 library=$2
count=0
for file in "$library" "$bin"/toy_translate "$bin"/lessons "$bin"/caption "$bin"/glimpse; do
    [ -e "$file" ] || continue
    needed=$(readelf -d "$file" | grep NEEDED)
    if echo "$needed" | grep -i blas; then
        echo "$file is linked with a BLAS"
        exit 1
    fi
    [ "$file" != "$library" ] || continue
    # The timeout ends a program that hangs.
    (ulimit -v 200000 && timeout 60 "$file" --help) >/dev/null || {
        echo "$file --help in 200 MB of address space: exit status $?"
        exit 1
    }
    count=$((count + 1))
done
[ $count -gt 0 ] || { echo "no program in $bin"; exit 1; }
echo "cases: process/space: $count programs"
