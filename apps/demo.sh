#!/bin/sh
# demo.sh - installs missing packages, builds toy_translate in build/ and runs its demonstration, which
# takes about a minute on two cores. Takes the options of toy_translate demo, or another command.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

want libedit-dev
prepare toy_translate
case ${1-} in
'' | -*) set -- demo "$@" ;;
esac
exec "$root/build/bin/toy_translate" "$@"
