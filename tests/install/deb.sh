#!/bin/sh
# deb.sh BUILD OUTSIDE CC - makes a Debian package of BUILD, installs it in a scratch system, runs its program, compiles
# a program with it and removes it. Nothing may be left.
set -eu
build=$1 outside=$2 cc=$3
for tool in dpkg dpkg-deb cpack; do
    command -v $tool >/dev/null || { echo "skipped: install/deb: $tool is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: install/deb: only root may install a package"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

(cd "$build" && cpack -G DEB -B "$scratch/out") >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
package=$(echo "$scratch"/out/*.deb)
dpkg-deb --info "$package" | sed -n 's/^ \(Package\|Version\|Depends\|Installed-Size\):/\1:/p'
if command -v lintian >/dev/null; then
    TMPDIR=$scratch lintian --allow-root --fail-on error "$package" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
else
    echo "skipped: install/deb, the policy of Debian: lintian is not installed"
fi

root=$scratch/root
mkdir -p "$root" "$scratch/db/info" "$scratch/db/updates"
: >"$scratch/db/status"
# The package's scripts must not change this machine's cache of libraries, so they find another ldconfig.
mkdir "$scratch/bin"
printf '#!/bin/sh\necho called >>"%s"\n' "$scratch/ldconfig" >"$scratch/bin/ldconfig"
chmod +x "$scratch/bin/ldconfig"
system() {
    PATH=$scratch/bin:$PATH:/usr/sbin:/sbin dpkg --instdir="$root" --admindir="$scratch/db" --log="$scratch/dpkg.log" \
        --force-depends --force-script-chrootless "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
}

system --install "$package"
[ ! -x "$build/bin/toy_translate" ] || "$root/usr/bin/toy_translate" --version
libdir=$(dirname "$(find "$root/usr" -name librapt.a)")
$cc -std=c11 "$outside" -o "$scratch/program" -I"$root/usr/include" -L"$libdir" -lrapt -lm
LD_LIBRARY_PATH=$libdir "$scratch/program"
[ -z "$(find "$root" -name '*.so.*.*.*' -perm /111)" ] || { echo "a library is executable"; exit 1; }

system --purge rapt
left=$(find "$root" ! -type d)
[ "$(wc -l <"$scratch/ldconfig")" = 2 ] || { echo "ldconfig was not called at installation and removal"; exit 1; }
[ -z "$left" ] || { echo "left after removal: $left"; exit 1; }
