#!/bin/sh
# What toy_translate shows of a model besides translations: attention weights, vectors, and a lexical shortlist.
# usage: inspect.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# attend, tokenize, detokenize and vocab: weights of every attention of the model as text of any width, in
# colors, as a figure and as JSON; tokens of a text, and the text of tokens.
test_attend() {
    unset NO_COLOR

    synthetic_pairs 400 >all.tsv
    code 0 "$program" train --data all.tsv --layers 2 --width 16 --heads 2 --ffn-width 32 --vocab 290 --batch-tokens 256 \
        --rate 0.01 --warmup 30 --epochs 4 --threads 1 --out model
    attend="$program attend --model model --threads 1"

    # One argument or several, and a given translation.
    code 0 $attend red old new >apart
    code 0 $attend "red old new" >together
    check "several words are one sentence" cmp apart together
    translation=$(head -n 1 apart)
    code 0 $attend red old new --target "$translation" >again
    check "the model's own translation" cmp apart again
    code 0 $attend red old new --target "neu alt rot" >again
    check "a row for each word given" [ "$(sed -n '4,$s/^ *\([^ ]*\) .*/\1/p' again | paste -sd ' ' -)" = "neu alt rot (end)" ]
    code 0 $attend red old zyzzyva >again
    says "never seen in training: zyzzyva"
    check "a word that training never saw is marked" [ "$(sed -n '3s/  */ /gp' again)" = " red old ?zyzzyva (end)" ]
    code 0 $attend red old zyzzyva --self encoder --svg page.svg >again
    check "in rows, too" grep -q '^?zyzzyva ' again
    check "and in figures" grep -q '>?zyzzyva<' page.svg
    code 0 $attend red old zyzzyva --json >again
    check "named in JSON" grep -q '"source":\["red","old","zyzzyva","(end)"\].*"unseen":\["zyzzyva"\]}' again
    code 0 $attend red old zyzzyva --self decoder --json >again
    check "words of the target are not" grep -q '"unseen":\[\]' again

    # Rows of weights sum to 1, in cross-attention and in the self-attention of both halves, where no word attends
    # to a later one.
    sums() {
        tr '[' '\n' <"$1" | sed -n 's/^\([0-9.e,-][0-9.e,-]*\)\].*/\1/p' |
            awk -F , -v wanted="${2:-3}" '{ s = 0; for (i = 1; i <= NF; i++) s += $i; if (s < 0.999 || s > 1.001) bad = 1; rows++ }
                END { exit bad || rows < wanted }'
    }
    for which in "" "--self encoder" "--self decoder"; do
        for where in "" "--layer 2" "--layer 1 --head 2"; do
            code 0 $attend red old new --target "neu alt rot" $which $where --json >again
            check "rows sum to 1: $which $where" sums again
        done
    done
    for target in "neu alt rot " "neu   " " "; do
        code 0 $attend red old new --target "$target" --self decoder --json >again
        check "spaces after the last word: '$target'" sums again 1
    done
    code 0 $attend red old new --target "neu alt rot" --self decoder --json >again
    check "what the decoder attends to" grep -q '"source":\["(begin)","neu","alt","rot"\],"target":\["neu","alt","rot","(end)"\]' again
    check "nothing later" grep -qE '"weights":\[\[[^]]*,0.0,0.0\],\[[^]]*,0.0\],' again
    # A translation that reaches the last of the 512 positions has no end token.
    awk 'BEGIN { for (i = 0; i < 60; i++) { printf "a b b b\t"; for (k = 0; k < 150 + i; k++) printf "%sb", k ? " " : ""; print "" } }' >endless.tsv
    code 0 "$program" train --data endless.tsv --layers 1 --width 16 --heads 2 --vocab 260 --steps 100 --rate 0.01 --warmup 5 \
        --batch-tokens 1024 --smoothing 0 --dropout 0 --threads 1 --out endless
    long=$(awk 'BEGIN { for (i = 0; i < 512; i++) printf "%sb", i ? " " : "" }')
    for which in "" "--self decoder" "--self encoder"; do
        code 0 "$program" attend --model endless --beam 1 --max-length-factor 1000 --threads 1 --json $which a >again
        check "to the last position: $which" grep -qF "{\"translation\":\"$long\"," again
        check "rows to the last position: $which" sums again 2
        check "no end token: $which" [ "$(grep -c '"(end)"\],"weights"' again)" -eq "$([ "$which" = "--self encoder" ]; echo $((1 - $?)))" ]
        code 0 "$program" attend --model endless --target "$long" --threads 1 --json $which a >given
        check "the same as given: $which" cmp again given
    done
    code 1 "$program" attend --model endless --target "$long b" a
    says "the translation has more tokens than the model supports"
    code 0 $attend red old new --self encoder --json >again
    check "what the encoder attends to" grep -q '"source":\["red","old","new","(end)"\],"target":\["red","old","new","(end)"\]' again
    code 2 $attend red --self encoder --layer 3
    says "--layer 3: the model has layers 1 to 2"
    code 2 $attend red --head 3
    code 2 $attend ""
    code 2 $attend red --target ""
    code 2 $attend red --self both

    # Every row has a dark cell; heads that are too wide are written vertically; colors are used only on request.
    check "a dark shade in each row" [ "$(sed -n '4,$p' apart | grep -vc '[▓█]')" -eq 0 ]
    code 0 $attend $(yes red old | head -n 16) --target "rot alt" >again
    check "32 words in 80 columns" [ "$(LC_ALL=C.UTF-8 wc -L <again)" -le 80 ]
    check "one map" [ "$(grep -c '^  *rot ' again)" -eq 1 ]
    check "heads downwards" [ "$(grep -c '^      r o r o r o ' again)" -eq 1 ]
    esc=$(printf '\033')
    grep -q "$esc" apart && fail "colors where no terminal is"
    code 0 $attend red old new --target "neu alt rot" --color always >again
    check "colors" [ "$(grep -c "$esc\[48;5;[0-9]*m" again)" -ge 3 ]
    code 0 $attend red old new --color never >again
    check "no colors" cmp apart again
    if command -v script >/dev/null; then
        TERM=xterm script -qec "$attend red old new" /dev/null </dev/null >again 2>&1
        check "colors on a terminal" grep -q "$esc\[48;5;" again
        NO_COLOR=1 TERM=xterm script -qec "$attend red old new" /dev/null </dev/null >again 2>&1
        grep -q "$esc\[48;5;" again && fail "colors in spite of NO_COLOR"
    else
        echo "skipped: apps/attend, colors on a terminal: script is not installed"
    fi
    code 0 $attend red old "<&>" --svg page.svg >again
    check "a figure" grep -q '<title>[^,]*, red: [0-9.e-]*</title><rect' page.svg
    if command -v xmllint >/dev/null; then check "the figure is XML" xmllint --noout page.svg; fi

    # Tokens.
    cut -f 1 all.tsv | head -n 50 >lines
    printf 'Ünïcode, tabs\tand  spaces \n\n' >>lines
    code 0 "$program" tokenize --model model <lines >tokens
    check "a line of tokens for each" [ "$(wc -l <tokens)" -eq 52 ]
    head -n 50 lines >words
    head -n 50 tokens | sed 's/ //g; s/▁/ /g' | cmp - words || fail "tokens are not the text"
    "$program" tokenize --model model --ids <lines >ids || fail "tokenize --ids"
    "$program" detokenize --model model <ids | cmp - lines || fail "there and back again"
    code 0 "$program" vocab --model model >vocabulary
    check "as many tokens as there are" [ "$(wc -l <vocabulary)" -eq 290 ]
    head -n 3 ids | tr ' ' '\n' | while read -r id; do sed -n "$((id + 1))s/.*	//p" vocabulary; done >named
    head -n 3 tokens | tr ' ' '\n' | cmp - named || fail "ids are not those of the vocabulary"
    code 0 "$program" vocab --model model --json >again
    check "vocab --json" [ "$(sed -n 2p again)" = '{"id":1,"token":"<s>"}' ]
    printf '259 260\n290\nx\n5 -1\n 259  260 \n' | "$program" detokenize --model model >again 2>err
    [ $? -eq 1 ] || fail "wrong ids: exit code"
    says "standard input:2: not a list of token ids below 290"
    says "standard input:4: not"
    [ "$(sed -n 1p again)" = "$(sed -n 5p again)" ] && [ "$(wc -l <again)" -eq 5 ] || fail "lines of wrong ids: $(cat again)"
    code 2 "$program" tokenize
    says "tokenize: --model is missing"
}

# embed, similarity and rerank, with the encoder of a small translator: the forms of output, the order of lines, and what
# is refused. exchange/encoders.py compares the numbers of sentence encoders with other programs.
test_embed() {
    synthetic_pairs 100 >all.tsv
    code 0 "$program" train --data all.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280 --batch-tokens 256 \
        --epochs 1 --threads 1 --out model
    printf 'red old new\nblue\n\nred old new\r\nold house\n' >texts

    # One vector of 16 numbers a line; the same text gives the same vector, also in another batch.
    code 0 "$program" embed --model model texts >vectors
    check "a vector for each line" [ "$(awk 'NF == 16' vectors | wc -l)" -eq 5 ]
    check "the same text" [ "$(sed -n 1p vectors)" = "$(sed -n 4p vectors)" ]
    code 0 "$program" embed --model model --batch-tokens 1 --threads 1 <texts >again
    check "from standard input, in other batches" cmp vectors again
    code 0 "$program" embed --model model --json texts >json
    check "JSON" grep -q '^{"line":5,"embedding":\[[-0-9.e,]*\]}$' json
    code 0 "$program" embed --model model --normalize yes texts >unit
    check "norms are 1" awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) exit 1 }' unit
    code 0 "$program" embed --model model --npy --output vectors.npy texts
    check "an array of 5 x 16 floats" [ "$(wc -c <vectors.npy)" -eq $((128 + 5 * 16 * 4)) ]
    check "with NumPy's header" grep -aq "'fortran_order': False, 'shape': (5, 16)" vectors.npy
    for precision in f32 bf16 int8; do
        code 0 "$program" embed --model model --precision $precision texts >"$precision"
        code 0 "$program" convert --force --model model --precision $precision --out packed
        code 0 "$program" embed --model packed texts >converted
        check "$precision: the vectors of a converted model" cmp "$precision" converted
    done
    check "f32: the stored precision" cmp f32 vectors
    check "bf16 and int8: other vectors" [ "$(cat f32 bf16 int8 | sed -n '1p;6p;11p' | sort -u | wc -l)" -eq 3 ]
    code 0 "$program" embed --model model </dev/null >none
    check "no lines, no vectors" [ ! -s none ]

    # Cosines of pairs, and lines by their cosine to a query.
    printf 'red old new\tred old new\nred old new\tblue\n' >pairs
    code 0 "$program" similarity --model model pairs >cosines
    check "equal texts" [ "$(sed -n 1p cosines)" = 1.000000 ]
    check "other texts" awk 'NR == 2 && ($1 < -1 || $1 >= 1) { bad = 1 } END { exit bad || NR != 2 }' cosines
    code 0 "$program" similarity --model model --query "red old new" texts >ranked
    check "the most similar first, equal ones in order" [ "$(cut -f 2 ranked | head -n 2 | sort -u)" = "red old new" ]
    check "in falling order" sort -c -s -t "$(printf '\t')" -k 1,1gr ranked
    code 0 "$program" similarity --model model --query "red old new" --top 2 --json texts >top
    check "only two" [ "$(grep -c '"score":1.0' top)" -eq 2 ]

    # Refusals.
    code 1 "$program" similarity --model model texts
    says "line 1 has no tab"
    code 1 "$program" rerank --model model --query red texts
    says "rerank needs a classifier of one class"
    code 2 "$program" rerank --model model texts
    says "rerank: --query is missing"
    code 2 "$program" embed texts
    says "embed: --model is missing"
    code 2 "$program" embed --model model --json --npy texts
    says "not both"
    code 2 "$program" similarity --model model --top 3 pairs
    says "--top needs --query"
    code 1 "$program" embed --model nothing texts
    says "nothing"
    printf '\037\213rest' >packed.gz
    code 1 "$program" embed --model model packed.gz
    says "packed.gz: "
    "$program" embed --model model texts >named 2>err
    "$program" embed --model model - <texts 2>err | cmp named - || fail "embed -"
}

