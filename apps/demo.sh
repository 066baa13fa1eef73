#!/bin/sh
# demo.sh - installs missing packages, builds toy_translate in build/ and runs its demonstration, about
# a minute on two cores; options are those of toy_translate demo. With a command it runs that one.
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
case ${1-} in
'' | -*) set -- demo "$@" ;;
esac
exec "$root/build/bin/toy_translate" "$@"
