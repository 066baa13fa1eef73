#!/bin/sh
# python.sh PROGRAM FOLDER NAME LOGITS - runs NAME.py PROGRAM FOLDER LOGITS with the Python that engines.sh has installed in
# FOLDER, in a temporary folder. LOGITS is the program of logits.c.
engines=$(realpath "$2")
logits=$(realpath "$4")
. "$(dirname "$0")/../apps/kit/script.sh"
name=$3
python=$engines/python/bin/python
skip() {
    echo "skipped: exchange/$name: $1"
    exit 77
}
[ -r "$engines/python/list" ] || skip "sh tests/run.sh --all installs the programs to compare with"
case $name in
hf_beam | t5 | m2m) [ -r "$engines/search/list" ] || skip "sh tests/run.sh --all fetches transformers 5" ;;
esac
case $name in
hf | hf_beam | bert | t5 | m2m) "$python" -c "import torch" 2>/dev/null || skip "apt install python3-torch" ;;
student)
    [ -r "${RAPT_DATA:-missing}/models/firefox-tiny-enpt/expected.pt" ] || skip "RAPT_DATA is not a folder with models"
    [ -r "$engines/student/list" ] || skip "sh tests/run.sh --all fetches the student" ;;
esac
"$python" -B "$scripts/$name.py" "$program" "$engines" "$logits" 2>err || { tail -20 err; exit 1; }