# toy_translate shortlist: the shortlist that a small model learns from its own attention contains the words of
# the right translations, and the model translates as well with it. A text file works too; damaged files are
# refused.
test_shortlist() {
    synthetic_pairs 300 >data.tsv
    cut -f1 data.tsv | head -60 >source
    code 0 "$program" train --data data.tsv --out model --vocab 290 --layers 1 --width 32 --heads 2 --ffn-width 64 --steps 400 \
        --batch-tokens 512 --rate 0.01 --warmup 20 --threads 1
    code 0 "$program" shortlist --model model --data data.tsv --output lex.bin --first 3 --best 10 --threads 2 --json >learned
    value() { # NAME FILE
        sed "s/.*\"$1\": *\([0-9.]*\).*/\1/" "$2"
    }
    check "the words of the pairs are in it" awk "BEGIN { exit !($(value coverage learned) > 99) }"
    check "and few others" awk "BEGIN { exit !($(value candidates learned) < 60) }"
    code 0 "$program" evaluate --model model --data data.tsv --threads 1 --bootstrap 0 --json >whole
    code 0 "$program" evaluate --model model --data data.tsv --threads 1 --bootstrap 0 --json --shortlist lex.bin >listed
    check "translations are as good" awk "BEGIN { exit !($(value bleu listed) > $(value bleu whole) - 2) }"
    check "and good" awk "BEGIN { exit !($(value bleu whole) > 60) }"
    code 0 "$program" translate --lines --model model --threads 1 --shortlist lex.bin source >batches
    code 0 "$program" translate --lines --model model --threads 2 --batch-tokens 1 --shortlist lex.bin source >out
    check "one sentence per batch: the same" cmp -s batches out

    printf 'x y 0.5\nz y 1e-2\n' >lex.txt
    code 0 "$program" translate --lines --model model --threads 1 --shortlist lex.txt source >out
    check "a lexicon of three words leaves others out" sh -c '! cmp -s batches out'
    printf 'x y\n' >bad.txt
    code 1 "$program" translate --lines --model model --shortlist bad.txt source
    says "line 1"
    : >empty.txt
    printf 'hund qqq 0.5\n' >useless.txt
    for list in empty useless; do
        code 1 "$program" translate --lines --model model --shortlist $list.txt source
        says "no line has a token from each vocabulary"
    done
    head -c 100 lex.bin >cut.bin
    code 1 "$program" translate --lines --model model --shortlist cut.bin source
    says "the shortlist's size does not match"
    code 2 "$program" shortlist --model model --data data.tsv
    says "--output is missing"
}

run_test "$@"
