#!/bin/sh
# demo.sh - installs missing packages, builds toy_translate in build/ and runs it with the given
# arguments; without arguments it runs the demonstration.
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
