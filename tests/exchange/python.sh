#!/bin/sh
# python.sh PROGRAM FOLDER NAME LOGITS LIBRARY HEADERS - runs NAME.py with all arguments but NAME, with the Python that
# engines.sh has installed in FOLDER, in a temporary folder. LOGITS is the program of logits.c, LIBRARY is librapt.so, and
# HEADERS the folder that holds rapt/.
engines=$(realpath "$2")
logits=$(realpath "$4")
library=$(realpath "$5")
headers=$(realpath "$6")
. "$(dirname "$0")/../apps/kit/script.sh"
name=$3
python=$engines/python/bin/python
skip() {
    echo "skipped: exchange/$name: $1"
    exit 77
}
[ -r "$engines/python/list" ] || skip "sh tests/run.sh --all installs the programs to compare with"
case $name in
hf_beam | t5 | m2m | bart | projections) [ -r "$engines/search/list" ] || skip "sh tests/run.sh --all fetches transformers 5" ;;
esac
case $name in
hf | hf_beam | bert | encoders | t5 | m2m | bart | json_tokens | normalizers | ct2_families | ct2_encoders | tune | projections | linear_attention | monotonic_attention | sparse | coverage | distances | talking_heads) "$python" -c "import torch" 2>/dev/null || skip "apt install python3-torch" ;;
esac
case $name in
moses) [ -r "$engines/moses/list" ] || skip "sh tests/run.sh --all installs sacremoses, subword-nmt and argostranslate" ;;
normalizers) "$python" -c "import entmax" 2>/dev/null || skip "sh tests/run.sh --all installs entmax" ;;
firefox)
    [ -r "$engines/firefox/list" ] || skip "sh tests/run.sh --all installs fxtranslate"
    [ -r "$engines/package/worker/bergamot-translator-worker.wasm" ] && command -v node >/dev/null || skip "no node, or no engine of npm" ;;
student)
    [ -r "${RAPT_DATA:-missing}/models/firefox-tiny-enpt/expected.pt" ] || skip "RAPT_DATA is not a folder with models"
    [ -r "$engines/student/list" ] || skip "sh tests/run.sh --all fetches the student" ;;
esac
"$python" -B "$scripts/$name.py" "$program" "$engines" "$logits" "$library" "$headers" 2>err || { tail -20 err; exit 1; }
