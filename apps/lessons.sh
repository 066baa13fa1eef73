#!/bin/sh
# lessons.sh - installs missing packages, builds the lessons in build/ and runs all of them: text to the
# terminal, pages to build/lessons/index.html. Takes the options of lessons, such as --quick. Exits with 1 if a
# claim fails. build/bin/lessons N runs a single lesson. With the packages for WebAssembly, the page of lesson 11
# translates its readers' own sentences.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

want clang/clang lld/wasm-ld wasi-libc libclang-rt-dev-wasm32
prepare lessons
status=0
"$root/build/bin/lessons" all --html "$root/build/lessons" "$@" || status=$?
[ ! -f "$root/build/lessons/index.html" ] || say "Pages: $root/build/lessons/index.html"
exit $status
