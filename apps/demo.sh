#!/bin/sh
# demo.sh - installs what is missing, builds in build/ and runs toy_translate: with no arguments the
# demonstration, otherwise whatever the arguments say.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

need $build_packages
if [ -f "$root/build/CMakeCache.txt" ]; then
    configure "$root/build"
else
    configure "$root/build" -DRAPT_TESTS=OFF
fi
build "$root/build" --target toy_translate
exec "$root/build/bin/toy_translate" "$@"
