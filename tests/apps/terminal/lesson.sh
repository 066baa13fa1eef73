#!/bin/sh
# lesson.sh LESSONS N - all claims of lesson N hold in the quick form, and no line of its text is wider than 80
# columns.
. "$(dirname "$0")/../kit/script.sh"
LC_ALL=C.UTF-8
export LC_ALL
code 0 "$program" "$2" --quick --more >text
cat text
[ "$(wc -L <text)" -le 80 ] || fail "lines of up to $(wc -L <text) columns"
[ $failures -eq 0 ]
