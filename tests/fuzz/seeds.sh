#!/bin/sh
# seeds.sh TARGET PATH... - adds files, or the files of folders, to the seeds of a fuzz target in seeds/TARGET.tar.gz.
# A seed with the same name is replaced. The bytes of the archive do not depend on who packs it or when: names are
# sorted, and neither owners nor times are stored.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
}
archive=$(cd "$(dirname "$0")" && pwd)/seeds/$1.tar.gz
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/seeds"
[ ! -e "$archive" ] || tar -xzf "$archive" -C "$folder/seeds"
for path in "$@"; do
    if [ -d "$path" ]; then path=$path/.; fi
    cp -R "$path" "$folder/seeds"
done
tar -cf "$folder/tar" -C "$folder/seeds" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
    --mode=0644 $(cd "$folder/seeds" && LC_ALL=C ls)
gzip -9n <"$folder/tar" >"$archive"
