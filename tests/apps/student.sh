#!/bin/sh
# student.sh PROGRAM - compares the translations of a student of Firefox, in RAPT_DATA as it is shipped, with those that
# Marian computed in float32, without and with the shortlist.
. "$(dirname "$0")/kit/script.sh"

model=${RAPT_DATA:-missing}/models/firefox-tiny-enpt
if ! [ -r "$model/expected.en" ]; then
    echo "skipped: apps/student: RAPT_DATA is not a folder with models"
    exit 77
fi
for kind in "" .shortlist; do
    code 0 "$program" translate --lines --model "$model" --beam 1 --precision f32 --max-length-factor 2 ${kind:+--shortlist "$model/lex.50.50.enpt.s2t.bin"} \
        "$model/expected.en" >out
    check "the texts of Marian ($(cmp out "$model/expected$kind.pt" 2>&1))" cmp -s out "$model/expected$kind.pt"
done
[ $failures -eq 0 ]
