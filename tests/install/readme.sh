#!/bin/sh
# readme.sh ROOT librapt.so toy_translate CC - what the documents show is true: the C program of README.md compiles as it
# stands there, with warnings as errors, and prints what its comment says; its commands train, translate and convert;
# every piece of C in apps/examples/README.md is in the file named behind it, and every output in what some example prints.
set -eu
root=$1 library=$2 toy=$3 cc=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$*"
    exit 1
}

# blocks DOCUMENT LANGUAGE PREFIX: its fenced blocks of that language as PREFIX1, PREFIX2, ...; in PREFIXn.of the file that
# a comment behind the block names
blocks() {
    awk -v fence="^\`\`\`$2\$" -v to="$3" '$0 ~ fence { n++; inside = 1; next }
        /^```$/ { if (inside) ended = n; inside = 0; next }
        inside { print > (to n) }
        ended && /^<!-- / { print $2 > (to ended ".of") }
        { ended = inside ? 0 : ended * ($0 == "") }' "$1"
}

blocks "$root/README.md" c program
[ -s program1 ] && [ ! -e program2 ] || fail "README.md: not one C program"
mv program1 program.c
$cc -std=c11 -Wall -Wextra -Wconversion -Werror -I"$root/include" program.c -o program "$library" \
    -Wl,-rpath,"$(dirname "$library")"
said=$(sed -n 's|.*/\* \([0-9. ]*\) \*/$|\1|p' program.c)
[ -n "$said" ] && [ "$(./program)" = "$said" ] || fail "README.md: its program prints $(./program), not $said"

# Its two commands, on three pairs and with a model as small as can be.
mkdir bin
printf '#!/bin/sh\ncase $1 in train) set -- "$@" --layers 1 --width 16 --heads 1 --steps 2 ;; esac\nexec "%s" "$@"\n' \
    "$toy" >bin/toy_translate
chmod +x bin/toy_translate
printf 'a cat\teine Katze\na dog\tein Hund\nthe cats\tdie Katzen\n' >pairs.tsv
# shown SECTION: its commands
shown() {
    awk -v section="## $1" '/^## / { inside = $0 == section } inside && /^    / { sub(/^    /, ""); print }' "$root/README.md"
}
shown "Train and translate" >commands
[ "$(wc -l <commands)" = 2 ] || fail "README.md: not two commands: $(cat commands)"
PATH=$folder/bin:$PATH sh -eu commands >out 2>err || fail "$(cat commands err)"
[ "$(wc -l <out)" -ge 1 ] && [ -s my.safetensors ] || fail "the commands of README.md printed: $(cat out)"

# Models of others: what is made for them is what they have; of CTranslate2 a real one, where it is there.
python3 - >vocab.spm <<'END'
import sys

def piece(text, kind):
    inside = b"\x0a" + bytes([len(text)]) + text + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(inside)]) + inside

words = "\u2581 \u2581the \u2581cats \u2581a a c d e g h i K l m n o r s t u v z".split(" ")
all_pieces = [piece(b"</s>", 3), piece(b"<unk>", 2)] + [piece(word.encode(), 1) for word in words]
sys.stdout.buffer.write(b"".join(all_pieces))
END
PATH=$folder/bin:$PATH
toy_translate train --data pairs.tsv --out plain --sentencepiece vocab.spm --position concatenated >out 2>err || fail "$(cat err)"
toy_translate convert --model plain --to hf --out opus-mt-en-de
toy_translate convert --model plain --to ct2 --out ct2-en-de
rm ct2-en-de/*.spm
real=${RAPT_DATA:-/nowhere}/models/ct2-aren/aren-transliteration
[ ! -r "$real/model.bin" ] || ln -s "$real" ct2-real
shown "Other people's models" >commands
[ "$(grep -c '^toy_translate\|^echo' commands)" = 5 ] || fail "README.md: not five commands: $(cat commands)"
grep -v '^echo' commands >own
sh -eu own >out 2>err || fail "$(cat own err)"
cp -r own-for-firefox firefox-en-de
grep '^echo' commands >others
sh -eu others >out 2>err || fail "$(cat others err)"
[ "$(wc -l <out)" = 3 ] || fail "the commands of README.md for models of others printed: $(cat out)"
[ ! -e ct2-real ] || sed -n '/ct2-en-de/s//ct2-real/p' others | sh -eu >out 2>err || fail "$(cat err)"

tutorial=$root/apps/examples/README.md
blocks "$tutorial" c piece
blocks "$tutorial" text output
count=0
for piece in piece*[0-9]; do
    [ -s "$piece.of" ] || fail "$tutorial: of which file is: $(cat "$piece")"
    python3 -c 'import sys; sys.exit(open(sys.argv[1]).read() not in open(sys.argv[2]).read())' "$piece" \
        "$root/apps/examples/$(cat "$piece.of")" || fail "$tutorial: not in $(cat "$piece.of"): $(cat "$piece")"
    count=$((count + 1))
done
[ $count -ge 4 ] || fail "$tutorial: $count pieces of C"
for output in output*; do
    while IFS= read -r line; do
        grep -qxF -- "$line" "$root"/tests/install/examples/*.txt || fail "$tutorial: no example prints: $line"
    done <"$output"
done
for example in "$root"/apps/examples/*.c "$root"/apps/examples/*.cpp "$root"/apps/examples/attention.py; do
    grep -qF "($(basename "$example"))" "$tutorial" || fail "$tutorial: does not name $(basename "$example")"
done
echo "README.md: program and commands; tutorial: $count pieces"
