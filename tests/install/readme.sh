#!/bin/sh
# readme.sh ROOT librapt.so toy_translate CC - checks the code and commands in the documents. The C program of README.md
# compiles with warnings as errors and prints what its comment says, and its translator compiles and prints what the command
# prints. The commands of README.md and apps/README.md train, translate and convert. Every piece of C in apps/examples/README.md
# is in the file that is named after it, and every output is that of an example.
set -eu
root=$1 library=$2 toy=$3 cc=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$*"
    exit 1
}

# blocks DOCUMENT LANGUAGE PREFIX: writes the fenced blocks of that language to PREFIX1, PREFIX2, ..., and the name of
# the file in the comment after block n to PREFIXn.of
blocks() {
    awk -v fence="^\`\`\`$2\$" -v to="$3" '$0 ~ fence { n++; inside = 1; next }
        /^```$/ { if (inside) ended = n; inside = 0; next }
        inside { print > (to n) }
        ended && /^<!-- / { print $2 > (to ended ".of") }
        { ended = inside ? 0 : ended * ($0 == "") }' "$1"
}

blocks "$root/README.md" c program
[ -s program2 ] && [ ! -e program3 ] || fail "README.md: not two pieces of C"
compile() { # FILE PROGRAM
    $cc -std=c11 -Wall -Wextra -Wconversion -Werror -I"$root/include" "$1" -o "$2" "$library" \
        -Wl,-rpath,"$(dirname "$library")"
}
mv program1 program.c
compile program.c program
printed=$(sed -n 's|.*/\* \([0-9. ]*\) \*/$|\1|p' program.c)
[ -n "$printed" ] && [ "$(./program)" = "$printed" ] || fail "README.md: its program prints $(./program), not $printed"
{
    printf '#include <rapt/rapt.h>\n#include <stdio.h>\nint main(void)\n{\nrapt_message why;\n'
    cat program2
    echo '}'
} >translator.c
compile translator.c translator

# shown DOCUMENT SECTION: prints the commands of a section
shown() {
    awk -v section="## $2" '/^## / { inside = $0 == section } inside && /^    / { sub(/^    /, ""); print }' "$root/$1"
}

# Runs the three commands for training, with a tiny model.
mkdir bin
printf '#!/bin/sh\ncase $1 in train) set -- "$@" --layers 1 --width 16 --heads 1 --steps 2 ;; esac\nexec "%s" "$@"\n' \
    "$toy" >bin/toy_translate
chmod +x bin/toy_translate
shown README.md "Train your own" >commands
[ "$(wc -l <commands)" = 3 ] || fail "README.md: not three commands: $(cat commands)"
PATH=$folder/bin:$PATH
sh -eu commands >out 2>err || fail "$(cat commands err)"
[ "$(wc -l <out)" -ge 1 ] && [ -s my.safetensors ] || fail "the commands of README.md printed: $(cat out)"
printf 'a cat\teine Katze\na dog\tein Hund\nthe cats\tdie Katzen\n' >pairs.tsv # enough for what follows

# The commands for translation and the translator in C, with the same model from another folder: two must print what the
# README shows, and the third must keep the times of subtitles.
real=${RAPT_DATA:-$root/../shared/data}/models/firefox-tiny-enpt
if [ -r "$real" ]; then
    model=$(shown README.md Translate | sed -n '/^echo/s/.* --model //p')
    [ -n "$model" ] && mkdir -p "$(dirname "$model")" && ln -s "$(realpath "$real")" "$model"
    shown README.md Translate | grep '^echo' | sh -eu >out 2>err || fail "$(cat err)"
    blocks "$root/README.md" text said
    cmp -s out said1 || fail "README.md: its translation is $(cat out)"
    ./translator >translated || fail "README.md: its translator printed: $(cat translated)"
    cmp -s translated said1 || fail "README.md: its translator printed $(cat translated)"
    printf '1\n00:00:01,000 --> 00:00:02,000\nThe cats are sleeping.\n' >film.srt
    shown README.md Translate | grep srt | sh -eu 2>err || fail "$(cat err)"
    sed 's/^Os .*/The cats are sleeping./' filme.srt | cmp -s - film.srt || fail "README.md: its subtitles are $(cat filme.srt)"
else
    echo "skipped: install/readme: the translation of README.md: no folder $real"
fi

# Folders in the formats of other projects, made here.
python3 - >vocab.spm <<'END'
import sys

def piece(text, kind):
    inside = b"\x0a" + bytes([len(text)]) + text + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(inside)]) + inside

words = "\u2581 \u2581the \u2581cats \u2581a a c d e g h i K l m n o r s t u v z".split(" ")
all_pieces = [piece(b"</s>", 3), piece(b"<unk>", 2)] + [piece(word.encode(), 1) for word in words]
sys.stdout.buffer.write(b"".join(all_pieces))
END
toy_translate train --data pairs.tsv --out plain --sentencepiece vocab.spm --position concatenated >out 2>err || fail "$(cat err)"
toy_translate convert --model plain --to hf --out opus-mt-en-de
shown apps/README.md "Other people's models" >commands # one line each
sed -n -e ':join' -e '/\\$/{N;s/\\\n *//;bjoin' -e '}' -e p -i commands
grep 'own\|^cut' commands >own
cp vocab.spm vocab.model # spm_train cannot learn 8,000 pieces from three pairs
sh -eu own >out 2>err || fail "$(cat own err)"
cp -r ende firefox-en-de
echo "the cats" >text
grep '^toy_translate' commands | grep -v 'info\|own\|MiniLM\|nllb' >others
rm my.safetensors
[ "$(wc -l <others)" = 3 ] || fail "apps/README.md: not three commands: $(cat others)"
sh -eu others >out 2>err || fail "$(cat err)"
[ "$(wc -l <out)" -ge 2 ] && [ -s my.safetensors ] || fail "the commands of apps/README.md printed: $(cat out)"

tutorial=$root/apps/examples/README.md
blocks "$tutorial" c piece
blocks "$tutorial" text output
count=0
for piece in piece*[0-9]; do
    [ -s "$piece.of" ] || fail "$tutorial: no file is named after: $(cat "$piece")"
    python3 -c 'import sys; sys.exit(open(sys.argv[1]).read() not in open(sys.argv[2]).read())' "$piece" \
        "$root/apps/examples/$(cat "$piece.of")" || fail "$tutorial: not in $(cat "$piece.of"): $(cat "$piece")"
    count=$((count + 1))
done
[ $count -ge 4 ] || fail "$tutorial: $count pieces of C"
for output in output*; do
    while IFS= read -r line; do
        grep -qxF -- "$line" "$root/tests/install/examples.txt" || fail "$tutorial: no example prints: $line"
    done <"$output"
done
for example in "$root"/apps/examples/*.c "$root"/apps/examples/*.cpp "$root"/apps/examples/attention.py; do
    grep -qF "($(basename "$example"))" "$tutorial" || fail "$tutorial: does not name $(basename "$example")"
done
echo "README.md: programs and commands; tutorial: $count pieces"
