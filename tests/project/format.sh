#!/bin/sh
# format.sh ROOT - all C is as clang-format 14 would write it.
set -u
cd "$1" || exit 1
format=$(command -v clang-format-14) || {
    echo "skipped: project/format: clang-format-14 is not installed"
    exit 77
}
find include lib apps tests perf -name '*.[ch]' -exec "$format" --dry-run -Werror {} +
