#!/bin/sh
# exchange.sh PROGRAM CASE FOLDER ARGUMENT... - comparisons with programs that engines.sh has installed in FOLDER. A case is a
# function test_CASE below, whose comment says what it compares and what ARGUMENTs it has.
engines=$(realpath "$3")
export ENGINE="$engines/package"
. "$(dirname "$0")/../apps/kit/script.sh"
python=$engines/python/bin/python name=$2
skip() {
    echo "skipped: exchange/$name: $1"
    exit 77
}
# listed FOLDER WHAT: skips the test unless engines.sh has installed WHAT.
listed() {
    [ -r "$engines/$1/list" ] || skip "sh tests/run.sh --all installs $2"
}
# with_engine: skips the test unless there is node, and the engine that it runs.
with_engine() {
    [ -r "$ENGINE/worker/bergamot-translator-worker.wasm" ] && command -v node >/dev/null ||
        skip "no node, or no engine in $ENGINE: sh tests/run.sh --all installs it"
}
# write_corpus LINES: the pairs of the built-in grammar (corpus.tsv), the first of them (train.tsv), and a vocabulary of its
# words and letters (vocab.spm).
write_corpus() {
    code 0 "$program" demo --write-corpus corpus.tsv
    head -"$1" corpus.tsv >train.tsv
    tr '\t ' '\n\n' <corpus.tsv | sort -u | node "$scripts/marian.js" pieces >vocab.spm
}

# The case NAME of the script FILE.py. LOGITS is the program of logits.c, LIBRARY is librapt.so, and HEADERS the folder that
# holds rapt/.
test_python() { # FOLDER FILE NAME LOGITS LIBRARY HEADERS
    file=$2 name=$3
    mkdir packages # PyTorch and others leave files in TMPDIR
    export TMPDIR="$PWD/packages"
    [ "$file" = newer ] || listed python "the programs to compare with"
    case $file in
    newer)
        python=${RAPT_TORCH2-}
        "${python:-false}" -c "import onnx, onnxruntime, torch.nn.attention.flex_attention" 2>/dev/null ||
            skip "RAPT_TORCH2 is not a Python with PyTorch 2, onnx and onnxruntime"
        ;;
    bleu | moses | ct2_random | marian | firefox) ;;
    *) "$python" -c "import torch" 2>/dev/null || skip "apt install python3-torch" ;;
    esac
    case $name in
    hf_beam | t5 | m2m | bart | projections) listed search "transformers 5" ;;
    flash_linear_attention) "$python" -c "import fla.ops.delta_rule.naive" 2>/dev/null || skip "$python has no fla-core" ;;
    moses) listed moses "sacremoses, subword-nmt and argostranslate" ;;
    normalizers) "$python" -c "import entmax" 2>/dev/null || skip "sh tests/run.sh --all installs entmax" ;;
    firefox)
        listed firefox fxtranslate
        with_engine
        ;;
    student)
        [ -r "${RAPT_DATA:-missing}/models/firefox-tiny-enpt/expected.pt" ] || skip "RAPT_DATA is not a folder with models"
        listed student "the student"
        ;;
    esac
    "$python" -B "$scripts/$file.py" "$program" "$engines" "$4" "$5" "$6" "$name" 2>err || { tail -20 err; exit 1; }
}

# A model trained here in CTranslate2 itself: the same tokens, greedily and by beam search, of lines of the built-in grammar.
test_ct2() { # FOLDER
    listed python CTranslate2
    command -v node >/dev/null || skip "node is not installed"
    write_corpus 20000
    tail -500 corpus.tsv | cut -f1 >source
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
}

# Models trained here, with self-attention and with a recurrent decoder, in Marian itself (its WebAssembly): in float the same
# text of every line (10,000 by default), unless the first words that differ are as likely, or one text ends at a length limit;
# in 8 bits of most lines.
test_marian() { # FOLDER [LINES]
    lines=${2:-10000}
    with_engine
    write_corpus 30000
    tail -"$lines" corpus.tsv | cut -f1 >source
    for kind in none ssru; do
        code 0 "$program" train --data train.tsv --out model.$kind --sentencepiece vocab.spm --layers 2 --width 64 --heads 4 \
            --ffn-width 128 --steps "${STEPS-600}" --warmup 200 --batch-tokens 1024 \
            --position concatenated-n1 --decoder-start zero --norm-epsilon 1e-6 \
            --decoder-recurrence $kind --output-bias >log
        code 0 "$program" convert --model model.$kind --to marian --out float.$kind
        judged model.$kind float.$kind "trained here ($kind), in float" 1e-3

        # In 8 bits the engine rounds activations, too.
        code 0 "$program" convert --model model.$kind --to bergamot --out narrow.$kind
        code 0 "$program" translate --lines --model narrow.$kind --beam 1 --like marian source >ours
        check "the engine translates in 8 bits ($kind)" node "$scripts/marian.js" translate narrow.$kind/model.bin narrow.$kind/vocab.spm \
            int8shiftAll <source >theirs
        equal=$(paste -d'|' ours theirs | awk -F'|' '$1 == $2' | wc -l)
        echo "exchange/marian: trained here ($kind), in 8 bits: $lines lines, $equal equal"
        [ $((equal * 100)) -ge $((lines * 80)) ] || fail "in 8 bits too few lines are equal"

        # A file that neither of us wrote: random weights, which have no preferences.
        vocab=$("$program" vocab --model model.$kind | wc -l)
        mkdir random.$kind
        node "$scripts/marian.js" model $kind "$vocab" 7 >random.$kind/model.bin
        cp vocab.spm random.$kind
        mv source all
        head -1000 all >source
        judged random.$kind random.$kind "random weights ($kind)" 1e-3
        mv all source
    done
}
# judged MODEL FOLDER NAME TIE: what both make of the source, and of each difference the reason.
judged() {
    code 0 "$program" translate --lines --model "$1" --beam 1 --like marian source >ours
    check "the engine translates ($3)" node "$scripts/marian.js" translate "$2/model.bin" "$2/vocab.spm" float32 <source >theirs
    node "$scripts/marian.js" differ source ours theirs >pairs
    : >scores
    [ ! -s pairs ] || "$program" score --model "$1" --data pairs --json >scores 2>/dev/null
    node "$scripts/marian.js" explain source ours theirs "$4" <scores >said || fail "$3: differences without a reason"
    echo "exchange/marian: $3: $(cat said)"
}

