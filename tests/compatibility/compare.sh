#!/bin/sh
# compare.sh PROGRAM GROWN-PROGRAM LIBRARY GROWN-LIBRARY - a program and a library whose headers differ in the
# length of structs must work together with the same bits. Fields that only the program knows must be 0.
set -eu
program=$1 grown_program=$2 folder=$(dirname "$3") grown_folder=$(dirname "$4")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# output FILE FOLDER PROGRAM ARGUMENT: runs PROGRAM with the library in FOLDER and writes its output to FILE
output() {
    LD_LIBRARY_PATH=$2 "$3" "$4" >"$scratch/$1" || { cat "$scratch/$1"; echo "$1: failed"; exit 1; }
}
same() {
    cmp -s "$scratch/as-built" "$scratch/$1" && return
    diff "$scratch/as-built" "$scratch/$1" || { echo "$1: the results differ"; exit 1; }
}
tail_is() {
    output "$1" "$2" "$3" --tail
    tail -n 1 "$scratch/$1" | grep -qx "$4" || { echo "$1: not $4"; exit 1; }
}

output as-built "$folder" "$program" "$scratch/model"
output old-program-new-library "$grown_folder" "$program" "$scratch/model"
same old-program-new-library
output new-program-old-library "$folder" "$grown_program" "$scratch/model"
same new-program-old-library

tail_is old-library-long-struct "$folder" "$program" refused
tail_is new-library-long-struct "$grown_folder" "$program" known # proves that this is the grown library
tail_is longest-struct "$grown_folder" "$grown_program" refused
echo "the same $(wc -l <"$scratch/as-built") lines three times"
