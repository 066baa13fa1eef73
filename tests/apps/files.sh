#!/bin/sh
# Files that toy_translate writes: never an input, and never a file of the user's beside the output. Errors of
# paths and disks are reported before training, and a failed output leaves the old file.
# usage: files.sh PROGRAM
export LC_ALL=C
. "$(dirname "$0")/kit/script.sh"
# code WANTED COMMAND...: as in kit/script.sh, with standard output in out.
code() {
    wanted=$1
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ $got -eq "$wanted" ] || { fail "exit code $got, not $wanted: $*"; cat err; }
}

printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
cut -f 1 pairs >source
cut -f 2 pairs >target
cp pairs pairs.kept
cp source source.kept
cp target target.kept
small="--layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --average 2 --keep-checkpoint"
train="$program train --data pairs $small"

# The user's files beside OUT stay, also where a link leads.
mkdir beside && cd beside || exit 1
cp ../pairs .
echo mine | tee m.probe m.probe2 m.tmp .rapt-0123456789abcdef.tmp m.checkpoint.best.tsv other >/dev/null
ln -sf other m.probe2
code 0 $train --epochs 4 --out m
code 0 $train --epochs 5 --out m --resume
for file in m.probe m.probe2 m.tmp .rapt-0123456789abcdef.tmp m.checkpoint.best.tsv other; do
    [ "$(cat $file)" = mine ] || fail "train changed $file"
done
ls -A >listed
printf '%s\n' .rapt-0123456789abcdef.tmp err listed m m.checkpoint m.checkpoint.4 m.checkpoint.5 \
    m.checkpoint.best.tsv m.probe m.probe2 m.svg m.tmp other out pairs | sort >wanted
sort listed | cmp -s - wanted || fail "files of a run: $(sort listed | comm -3 - wanted)"
echo mine >kept.checkpoint.best
code 0 "$program" demo --steps 1 --json --out kept
[ "$(cat kept.checkpoint.best)" = mine ] || fail "demo changed kept.checkpoint.best"
code 1 "$program" demo --steps 1 --out kept
says "kept exists; --force replaces it"
grep -q -- --resume err && fail "demo advises --resume, which it has not"
cp m.checkpoint unfinished.checkpoint
code 1 "$program" demo --steps 1 --out unfinished
says "unfinished.checkpoint belongs to an unfinished run"
grep -q -- --resume err && fail "demo advises --resume, which it has not"
cd ..

# If another file has a name of the checkpoint's, no run begins, and the file stays.
code 0 $train --epochs 2 --out beside/ours
for name in checkpoint checkpoint.best checkpoint.1 checkpoint.17; do
    for how in "--out user" "--out user --force" "--out ours --resume"; do
        file=beside/$(echo $how | cut -d ' ' -f 2).$name
        case $how:$name in *resume:checkpoint | *resume:checkpoint.1) continue ;; esac
        echo mine >$file
        code 1 $train --epochs 3 $(echo $how | sed "s,--out ,&beside/,")
        says "$(basename $file) is not a checkpoint of toy_translate"
        [ "$(cat $file)" = mine ] || fail "train $how changed $file"
        rm $file
    done
done
[ ! -e beside/user ] && [ ! -e beside/user.svg ] || fail "a refused run left files"
ln -s elsewhere beside/linked.checkpoint
code 0 $train --epochs 1 --out beside/linked
[ -L beside/linked.checkpoint ] && [ -f beside/elsewhere ] || fail "a link to a new checkpoint"
code 0 $train --epochs 2 --out beside/linked --force

# A run that is refused leaves the files of another run, even with --force.
code 0 $train --epochs 2 --out former
cksum former* >sums
yes 0-0 | head -n 4 >links
code 1 $train --epochs 2 --out former --force --guided-alignment links --cross-normalizer argmax
says "cross_normalizer is not softmax"
cksum former* | cmp -s - sums || fail "a refused train --force changed: $(cksum former* | diff - sums)"

# An output that is also an input, by device and inode.
ln -s pairs link
ln pairs hard
for out in pairs ./pairs link hard "$here/pairs"; do
    code 2 $train --epochs 1 --out "$out"
    says "is the same file as --data pairs"
done
for input in source target; do
    code 2 "$program" train --source source --target target $small --epochs 1 --out $input
    says "is the same file as --$input"
done
code 2 $train --valid source --epochs 1 --out source
code 2 $train --valid-source source --valid-target target --epochs 1 --out target
for name in m.checkpoint m.checkpoint.best m.checkpoint.2 m.checkpoint.17; do
    ln -sf pairs $name
    code 2 $train --epochs 1 --out m
    says "the output $name is the same file as the input pairs"
    rm $name
done
code 0 $train --epochs 1 --out model
cp model model.kept
for command in info "attend a" "evaluate --data pairs" translate; do
    "$program" $command --model model >>model 2>err </dev/null && fail "$command >>model"
    says "standard output is the same file"
    cmp -s model model.kept || { fail "$command >>model changed it"; cp model.kept model; }
done
"$program" evaluate --model model --data pairs >>pairs 2>err && fail "evaluate --data pairs >>pairs"
"$program" translate --model model <source >>source 2>err && fail "translate <source >>source"
says "the same file"
for file in pairs source target; do
    cmp -s $file $file.kept || fail "$file is changed"
done

# Unwritable paths are reported before the data are read.
ln -s /nowhere/at/all dangling
ln -s circle circle
mkdir folder
for out in dangling circle folder /nowhere/m folder/; do
    code 1 "$program" train --data missing --epochs 1 --out $out
    says "--out: "
    grep -q missing err && fail "--out $out is noticed after the data"
    code 1 "$program" demo --steps 1 --out $out
    code 1 "$program" demo --write-corpus $out
done
mkdir far
ln -s far/model near
code 0 $train --epochs 1 --out near
[ -L near ] && [ -f far/model ] && [ -f near.checkpoint ] || fail "a link to a new file: $(ls -l near far)"

# A corpus that fails leaves the old one; a file that is not regular is written into.
code 0 "$program" demo --write-corpus corpus
code 0 "$program" demo --write-corpus /dev/stdout
cmp -s corpus out || fail "--write-corpus /dev/stdout, a file"
"$program" demo --write-corpus /dev/stdout 2>err | cmp -s - corpus || fail "--write-corpus /dev/stdout, a pipe"
echo old >corpus
(ulimit -f 100 && "$program" demo --write-corpus corpus) 2>err && fail "a limit is not noticed"
says "corpus: "
[ "$(cat corpus)" = old ] || fail "a failed corpus destroyed the old one"
ls -A | grep -q '^\.rapt-' && fail "a temporary file is left"

[ $failures -eq 0 ]
