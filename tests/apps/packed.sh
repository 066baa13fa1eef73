#!/bin/sh
# Texts that are compressed with gzip and zstd, by other programs and into files for them; damaged ones.
# usage: packed.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

"$program" demo --write-corpus plain 2>err
head -n 60 plain >pairs
cut -f 1 pairs >texts
small="--layers 1 --width 8 --heads 1 --ffn-width 8 --vocab 270 --steps 2 --threads 1"
code 0 "$program" train --data pairs $small --out model
code 0 "$program" translate --model model --beam 1 texts -o wanted
printf x >x.gz
"$program" translate --model model --beam 1 texts -o x.gz 2>err
grep -q "built without" err && { echo "skipped: apps/packed: built without zlib or zstd"; exit 77; }
command -v zstd >/dev/null && command -v gzip >/dev/null || { echo "skipped: apps/packed: no gzip or zstd"; exit 77; }

# pack NAME: compresses standard input as the end of the name says.
pack() {
    case $1 in
    *.gz) gzip -c ;;
    *.zst) zstd -qc ;;
    esac
}
unpack() {
    case $1 in
    *.gz) gunzip -c "$1" ;;
    *.zst) zstd -qdc "$1" ;;
    esac
}
for end in gz zst; do
    pack texts.$end <texts >texts.$end
    cp texts.$end named_otherwise
    head -n 30 texts | pack texts.$end >both.$end # two members
    tail -n +31 texts | pack texts.$end >>both.$end
    for file in texts.$end named_otherwise both.$end; do
        code 0 "$program" translate --model model --beam 1 $file -o out.$end
        unpack out.$end | cmp -s - wanted || fail "$file and out.$end"
        "$program" translate --model model --beam 1 <$file 2>err | cmp -s - wanted || fail "$file by standard input"
        cat $file | "$program" translate --model model --beam 1 - 2>err | cmp -s - wanted || fail "$file by a pipe"
    done

    # Pairs, and other files that are read as a whole.
    pack pairs.$end <pairs >pairs.$end
    code 0 "$program" train --data pairs.$end $small --force --out again
    check "train --data pairs.$end" cmp model again
    cut -f 2 pairs | pack targets.$end >targets.$end
    code 0 "$program" score --model model --source texts.$end --target targets.$end >scores
    code 0 "$program" score --model model --data pairs >plain_scores
    check "score" cmp scores plain_scores
    code 0 "$program" evaluate --data pairs.$end --hypotheses targets.$end >scores
    check "evaluate" grep -q 100 scores
    "$program" tokenize --model model <texts.$end >tokens 2>err
    "$program" tokenize --model model <texts 2>err | cmp -s - tokens || fail "tokenize"

    # Files that are cut off or damaged keep the output as it was.
    echo old >out
    head -c 200 texts.$end >cut.$end
    code 1 "$program" translate --model model --beam 1 cut.$end -o out
    says "cannot read cut.$end: its compressed data is cut off"
    { head -c 100 texts.$end; printf 'damage'; tail -c +107 texts.$end; } >damaged.$end
    code 1 "$program" translate --model model --beam 1 damaged.$end -o out
    says "cannot read damaged.$end: its compressed data is damaged"
    check "no output" [ "$(cat out)" = old ]
    code 1 "$program" train --data cut.$end $small --out none
    says "cut.$end: its compressed data is cut off"
    head -c 60000000 /dev/zero | pack bomb.$end >bomb.$end
    code 1 "$program" train --data bomb.$end $small --out none
    says "bomb.$end: it inflates to more than 100 times its size"
    rm bomb.$end
    pack texts.$end <texts.$end >twice.$end
    code 1 "$program" translate --model model twice.$end
    says "but text in UTF-8 is needed"
    pack empty.$end </dev/null >empty.$end
    code 0 "$program" translate --model model empty.$end -o out
    check "an empty text" cmp out /dev/null
done

# Beginnings that compressed files have, too.
for text in '(' '(\265/' '\037' '\037.'; do
    printf "$text" | "$program" translate --model model - >out 2>err
    printf "$text" | cmp - out || fail "the text $text"
done
[ $failures -eq 0 ]
