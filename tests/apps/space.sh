#!/bin/sh
# train on disks of every size around what it needs: it reports before training that there is too little space,
# or it finishes. A run that has begun never fails for lack of space, nor does one that continues it.
# usage: space.sh PROGRAM
set -u
program=$(realpath "$1")
here=$(mktemp -d) && cd "$here" || exit 1
if [ "${2-}" != mounted ]; then
    unshare -m sh -c "mkdir disk && mount -t tmpfs -o size=64k none disk" 2>/dev/null || {
        echo "skipped: apps/space, small disks: mounting one is not permitted"
        rm -rf "$here"
        exit 77
    }
    script=$OLDPWD/$0
    [ -f "$script" ] || script=$0
    unshare -m sh "$script" "$program" mounted
    got=$?
    rm -rf "$here"
    exit $got
fi
trap 'umount disk 2>/dev/null; rm -rf "$here"' EXIT
failures=0 refused=0 ran=0

fail() {
    echo "$*: $(cat err)"
    failures=$((failures + 1))
}

printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
train="$program train --data pairs --layers 1 --width 64 --heads 1 --ffn-width 128 --threads 1 --average 2 --keep-checkpoint --out disk/m"
mkdir disk
$train --epochs 4 2>err || fail "without limits"
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
        $train --epochs 6 --resume 2>err || fail "$share %: going on"
        ;;
    *)
        refused=$((refused + 1))
        [ $share -le 108 ] || fail "$share %: refused"
        grep -q "cannot write .* bytes: disk/m.*No space left" err || fail "$share %: no reason"
        grep -q "epoch 1" err && fail "$share %: noticed after an epoch"
        [ -z "$(ls -A disk)" ] || fail "$share %: $(ls -A disk) is left"
        ;;
    esac
    umount disk
done
[ $ran -ge 2 ] && [ $refused -ge 5 ] || fail "$ran ran, $refused refused"
[ $failures -eq 0 ]
