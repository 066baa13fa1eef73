# packages.sh - sourced by demo.sh, lessons.sh and tests/run.sh: installs missing packages, configures, builds.
# Messages go to standard error; only the programs use standard output.

# A package, or package/command if any package that provides the command will do.
build_packages="gcc/cc libc6-dev cmake/cmake libjansson-dev libsleef-dev libutf8proc-dev zlib1g-dev libzstd-dev libicu-dev"
command -v ninja >/dev/null || command -v make >/dev/null ||
    build_packages="$build_packages ninja-build"

say() { echo "$*" >&2; }

# is_there package[/command]
is_there() {
    case $1 in
    */*) command -v "${1#*/}" >/dev/null ;;
    *) dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed ;;
    esac
}

# need package[/command]...: installs missing packages with apt.
need() {
    missing=
    if ! command -v dpkg-query >/dev/null; then
        say "This is not Debian: if the build fails, install the equivalents of: $*"
        return 0
    fi
    for package in "$@"; do
        is_there "$package" || missing="$missing ${package%%/*}"
    done
    [ -n "$missing" ] || return 0

    install="apt-get install -y --no-install-recommends$missing"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        as_root=sudo
    else
        say "Some packages are missing. As root, run:"
        say "    apt-get update && $install"
        exit 1
    fi
    say "Installing$missing"
    # Unquoted on purpose: $install is a command and its arguments.
    { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive $install; } >&2 || {
        say "apt-get failed: apt-get update && $install"
        exit 1
    }
}

# want package[/command]...: the same for packages without which the build only leaves something out.
want() {
    (need "$@") || say "Going on without them."
}

# configure folder option...: an existing build folder keeps its generator.
configure() {
    folder=$1
    shift
    if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        set -- -G Ninja "$@"
    fi
    cmake -S "$root" -B "$folder" "$@" >&2
}

# build folder option...: on all cores.
build() {
    folder=$1
    shift
    cmake --build "$folder" --parallel "$(nproc)" "$@" >&2
}

# prepare target: missing packages, build/ (new: without tests), the target in it.
prepare() {
    need $build_packages
    if [ -f "$root/build/CMakeCache.txt" ]; then
        configure "$root/build"
    else
        configure "$root/build" -DRAPT_TESTS=OFF
    fi
    build "$root/build" --target "$1"
}
