# openblas.sh - sourced: sees to it that OpenBLAS, which PyTorch may use too, is as fast as it can be.
# Variables that slow it down are unset; where it is older than the processor and takes the kernels of its
# oldest one, Prescott, it is told to take those for the vectors that there are. $build: the build folder,
# with perf_peak in it.
# shellcheck shell=sh disable=SC2154
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
about=$("$build/bin/perf_peak" --check 2>/dev/null | grep '^# ')
case $about in
*"openblas: core Prescott"*)
    case $about in
    *"isa: avx512"*) export OPENBLAS_CORETYPE=SkylakeX ;;
    *"isa: avx2"*) export OPENBLAS_CORETYPE=Haswell ;;
    esac
    ;;
esac
