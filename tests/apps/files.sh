#!/bin/sh
# Files that toy_translate writes, and those that it must leave alone; limits of files and disks.
# usage: files.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# Files that toy_translate writes: never an input, and never a file of the user's beside the output. Errors of
# paths and disks are reported before training, and a failed output leaves the old file.
test_files() {
    export LC_ALL=C
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
    ln -s absent/at/all dangling
    ln -s circle circle
    mkdir folder
    for out in dangling circle folder absent/m folder/; do
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

    # A corpus replaces a file only with --force, and one that fails leaves the old one; a file that is not regular is
    # written into.
    echo mine >corpus
    code 1 "$program" demo --write-corpus corpus
    says "corpus exists; --force replaces it"
    [ "$(cat corpus)" = mine ] || fail "demo replaced a file of the user's"
    code 0 "$program" demo --force --write-corpus corpus
    code 0 "$program" demo --write-corpus /dev/stdout
    cmp -s corpus out || fail "--write-corpus /dev/stdout, a file"
    "$program" demo --write-corpus /dev/stdout 2>err | cmp -s - corpus || fail "--write-corpus /dev/stdout, a pipe"
    echo old >corpus
    (ulimit -f 100 && "$program" demo --force --write-corpus corpus) 2>err && fail "a limit is not noticed"
    says "corpus cannot be written: File too large"
    [ "$(cat corpus)" = old ] || fail "a failed corpus destroyed the old one"
    ls -A | grep -q '^\.rapt-' && fail "a temporary file is left"

    # Files that are not UTF-8 text are named as what they are, wherever text is read.
    "$program" demo --write-corpus plain 2>err
    head -n 60 plain >plain.tsv
    printf '\3757zXZ\000rest' >packed.xz
    printf 'BZh11AY&SYrest' >packed.bz2
    printf 'PK\003\004rest' >packed.zip
    iconv -f UTF-8 -t UTF-16 plain.tsv >wide
    iconv -f UTF-8 -t UTF-16LE plain.tsv >wide.le
    iconv -f UTF-8 -t UTF-16BE plain.tsv >wide.be
    iconv -f UTF-8 -t UTF-32 plain.tsv >wider
    for file in "packed.xz is compressed by xz xz -dc" "packed.bz2 is compressed by bzip2 bzip2 -dc" \
        "packed.zip is a zip archive unzip -p" "wide is text in UTF-16 iconv -f UTF-16 -t UTF-8" \
        "wide.le is text in UTF-16 iconv -f UTF-16LE -t UTF-8" "wide.be is text in UTF-16 iconv -f UTF-16BE -t UTF-8" \
        "wider is text in UTF-32 iconv -f UTF-32 -t UTF-8"; do
        name=${file%% *} kind=$(echo "$file" | cut -d ' ' -f 2-5 | sed 's/ \(gunzip\|unzip\|iconv\).*//')
        command=${file#*"$kind" }
        for use in "train $small --out none --data" "train $small --out none --data pairs --guided-alignment" \
            "evaluate --model beside/m --data" "evaluate --data pairs --hypotheses" "translate --model beside/m" \
            "score --model beside/m --target target --source"; do
            code 1 "$program" $use "$name"
            says "$name: this $kind, but text in UTF-8 is needed; convert it with $command"
        done
        "$program" tokenize --model beside/m <"$name" >out 2>err && fail "tokenize reads $name"
        says "standard input: this $kind"
    done
    cat plain.tsv | "$program" train --data - $small --steps 1 --out piped 2>err || fail "train --data -"
    code 0 "$program" train --data plain.tsv $small --steps 1 --out named
    check "a pipe is like a file" cmp piped named
    tr '\n' '\r' <plain.tsv >returns
    code 1 "$program" train --data returns $small --out none
    says "returns: lines end with CR, but LF is needed; convert them with tr '\\r' '\\n'"
    code 1 "$program" score --model beside/m --source source --target returns
    says "returns: lines end with CR"
    code 1 "$program" translate --lines --model beside/m returns
    says "returns:1: a carriage return within the line"
    for use in "train $small --out none --data" "evaluate --data pairs --hypotheses"; do
        code 1 "$program" $use beside
        says "beside: this is a folder, not a file"
    done

    # A hyphen is standard input or output; only a file that is replaced as a whole cannot be written there.
    "$program" translate --model beside/m --beam 1 - <source >plain.out 2>err || fail "translate -"
    "$program" translate --model beside/m --beam 1 <source >out 2>err
    check "translate -" cmp out plain.out
    "$program" translate --model beside/m --beam 1 source -o - >plain.out 2>err || fail "translate -o -"
    check "translate -o -" cmp out plain.out
    "$program" translate --model beside/m --beam 1 source -o - 2>err | cmp out - || fail "translate -o - to a pipe"
    "$program" score --model beside/m --data pairs >out 2>err
    "$program" score --model beside/m --source - --target target <source 2>err | cmp out - || fail "score --source -"
    "$program" attend --model beside/m --svg - a b 2>err | grep -q '</svg>' || fail "attend --svg -"
    "$program" demo --write-corpus - 2>err | cmp plain - || fail "demo --write-corpus -"
    code 2 "$program" score --model beside/m --source - --target -
    says "--source and --target cannot both read standard input"
    for use in "train --data pairs --out" "demo --out" "shortlist --model beside/m --data pairs --output"; do
        code 2 "$program" $use -
        says "-: this file cannot be written to standard output"
    done
    code 2 "$program" convert --model beside/m --out -
    says "convert: --out -: a model cannot be written to standard output"
    [ ! -e - ] || fail "a file named -"
    code 0 "$program" translate --model beside/m --beam 1 source -o ./-
    [ -s ./- ] || fail "no file named -"
}

# A file that reaches the limit of the process (ulimit -f) gives every program an error, not a signal that ends it, and
# leaves no temporary file. An old file stays as it was.
test_limits() {
    bin=$(dirname "$program")
    # limited FILE COMMAND...: expects that the command, which writes more than 512 bytes to FILE, fails and says why.
    limited() {
        file=$1
        shift
        (ulimit -f 1 && exec "$@") >/dev/null 2>err
        got=$?
        [ $got -eq 1 ] || { fail "exit code $got, not 1: $*"; cat err; }
        says "File too large"
        [ "$(cat "$file")" = old ] || fail "the old file is gone: $*"
        [ -z "$(find . -name '.rapt-*')" ] || fail "a temporary file is left: $*"
    }
    # the_output COMMAND...: expects that the command fails if standard output, a file, reaches the limit.
    the_output() {
        (ulimit -f 1 && exec "$@") >out 2>err
        got=$?
        [ $got -eq 1 ] || { fail "exit code $got, not 1: $*"; cat err; }
        says "standard output"
    }

    synthetic_pairs 200 >pairs
    cut -f 1 pairs >source
    code 0 "$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --epochs 1 --out model
    for file in page.svg other; do echo old >$file; done
    limited page.svg "$program" attend --model model --svg page.svg "red old"
    limited other "$program" translate --model model --threads 1 --output other source
    limited other "$program" shortlist --model model --data pairs --threads 1 --output other
    limited other "$program" convert --model model --force --out other
    limited other "$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --epochs 1 \
        --force --out other
    limited other "$program" demo --steps 1 --threads 1 --force --out other
    the_output "$program" help train
    the_output "$program" translate --model model --threads 1 source
    for row in "glimpse --quick --steps 1" "caption --quick --steps 1" "lessons 6 --quick"; do
        tool=$bin/${row%% *}
        [ -x "$tool" ] || continue
        limited page.svg "$tool" ${row#* } --svg page.svg
        the_output "$tool" --help
    done
    if [ -x "$bin/perf_load" ]; then
        mkdir measured
        (ulimit -f 1 && TMPDIR=measured exec "$bin/perf_load" --check) >/dev/null 2>err
        [ $? -eq 1 ] || fail "perf_load beyond the limit: $(cat err)"
        [ -z "$(ls -A measured)" ] || fail "perf_load leaves $(ls -A measured)"
        the_output "$bin/perf_peak" --check
    fi
}

# train on disks of every size around what it needs: it reports before training that there is too little space,
# or it finishes. A run that has begun never fails for lack of space, nor does one that continues it.
test_space() {
    if [ "${1-}" != mounted ]; then
        unshare -m sh -c "mkdir disk && mount -t tmpfs -o size=64k none disk" 2>/dev/null || {
            echo "skipped: apps/space, small disks: mounting one is not permitted"
            exit 77
        }
        unshare -m sh "$scripts/files.sh" "$program" space mounted
        exit $?
    fi
    trap 'umount disk 2>/dev/null; rm -rf "$here"' EXIT
    refused=0 ran=0
    wrong() { fail "$*: $(cat err)"; }

    printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
    train="$program train --data pairs --layers 1 --width 64 --heads 1 --ffn-width 128 --threads 1 --average 2 --keep-checkpoint --out disk/m"
    mkdir disk
    $train --epochs 4 2>err || wrong "without limits"
    bytes() { stat -c %s "$1"; }
    needed=$((4 * $(bytes disk/m) + 2 * $(bytes disk/m.checkpoint)))
    rm disk/*
    for share in 10 30 50 70 80 90 95 98 100 102 104 108 112; do
        kilobytes=$((needed / 1024 * share / 100))
        mount -t tmpfs -o size=${kilobytes}k none disk || exit 1
        $train --epochs 4 2>err
        case $? in
        0)
            ran=$((ran + 1))
            $train --epochs 6 --resume 2>err || wrong "$share %: going on"
            ;;
        *)
            refused=$((refused + 1))
            [ $share -le 108 ] || wrong "$share %: refused"
            grep -q "cannot write .* bytes: disk/m.*No space left" err || wrong "$share %: no reason"
            grep -q "epoch 1" err && wrong "$share %: noticed after an epoch"
            [ -z "$(ls -A disk)" ] || wrong "$share %: $(ls -A disk) is left"
            ;;
        esac
        umount disk
    done
    [ $ran -ge 2 ] && [ $refused -ge 5 ] || wrong "$ran ran, $refused refused"
}

run_test "$@"