# Models of every type that SentencePiece's Python package trains: ids and decoded texts for a book from RAPT_DATA and for random
# characters. PROGRAM is the test text/spm_reference; the spm_encode and spm_decode that it runs are the package here.
test_sentencepiece() { # FOLDER
    text=${RAPT_DATA:-missing}/models/sentencepiece/botchan.txt
    [ -r "$text" ] || skip "RAPT_DATA names no folder of texts"
    listed python SentencePiece
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
}

# Models trained here, saved by PyTorch itself in each of its forms and by numpy in each of its own: the same translations and
# scores as before. Where Python has transformers, too, its scores of a file in float, of one in float16 and of one with more
# tokens. Wants python3-torch of Debian 12 (1.13), or another one with numpy; engines.sh installs transformers for it.
test_torch() { # FOLDER
    python= files=$scripts/torch_files.py
    for one in "$engines/python/bin/python" python3 /usr/bin/python3; do
        [ -n "$python" ] || ! "$one" -c 'import numpy, torch' 2>/dev/null || python=$one
    done
    [ -n "$python" ] || skip "python3 has no torch and numpy: apt-get install python3-torch"
    code 0 "$program" demo --write-corpus corpus.tsv
    head -20000 corpus.tsv >train.tsv
    tail -200 corpus.tsv >pairs
    cut -f1 pairs >source
    tr '\t ' '\n\n' <corpus.tsv | "$python" "$files" pieces >vocab.spm || fail "no vocabulary"
    trained hf hf --position concatenated
    check "PyTorch writes its files" "$python" "$files" torch hf torch
    for folder in torch/*; do
        case $folder in
        */half) ;; # rounded
        */half-*) same "$folder" torch/half ;;
        *) same "$folder" hf ;;
        esac
    done
    trained marian marian --position concatenated-n1 --norm-epsilon 1e-6
    check "numpy writes its files" "$python" "$files" npz marian npz
    for folder in npz/*; do same "$folder" marian; done
    echo "exchange/torch: $(ls -d torch/* npz/* | wc -l) folders"

    if "$python" -c 'import transformers, sentencepiece' 2>/dev/null; then
        check "transformers adds tokens" "$python" "$files" resize hf torch/resized
        for folder in hf torch/legacy2 torch/half torch/half-legacy torch/resized; do near "$folder"; done
    else
        echo "skipped: exchange/torch, scores of transformers: $python has no transformers and sentencepiece"
    fi
}
# trained NAME FORMAT OPTION...: a model, as another project keeps it.
trained() {
    name=$1 format=$2
    shift 2
    code 0 "$program" train --data train.tsv --out "$name.model" --sentencepiece vocab.spm --layers 1 --width 32 --heads 2 \
        --ffn-width 64 --steps 600 --warmup 100 --batch-tokens 1024 --output-bias --decoder-start zero "$@" >log
    code 0 "$program" convert --model "$name.model" --to "$format" --out "$name"
}
# same FOLDER AS: the translations and scores of two folders are.
same() {
    for folder in "$1" "$2"; do
        [ ! -r "$folder/scores" ] || continue
        code 0 "$program" translate --lines --model "$folder" --beam 1 source >translations
        code 0 "$program" score --model "$folder" --data pairs >scores
        mv translations scores "$folder"
    done
    check "the same translations of $1" cmp "$1/translations" "$2/translations"
    check "the same scores of $1" cmp "$1/scores" "$2/scores"
}
# near FOLDER: its scores are those of transformers.
near() {
    check "transformers scores with $1" "$python" "$files" score "$1" <pairs >theirs
    code 0 "$program" score --model "$1" --data pairs >ours
    paste ours theirs | awk 'NF != 2 || $1 - $2 > 1e-4 || $2 - $1 > 1e-4 { bad = 1 }
        END { exit bad || NR != 200 }' || fail "$1: other scores than those of transformers"
}

run_test "$@"
