#!/bin/sh
# suite.sh ROOT MACHINE FILES DATA [FOLDER] - builds the library, the programs and the tests for another processor with all
# libraries that they use, and runs the tests of most layers on an emulated one, except those that take minutes there.
# MACHINE is arm64, s390x (big-endian) or riscv64. Debian's packages for MACHINE are unpacked in a separate folder;
# nothing is installed. FILES is the program made from files.c for the machine here: it must write the same bytes as on
# MACHINE, also for the files of others in DATA. arm64.sh runs the tests of kernel/ for arm64. Everything is built in
# FOLDER and kept there, or in a temporary folder.
set -u
root=$1 machine=$2 files=$3 data=$4
skip() { echo "skipped: cross/$machine-suite: $*"; exit 77; }
release= # of Debian's, if the one installed here has no packages for MACHINE
case $machine in
arm64) processor=aarch64 kernel= ;;
s390x) processor=s390x kernel="|kernel" ;;
riscv64) processor=riscv64 kernel="|kernel" release=trixie ;;
*) echo "suite.sh: MACHINE is arm64, s390x or riscv64" >&2; exit 2 ;;
esac
triple=$processor-linux-gnu qemu=qemu-$processor system=/usr/$processor-linux-gnu # system: of the emulated programs
for tool in $triple-gcc $qemu apt-get dpkg; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ -e $system/include/stdlib.h ] || skip "libc6-dev-$machine-cross is not installed"
scratch=${5-}
if [ -n "$scratch" ]; then
    mkdir -p "$scratch" && scratch=$(cd "$scratch" && pwd) || exit 1
else
    scratch=$(mktemp -d) || exit 1
    trap 'rm -rf "$scratch"' EXIT
fi
say() { "$@" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }; }

# The slow ones take minutes each under emulation: many threads, many cases, or every float.
layers="base|op|attention|model|import|generate|train|translate|text|format|api|golden$kernel"
slow="attention/product|generate/(sample|variants|vectors|weights)|train/(hard_learns|shards|shards_early)|translate/(score_texts|translate|words)"
slow="$slow|text/(spm_reference|spm_encode)|api/(threads|translators|fork)"

# unpack NAME...: downloads Debian's packages with these names for MACHINE and unpacks them.
unpack() {
    state="-o Dir::State=$scratch/apt -o Dir::State::status=$scratch/apt/status -o Dir::Cache=$scratch/apt/cache
        -o APT::Architecture=$machine -o APT::Architectures=$machine -o Acquire::Languages=none -o APT::Sandbox::User=root"
    mkdir -p "$scratch/apt/lists/partial" "$scratch/apt/cache/archives/partial" "$scratch/packages" "$scratch/sysroot"
    : >"$scratch/apt/status"
    if [ -n "$release" ]; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$scratch/apt/list"
        state="$state -o Dir::Etc::sourcelist=$scratch/apt/list -o Dir::Etc::sourceparts=-"
    fi
    cd "$scratch/packages" || exit 1
    # $state is unquoted so that it is split into words.
    apt-get $state -qq update >"$scratch/log" 2>&1 && apt-get $state -qq download "$@" >>"$scratch/log" 2>&1 ||
        skip "Debian's packages for $machine cannot be downloaded: $(tail -n 1 "$scratch/log")"
    for package in *.deb; do say dpkg -x "$package" "$scratch/sysroot"; done
    find "$scratch/sysroot" -xtype l -delete # links to absolute paths are broken here; the archives suffice
}
[ -d "$scratch/sysroot" ] || case $release in
trixie) unpack libc6 libgcc-s1 libgomp1 libcmocka0 libcmocka-dev libjansson4 libjansson-dev libsleef3 libsleef-dev zlib1g \
    zlib1g-dev libutf8proc3 libutf8proc-dev ;;
*) unpack libcmocka0 libcmocka-dev libjansson4 libjansson-dev libsleef3 libsleef-dev zlib1g zlib1g-dev libutf8proc2 \
    libutf8proc-dev ;;
esac
libraries=$scratch/sysroot/usr/lib/$triple
if [ -n "$release" ]; then # libraries of a newer release need its libc and loader
    ln -sfn usr/lib "$scratch/sysroot/lib"
    system=$scratch/sysroot
fi

emulator="$qemu;-L;$system;-E;LD_LIBRARY_PATH=$libraries;-E;OMP_NUM_THREADS=2"
say cmake -S "$root" -B "$scratch/build" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor \
    -DCMAKE_C_COMPILER=$triple-gcc -DCMAKE_FIND_ROOT_PATH="$scratch/sysroot" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator" -DRAPT_WERROR=ON -DRAPT_PERF=OFF -DRAPT_MPI=OFF -DRAPT_ICU=OFF -DRAPT_INSTALL=OFF
grep '^-- rapt ' "$scratch/log"
say cmake --build "$scratch/build" --parallel 2
cd "$scratch/build" || exit 1
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2

rm -rf "$scratch/files"
mkdir "$scratch/files" "$scratch/files/here" "$scratch/files/there" || exit 1
same=0
"$files" "$scratch/files/here" "$data" || exit 1
$qemu -L "$system" -E LD_LIBRARY_PATH="$libraries" "$scratch/build/tests/cross_files" "$scratch/files/there" "$data" >"$scratch/log" ||
    { cat "$scratch/log"; same=1; }
diff -r "$scratch/files/here" "$scratch/files/there" || { echo "$machine writes other files than the machine here"; same=1; }

ctest -j2 --no-tests=error --output-on-failure -R "^($layers)/" -E "^($slow)\$" >"$scratch/log" 2>&1
status=$?
[ $status = 0 ] || grep -v ' Passed \| Start ' "$scratch/log"
if grep RegularExpression "$scratch/log"; then status=1; fi # CMake silently ignores a pattern with ten groups
grep 'tests passed' "$scratch/log"
echo "not run, since they take minutes under emulation: $slow"
exit $((status + same))
