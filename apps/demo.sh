#!/bin/sh
# demo.sh - installs missing packages, builds toy_translate in build/ and runs its demonstration, about
# a minute on two cores; options are those of toy_translate demo. With a command it runs that one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

prepare toy_translate
case ${1-} in
'' | -*) set -- demo "$@" ;;
esac
exec "$root/build/bin/toy_translate" "$@"
