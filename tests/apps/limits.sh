#!/bin/sh
# A file that reaches the limit of the process (ulimit -f) gives every program an error, not a signal that ends it, and
# leaves no temporary file. An old file stays as it was.
# usage: limits.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"
bin=$(dirname "$program")
# limited FILE COMMAND...: expects that the command, which writes more than 512 bytes to FILE, fails and says why.
limited() {
    file=$1
    shift
    (ulimit -f 1 && exec "$@") >/dev/null 2>err
    got=$?
    [ $got -eq 1 ] || { fail "exit code $got, not 1: $*"; cat err; }
    says "File too large"
    [ "$(cat "$file")" = old ] || fail "the old file is gone: $*"
    [ -z "$(find . -name '.rapt-*')" ] || fail "a temporary file is left: $*"
}
# the_output COMMAND...: expects that the command fails if standard output, a file, reaches the limit.
the_output() {
    (ulimit -f 1 && exec "$@") >out 2>err
    got=$?
    [ $got -eq 1 ] || { fail "exit code $got, not 1: $*"; cat err; }
    says "standard output"
}

synthetic_pairs 200 >pairs
cut -f 1 pairs >source
code 0 "$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --epochs 1 --out model
for file in page.svg other; do echo old >$file; done
limited page.svg "$program" attend --model model --svg page.svg "red old"
limited other "$program" translate --model model --threads 1 --output other source
limited other "$program" shortlist --model model --data pairs --threads 1 --output other
limited other "$program" convert --model model --force --out other
limited other "$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --epochs 1 \
    --force --out other
limited other "$program" demo --steps 1 --threads 1 --force --out other
the_output "$program" help train
the_output "$program" translate --model model --threads 1 source
for row in "glimpse --quick --steps 1" "caption --quick --steps 1" "lessons 6 --quick"; do
    tool=$bin/${row%% *}
    [ -x "$tool" ] || continue
    limited page.svg "$tool" ${row#* } --svg page.svg
    the_output "$tool" --help
done
if [ -x "$bin/perf_load" ]; then
    mkdir measured
    (ulimit -f 1 && TMPDIR=measured exec "$bin/perf_load" --check) >/dev/null 2>err
    [ $? -eq 1 ] || fail "perf_load beyond the limit: $(cat err)"
    [ -z "$(ls -A measured)" ] || fail "perf_load leaves $(ls -A measured)"
    the_output "$bin/perf_peak" --check
fi
[ $failures -eq 0 ]
