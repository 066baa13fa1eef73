#!/bin/sh
# arm64_suite.sh ROOT - builds the library, the programs and the tests for arm64 with all libraries that they use, and
# runs the tests of most layers on an emulated processor, except those that take minutes there. Debian's arm64 packages
# are unpacked in a separate folder; nothing is installed. arm64.sh runs the tests of kernel/.
set -u
root=$1
skip() { echo "skipped: cross/arm64-suite: $*"; exit 77; }
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
[ -e /usr/aarch64-linux-gnu/include/stdlib.h ] || skip "libc6-dev-arm64-cross is not installed"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
say() { "$@" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }; }

# The slow ones take minutes each under emulation: many threads, many cases, or every float.
layers="base|op|attention|model|import|generate|train|translate|text|format|api|golden"
slow="attention/product|generate/(sample|variants|vectors|weights)|train/(hard_learns|shards|shards_early)|translate/(score_texts|translate|words)"
slow="$slow|text/(spm_reference|spm_encode)|api/(threads|translators|fork)"

state="-o Dir::State=$scratch/apt -o Dir::State::status=$scratch/apt/status -o Dir::Cache=$scratch/apt/cache
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none -o APT::Sandbox::User=root"
mkdir -p "$scratch/apt/lists/partial" "$scratch/apt/cache/archives/partial" "$scratch/packages" "$scratch/sysroot"
: >"$scratch/apt/status"
cd "$scratch/packages" || exit 1
# $state is unquoted so that it is split into words.
apt-get $state -qq update >"$scratch/log" 2>&1 &&
    apt-get $state -qq download libcmocka0 libcmocka-dev libjansson4 libjansson-dev libsleef3 libsleef-dev zlib1g \
        zlib1g-dev libutf8proc2 libutf8proc-dev >>"$scratch/log" 2>&1 ||
    skip "Debian's packages for arm64 cannot be downloaded: $(tail -n 1 "$scratch/log")"
for package in *.deb; do say dpkg -x "$package" "$scratch/sysroot"; done
find "$scratch/sysroot" -xtype l -delete # links to absolute paths are broken here; the archives suffice
libraries=$scratch/sysroot/usr/lib/aarch64-linux-gnu

emulator="qemu-aarch64;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=$libraries;-E;OMP_NUM_THREADS=2"
say cmake -S "$root" -B "$scratch/build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_FIND_ROOT_PATH="$scratch/sysroot" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator" -DRAPT_WERROR=ON -DRAPT_PERF=OFF -DRAPT_MPI=OFF -DRAPT_INSTALL=OFF
grep '^-- rapt ' "$scratch/log"
say cmake --build "$scratch/build" --parallel 2
cd "$scratch/build" || exit 1
export OMP_WAIT_POLICY=passive
ctest -j2 --no-tests=error --output-on-failure -R "^($layers)/" -E "^($slow)\$" >"$scratch/log" 2>&1
status=$?
[ $status = 0 ] || grep -v ' Passed \| Start ' "$scratch/log"
if grep RegularExpression "$scratch/log"; then status=1; fi # CMake silently ignores a pattern with ten groups
grep 'tests passed' "$scratch/log"
echo "not run, since they take minutes under emulation: $slow"
exit $status
