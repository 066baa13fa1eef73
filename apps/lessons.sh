#!/bin/sh
# lessons.sh - installs missing packages, builds the lessons in build/ and runs all of them: text to the
# terminal, pages to build/lessons/index.html. Takes the options of lessons, such as --quick. Exits with 1 if a
# claim fails.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

prepare lessons
status=0
"$root/build/bin/lessons" all --html "$root/build/lessons" "$@" || status=$?
[ ! -f "$root/build/lessons/index.html" ] || say "Pages: $root/build/lessons/index.html"
exit $status
