#!/bin/sh
# examples.sh BUILD ROOT CC CXX GENERATOR - builds the programs of apps/examples, and rapt.py, with only the installed
# library, runs them, and compares their output with examples.txt unless it depends on a model. No example may have
# more than 60 lines.
set -eu
build=$1 root=$2 cc=$3 cxx=$4 generator=$5
examples=$root/apps/examples expected=$root/tests/install/examples.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*"; exit 1; }

for file in "$examples"/*.c "$examples"/*.cpp "$examples"/attention.py; do
    [ "$(wc -l <"$file")" -le 60 ] || fail "$file has more than 60 lines"
done
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cmake -G "$generator" -S "$examples" -B "$scratch/bin" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="-Wall -Wextra -Wconversion -Werror" \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$scratch/log" &&
    cmake --build "$scratch/bin" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
cd "$scratch"

# prints NAME COMMAND...: checks that COMMAND prints what examples.txt says after "== NAME"
prints() {
    name=$1
    shift
    "$@" >out 2>err || fail "$name: $(cat out err)"
    sed -n "/^== $name\$/,/^== /{/^== /!p;}" "$expected" >wanted
    [ -s wanted ] && cmp -s out wanted || { echo "$name printed:"; diff out wanted; exit 1; }
    echo "$name: as expected"
}
for name in attention ragged monotonic reverse text tagger language_model block allocator memory plus; do
    prints "$name" "bin/$name"
done

# These need a model of toy_translate, which need not translate well.
"$build/bin/toy_translate" demo --steps 60 --out model >log 2>&1 || fail "$(cat log)"
printf '%s\n' "cats do not like dogs" "the old dog sleeps" "the men see the women" "a cat" "the cats sleep" >sentences
bin/translate model <sentences >translated || fail "translate failed"
[ "$(wc -l <translated)" = 5 ] || fail "translate: five lines in, not five lines out"
bin/threads model <sentences >threaded || fail "threads failed"
cmp translated threaded || fail "threads: the output differs from that of translate"
awk '{ print $0 "\t" $0 }' sentences >pairs.tsv
"$build/bin/toy_translate" shortlist --model model --data pairs.tsv --output list >log 2>&1 || fail "$(cat log)"
[ "$(bin/threads model list <sentences | wc -l)" = 5 ] || fail "threads with a shortlist failed"
echo "translate, threads: the same five lines"
bin/embed model <sentences >alike || fail "embed failed"
awk -F '\t' 'NF != 3 || $1 == $2 || $3 < -1 || $3 > 1 { bad = 1 } END { exit bad || NR != 5 }' alike || fail "embed: $(cat alike)"
echo "embed: $(head -n 1 alike | tr '\t' ' ')"
bin/stream model "the old dog sleeps" >out || fail "stream failed"
"$build/bin/toy_translate" translate --lines --model model --beam 1 <sentences >greedy || fail "translate --beam 1 failed"
sed -n 's/^\[\(.*\)\] -*[0-9.]*$/\1/p' out | tr -d '\n' | sed 's/^ //' >joined
[ -s joined ] || fail "stream printed nothing"
[ "$(sed -n '$s/ \.\.\.$//; $p' out)" = "$(cat joined)" ] || fail "stream: '$(cat joined)' in pieces, then $(sed -n '$p' out)"
case $(sed -n 2p greedy) in
"$(cat joined)"*) echo "stream: $(grep -c "^\[" out) pieces of the greedy translation" ;;
*) fail "stream: '$(cat joined)' does not begin '$(sed -n 2p greedy)'" ;;
esac
bin/score model "a cat" "$(sed -n 4p translated)" "eine Katze" "Hunde mögen Hunde die die die" >out || fail "score failed"
[ "$(wc -l <out)" = 3 ] && sort -rg -c out || fail "score: $(cat out)"
echo "score: three, the likeliest first"
for program in translate threads embed stream score; do
    code=0
    bin/$program >out 2>err </dev/null || code=$?
    [ $code = 2 ] && grep -q '^usage: ' err || fail "$program without arguments: exit code $code, $(cat err)"
done

# Python: compares the sizes of structs with those of the C compiler, then runs the example.
command -v python3 >/dev/null || { echo "skipped: install/examples, attention.py: python3 is not installed"; exit 77; }
RAPT_LIBRARY=$(find "$scratch/prefix" -name librapt.so)
export RAPT_LIBRARY PYTHONPATH="$scratch" PYTHONDONTWRITEBYTECODE=1
python3 "$examples/bindings.py" "$scratch/prefix/include" "$cc" >rapt.py || fail "bindings.py failed"
python3 - >sizes.c <<'END'
import rapt
assert len(rapt.structs) >= 25, len(rapt.structs)
print("#include <rapt/rapt.h>\n_Static_assert(1")
for kind in rapt.structs:
    name = kind.__name__
    print(f'&& sizeof({name}) == {rapt.ctypes.sizeof(kind)}')
    for field, *_ in kind._fields_:
        print(f"&& __builtin_offsetof({name}, {field}) == {getattr(kind, field).offset}")
print(', "rapt.py has other structs than the headers");')
END
python3 -c 'import rapt; assert sum(rapt.rapt_struct_size(k.__name__.encode()) > 0 for k in rapt.structs) > 25' ||
    fail "the library does not know the structs"
sed 's/("heads", ctypes.c_int)/("heads", ctypes.c_int), ("extra", ctypes.c_int), ("more", ctypes.c_int)/' rapt.py >other.py
python3 -c 'import other' 2>err && fail "rapt.py with another struct is not refused"
grep -q 'rapt_attention has another size' err || fail "rapt.py with another struct: $(cat err)"
"$cc" -std=c11 -fsyntax-only -I"$scratch/prefix/include" sizes.c || fail "rapt.py and the headers differ"
echo "rapt.py: $(grep -c sizeof sizes.c) structs as the compiler has them"
prints attention_py python3 "$examples/attention.py"
