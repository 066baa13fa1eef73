#!/bin/sh
# readme.sh README INCLUDE librapt.so toy_translate CC - compiles every C program of the README as it
# stands there, with warnings as errors, and runs it: the first prints attention's output, the second
# translates with a model that toy_translate has just written.
set -eu
readme=$1 include=$2 library=$3 toy=$4 cc=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$*"
    exit 1
}

awk -v to="$folder/program" '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 }
    inside { print > (to n ".c") }' "$readme"
for n in 1 2; do
    [ -s "$folder/program$n.c" ] || fail "the README has no C program number $n"
    $cc -std=c11 -Wall -Wextra -Werror -I"$include" "$folder/program$n.c" -o "$folder/program$n" \
        "$library" -Wl,-rpath,"$(dirname "$library")" -lm
done
[ ! -e "$folder/program3.c" ] || fail "the README has a third C program, which nothing runs"

"$folder/program1" >"$folder/out"
[ "$(grep -c '^head 0, query' "$folder/out")" -eq 5 ] || fail "program 1 printed: $(cat "$folder/out")"
# Query 0 sees key 0 alone: its output is the first row of v.
grep -q '^head 0, query 0:  0.000  1.000' "$folder/out" || fail "program 1 printed: $(cat "$folder/out")"

model=$folder/model.safetensors
"$toy" demo --steps 1 --out "$model" >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
[ -s "$model" ] || fail "toy_translate demo --out wrote no model: $(cat "$folder/log")"
echo "cats do not like dogs" | "$folder/program2" "$model" >"$folder/out"
[ "$(wc -l <"$folder/out")" -eq 1 ] || fail "one line in, not one line out"
