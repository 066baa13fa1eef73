# openblas.sh - sourced to make OpenBLAS, which PyTorch may use too, as fast as it can be. Unsets variables that
# slow it down. An OpenBLAS older than the processor falls back to the kernels of Prescott; it is then set to those
# for the vectors of this machine. $build is the build folder, which must contain perf_peak.
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
