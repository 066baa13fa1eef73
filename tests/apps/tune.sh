#!/bin/sh
# tune.sh PROGRAM [full] - train --from: a tuned model has the same bytes for any number of threads, and if the
# run is interrupted; it keeps the vocabulary, is translated with and converted as before, and is at worst the
# opened model. With "full", a student of Firefox learns the language of the system's messages.
. "$(dirname "$0")/kit/script.sh"

# ---- full: English to Portuguese messages of installed programs ----
# messages LANGUAGE COUNT: prints pairs of messages of the programs that are installed, from gettext's catalogs: English, a
# tab, and the translation. Fails if there are fewer than COUNT.
messages() {
    python3 - "$@" <<'END'
import gettext
import glob
import random
import sys


def messages(language):
    found = {}
    for path in sorted(glob.glob(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo")):
        try:
            with open(path, "rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for source, target in catalog.items():
            if not isinstance(source, str) or "\x04" in source:
                continue
            source, target = source.strip(), target.strip()
            plain = not set(source + target) & set("\n\t\r%<>{}\\|&_$")
            if plain and " " in source and 15 <= len(source) <= 150 and target and source != target:
                found.setdefault(source, target)
    return sorted(found.items())


def main():
    language, count = sys.argv[1], int(sys.argv[2])
    pairs = messages(language)
    if len(pairs) < count:
        sys.stderr.write(f"skipped: only {len(pairs)} messages in {language} are installed\n")
        return 77
    random.Random(1).shuffle(pairs)
    for source, target in pairs[:count]:
        print(f"{source}\t{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
END
}
if [ "${2-}" = full ]; then
    student=${RAPT_DATA:-missing}/models/firefox-tiny-enpt
    messages pt 400 >all.tsv 2>err || { cat err; exit 77; }
    [ -r "$student/expected.en" ] || { echo "skipped: full/tune: RAPT_DATA is not a folder with models"; exit 77; }
    sed -n 1,100p all.tsv >test.tsv
    sed -n 101,150p all.tsv >valid.tsv
    sed -n '151,$p' all.tsv >train.tsv
    paste "$student/expected.en" "$student/expected.pt" >general.tsv
    bleu() { # MODEL PAIRS
        "$program" evaluate --bootstrap 0 --model "$1" --data "$2" 2>/dev/null | sed -n 's/^bleu  *//p'
    }
    higher() { # A B MARGIN: is A at least B + MARGIN?
        awk -v a="$1" -v b="$2" -v margin="$3" 'BEGIN { exit !(a >= b + margin) }'
    }
    before=$(bleu "$student" test.tsv)
    for how in "" "--lora 8"; do
        code 0 "$program" train --from "$student" $how --data train.tsv --valid valid.tsv --epochs 4 --force --out tuned
        says "is stored in int8; it is trained and written in floats"
        after=$(bleu tuned test.tsv) general=$(bleu tuned general.tsv)
        echo "from Firefox's student $how: BLEU of messages $before before, $after after; with its own earlier translations $general"
        check "messages are translated better: $before, $after" higher "$after" "$before" 1
        check "the model has not forgotten the rest: $general" higher "$general" 60 0
        check "the file has no scales of the 8-bit matrices" sh -c '! grep -q rapt.scales tuned'
    done
    [ $failures -eq 0 ]
    exit
fi

# ---- a model of our own ----
synthetic_pairs 300 >all.tsv
head -n 200 all.tsv >train.tsv
sed -n 201,220p all.tsv >valid.tsv
sed 's/\trot/\tROT/; s/blau/BLAU/' train.tsv >new.tsv # another domain
sed 's/\trot/\tROT/; s/blau/BLAU/' valid.tsv >newvalid.tsv
code 0 "$program" train --data train.tsv --valid valid.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280 \
    --average 2 --steps 60 --rate 0.02 --threads 1 --out base
options="--from base --data new.tsv --valid newvalid.tsv --batch-tokens 256 --rate 0.005 --dropout 0.1 --patience 0
    --schedule constant --keep-checkpoint"

data_of() { # FILE: the tensors of a safetensors file
    tail -c +"$(($(od -An -tu8 -N8 "$1") + 9))" "$1"
}
for how in "" "--freeze encoder.*,*embedding*" "--lora 4 --lora-alpha 8" "--lora 2 --freeze decoder.* --average 2"; do
    code 0 "$program" train $options $how --threads 1 --force --out whole --steps 30 --json >whole.json
    says "validation pairs: BLEU "
    check "$how: validated before" grep -q '"step":0,"epoch":0,"loss":null,"valid_loss":[0-9]' whole.json
    check "$how: scores before and after" grep -q '"evaluated":20,"before":{"bleu":[0-9.e-]*,"chrf":[0-9.e-]*},"after":{' whole.json
    code 0 "$program" train $options $how --threads 3 --force --out parts --steps 30
    check "$how: the same model by three threads" cmp whole parts
    code 0 "$program" train $options $how --shards 1 --threads 2 --force --out shard --steps 30
    data_of whole >one
    data_of shard >two
    check "$how: the same parameters by one shard" cmp one two
    code 0 "$program" train $options $how --threads 2 --force --out parts --steps 11
    mv base hidden # a resumed run does not need the opened model
    code 0 "$program" train --resume --out parts --steps 30 --threads 1
    says "the original model is missing"
    mv hidden base
    check "$how: the same model after an interruption" cmp whole parts
    check "$how: the same checkpoint" cmp whole.checkpoint parts.checkpoint
done

# The default learning rate makes the model better, and one that is too high leaves the opened model.
code 0 "$program" train --from base --data new.tsv --valid newvalid.tsv --epochs 3 --force --out tuned --json >tuned.json
first=$(sed -n 's/.*"step":0,.*"valid_loss":\([0-9.e+-]*\),.*/\1/p' tuned.json)
last=$(sed -n 's/.*"valid_loss":\([0-9.e+-]*\),.*"done":true.*/\1/p' tuned.json)
check "a lower loss: $first, $last" awk -v a="$first" -v b="$last" 'BEGIN { exit !(b > 0 && b < a) }'
code 0 "$program" train --from base --data new.tsv --valid newvalid.tsv --rate 30 --warmup 1 --schedule constant --steps 20 \
    --force --out spoiled
data_of base >one
data_of spoiled >two
check "the opened model is kept if none is better" cmp one two

# The vocabulary is kept, and the words that the model has seen are those of both.
"$program" vocab --model base >one
"$program" vocab --model tuned >two
check "the same vocabulary" cmp one two
echo "red blue" >text
code 0 "$program" translate --model tuned text >out
check "a translation" grep -q . out

# 8- and 16-bit files are widened.
for precision in int8 bf16; do
    code 0 "$program" convert --model base --precision $precision --force --out small
    code 0 "$program" train --from small --data new.tsv --valid newvalid.tsv --steps 3 --force --out widened
    says "small is stored in $precision; it is trained and written in floats"
    code 0 "$program" info widened --json >about
    check "floats" grep -q '"precision": *"f32"' about
done

# ---- what is refused ----
refused() { # TEXT OPTION...
    text=$1
    shift
    code 2 "$program" train "$@" --data new.tsv --out none
    says "$text"
}
refused "--lora needs --from" --lora 4
refused "--freeze needs --from" --freeze "encoder.*"
refused "--lora-alpha needs --lora" --from base --lora-alpha 2
refused "--source-lang needs --from" --source-lang en
refused "--width cannot be combined with --from" --from base --width 32
refused "--for cannot be combined with --from" --from base --for marian
refused "--preset cannot be combined with --from" --from base --preset base
refused "--vocab cannot be combined with --from" --from base --vocab 300
refused "--norm-order cannot be combined with --from" --from base --norm-order pre
refused "--resume and --from cannot be combined" --from base --resume
failing() { # TEXT OPTION...
    text=$1
    shift
    code 1 "$program" train --data new.tsv --valid newvalid.tsv --out none "$@"
    says "$text"
}
failing "--freeze layers.*: no parameter has such a name" --from base --freeze "layers.*"
failing "all 33 parameters are frozen" --from base --freeze "*"
failing "lora_rank is 64; it must be from 1 to 16, the smaller side of encoder.layers.0.self_attn.qkv.weight" --from base --lora 64
failing "all.tsv" --from all.tsv
failing "source_language is en, but the model has no language tokens" --from base --source-lang en

# ---- a model of CTranslate2, whose sources have no end token ----
names=${RAPT_DATA:-missing}/models/ct2-aren
if [ -r "$names/aren-transliteration/model.bin" ]; then
    printf '%s\n' 'ي م ن	y e m e n' 'م ن	m e n' 'ل ي ن	l i n n' 'ن و ر	n u u r' 'س ل م	s e l e m' >names.tsv
    for kind in "" -i8; do
        code 0 "$program" train --from "$names/aren-transliteration$kind" --data names.tsv --valid names.tsv --rate 0.001 \
            --epochs 20 --force --out names
        code 0 "$program" convert --model names --to ct2 --force --out exported
        cut -f 1 names.tsv >text
        code 0 "$program" translate --lines --model names text >one
        code 0 "$program" translate --lines --model exported text >two
        cut -f 2 names.tsv >wanted
        check "the exported model translates as the tuned one" cmp one two
        check "the names are learned" cmp one wanted
        rm -rf exported
    done
else
    echo "skipped: apps/tune, a model of CTranslate2: RAPT_DATA is not a folder with models"
fi
[ $failures -eq 0 ]
