#!/bin/sh
# readme.sh README INCLUDE librapt.so toy_translate CC - compiles and runs the first C program of
# the README, as it stands there, with a model file that toy_translate has just made.
set -eu
readme=$1 include=$2 library=$3 toy=$4 cc=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sed -n '/^```c$/,/^```$/{/^```/!p;/^```$/q}' "$readme" >"$scratch/program.c"
[ -s "$scratch/program.c" ] || { echo "the README has no C program"; exit 1; }
$cc -std=c11 -Wall -Wextra -Werror -I"$include" "$scratch/program.c" -o "$scratch/program" \
    "$library" -Wl,-rpath,"$(dirname "$library")" -lm

model=$scratch/model.safetensors
"$toy" demo --steps 1 --out "$model" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
[ -s "$model" ] || { echo "toy_translate demo --out made no model"; cat "$scratch/log"; exit 1; }
echo "cats do not like dogs" | "$scratch/program" "$model" >"$scratch/out"
[ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "one line in, not one line out"; exit 1; }
