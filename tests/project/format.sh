#!/bin/sh
# format.sh ROOT - checks that clang-format 14 would not change any C file.
set -u
cd "$1" || exit 1
format=$(command -v clang-format-14) || {
    echo "skipped: project/format: clang-format-14 is not installed"
    exit 77
}
find include lib apps tests perf -name '*.[ch]' -exec "$format" --dry-run -Werror {} +
