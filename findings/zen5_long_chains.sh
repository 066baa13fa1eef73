#!/bin/sh
# zen5_long_chains.sh - on Zen 5, a loop whose iterations are independent but long chains of dependent instructions runs at less
# than half of the speed of the same operations in several loops, which store each intermediate result and load it again. The
# results are equal. One link is a polynomial of degree 12 and a division, for 16 floats; six links take 32 ns in one loop and 14 ns
# in six. A likely reason, which this script does not show: the instructions that wait for their operands fill the schedulers, so
# that few iterations overlap, although the reorder buffer has room for more.
#
# Guess before the run: iterations are independent, so the processor overlaps them, and one loop is as fast as its instructions
# can be issued. Several loops store and load more, and are slower.
# Needs: gcc for x86-64 and a processor with Zen 5 (family 26). Installs nothing.
set -eu
if ! grep -q 'vendor_id.*AuthenticAMD' /proc/cpuinfo || ! grep -q 'cpu family.*: 26$' /proc/cpuinfo; then
    echo "skipped: the processor is not a Zen 5"
    exit 0
fi
case $(gcc -dumpmachine 2>/dev/null) in
x86_64-*) ;;
*)
    echo "skipped: gcc for x86-64 is not installed"
    exit 0
    ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/chains.c" <<'END_OF_C'
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef float vec __attribute__((vector_size(64)));
enum { COUNT = 32, DEGREE = 12 };

static vec all(float s)
{
    return (vec){0} + s;
}

static inline vec link_of(vec x)
{
    vec p = all(0.25f);
    for (int i = 0; i < DEGREE; i++) p = p * x + all(0.25f * (float)(i + 2));
    return all(1) / p;
}

static __attribute__((noinline)) void one_loop(const vec *x, vec *y)
{
    for (int i = 0; i < COUNT; i++) {
        vec v = x[i];
        for (int k = 0; k < LINKS; k++) v = link_of(v);
        y[i] = v;
    }
}

static __attribute__((noinline)) void a_loop_per_link(const vec *x, vec *y)
{
    for (int i = 0; i < COUNT; i++) y[i] = link_of(x[i]);
    for (int k = 1; k < LINKS; k++)
        for (int i = 0; i < COUNT; i++) y[i] = link_of(y[i]);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns nanoseconds per vector. */
static double fastest(void (*run)(const vec *, vec *), const vec *x, vec *y)
{
    double best = 1;
    for (int sample = 0; sample < 500; sample++) {
        double start = now();
        for (int i = 0; i < 100; i++) run(x, y);
        double time = (now() - start) / (100 * COUNT);
        if (time < best) best = time;
    }
    return 1e9 * best;
}

int main(void)
{
    static vec x[COUNT], y[COUNT], z[COUNT];
    for (int i = 0; i < COUNT * 16; i++) ((float *)x)[i] = (float)i / 1000;
    double one = fastest(one_loop, x, y), several = fastest(a_loop_per_link, x, z);
    printf("%d links: %.1f ns in one loop, %.1f ns in a loop per link, ratio %.2f, results %s\n", LINKS, one, several, one / several,
           memcmp(y, z, sizeof y) ? "differ" : "equal");
    return memcmp(y, z, sizeof y) || !(LINKS == 1 ? one < 1.25 * several : one > 1.5 * several);
}
END_OF_C
echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), family 26; $(gcc --version | head -n 1)"
echo "expected: one loop is as fast as several, or faster"
status=0
for links in 1 6; do
    gcc -O3 -mavx512f "-DLINKS=$links" -o "$folder/chains" "$folder/chains.c"
    "$folder/chains" || status=1
done
[ "$status" = 0 ] && echo "seen: as found" || echo "seen: something else than when this was written"
exit "$status"
