#!/bin/sh
# ct2.sh PROGRAM FOLDER - a model trained here in CTranslate2 itself, in FOLDER as engines.sh leaves it: the same tokens,
# greedily and by beam search, of lines of the built-in grammar.
engines=$(realpath "$2")
python=$engines/python/bin/python
. "$(dirname "$0")/../apps/kit/script.sh"
if ! [ -r "$engines/python/list" ] || ! command -v node >/dev/null; then
    echo "skipped: exchange/ct2: no node, or no CTranslate2: sh tests/run.sh --all installs it"
    exit 77
fi
code 0 "$program" demo --write-corpus corpus.tsv
head -20000 corpus.tsv >train.tsv
tail -500 corpus.tsv | cut -f1 >source
tr '\t ' '\n\n' <corpus.tsv | sort -u | node "$scripts/files.js" pieces >vocab.spm
code 0 "$program" train --data train.tsv --out model --sentencepiece vocab.spm --layers 2 --width 64 --heads 4 \
    --ffn-width 128 --steps 600 --warmup 200 --batch-tokens 1024 --output-bias >log
code 0 "$program" convert --model model --to ct2 --out folder
for beam in 1 4; do
    code 0 "$program" translate --lines --model model --beam $beam --like ct2 source >wanted
    check "CTranslate2 translates" "$python" - $beam <source >got <<'END'
import sys
import ctranslate2

beam = int(sys.argv[1])
translator = ctranslate2.Translator("folder", device="cpu", compute_type="float32")
lines = [["\u2581" + word for word in line.split()] for line in open("source", encoding="utf-8")]
for result in translator.translate_batch(lines, beam_size=beam, max_batch_size=1):
    print("".join(result.hypotheses[0]).replace("\u2581", " ").strip())
END
    check "the same translations by $beam beams" cmp wanted got
done
[ $failures -eq 0 ]
