#!/bin/sh
# sentencepiece.sh SPM_REFERENCE FOLDER - trains models of every type with SentencePiece's Python package, which engines.sh
# has installed in FOLDER, and compares ids and decoded texts for a book from RAPT_DATA and for random characters.
# SPM_REFERENCE is the test text/spm_reference; the spm_encode and spm_decode that it runs are the package here.
engines=$(realpath "$2")
python=$engines/python/bin/python
. "$(dirname "$0")/../apps/kit/script.sh"
text=${RAPT_DATA:-missing}/models/sentencepiece/botchan.txt
[ -r "$text" ] || { echo "skipped: exchange/sentencepiece: RAPT_DATA names no folder of texts"; exit 77; }
[ -r "$engines/python/list" ] || { echo "skipped: exchange/sentencepiece: sh tests/run.sh --all installs SentencePiece"; exit 77; }

mkdir models programs
head -1500 "$text" >models/some.txt
check "SentencePiece trains" "$python" "$scripts/spm.py" train models/some.txt models 2>log || cat log
for what in encode decode; do
    printf '#!/bin/sh\nexec "%s" "%s" %s "$@"\n' "$python" "$scripts/spm.py" $what >programs/spm_$what
    chmod +x programs/spm_$what
done
check "the same ids and texts" env PATH="$here/programs:$PATH" "$program" models 300 >out 2>&1
cat out
check "every type of model" [ "$(grep -c ': equal$' out)" -eq 15 ]
[ $failures -eq 0 ]
