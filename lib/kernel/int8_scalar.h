/* int8_scalar.h - products of bytes in plain C, for any machine. */

#define VQ_ARRANGE NULL

enum { VS_FORM = INT8_SCALAR };
enum { VQ_SIZE = 1 };
enum { VS_ROWS = 4, VS_PANELS = 1 }; /* register tile */

typedef struct {
    int32_t v[16];
} vs, vi;
typedef struct {
    int16_t v[4][16]; /* 16 bits wide, because SSE2 can multiply such integers, but not bytes */
} vw;
typedef struct {
    int16_t v[4];
} vq;

static inline vs vs_start(int32_t sum)
{
    (void)sum;
    return (vs){{0}};
}
static inline vw vw_load(const int8_t *p)
{
    vw w;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++) w.v[k][i] = p[4 * i + k];
    return w;
}
static inline vq vq_load(const int8_t *p)
{
    return (vq){{p[0], p[1], p[2], p[3]}};
}
static inline void vs_add(vs *s, vw w, vq q)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 16; i++) s->v[i] += w.v[k][i] * q.v[k];
}
static inline vf vs_float(vs s)
{
    vf x;
    for (int i = 0; i < 16; i++) x.v[i] = (float)s.v[i];
    return x;
}

static inline vi vi_zero(void)
{
    return (vi){{0}};
}
static inline vi vi_add(vi x, vi y)
{
    for (int i = 0; i < 16; i++) x.v[i] += y.v[i];
    return x;
}
static inline vf vi_float(vi x)
{
    vf f;
    for (int i = 0; i < 16; i++) f.v[i] = (float)x.v[i];
    return f;
}
static inline int32_t vi_sum(vi x)
{
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += x.v[i];
    return sum;
}
static inline vi vi_max_magnitude(vi x, vf v)
{
    for (int i = 0; i < 16; i++) {
        int32_t bits = (int32_t)(half_bits_of(v.v[i]) & 0x7fffffff);
        if (bits > x.v[i]) x.v[i] = bits;
    }
    return x;
}
static inline int32_t vi_reduce_max(vi x)
{
    int32_t max = 0;
    for (int i = 0; i < 16; i++)
        if (x.v[i] > max) max = x.v[i];
    return max;
}
/* Truncates, which in C does not depend on the rounding mode, and then rounds according to the
   remainder, which is exact. */
static inline vi vi_nearest(vf v)
{
    vi x;
    for (int i = 0; i < 16; i++) {
        float size = __builtin_fabsf(v.v[i]);
        int32_t whole = (int32_t)size;
        float rest = size - (float)whole;
        whole += rest > 0.5f || (rest == 0.5f && whole % 2);
        x.v[i] = v.v[i] < 0 ? -whole : whole;
    }
    return x;
}
static inline void vi_store(int32_t *p, vi x)
{
    memcpy(p, x.v, sizeof x.v);
}
static inline void vi_store_bytes(int8_t *p, vi x)
{
    for (int i = 0; i < 16; i++) p[i] = (int8_t)x.v[i];
}
static inline void vi_store_groups(int8_t *p, const vi x[4])
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++) p[4 * i + k] = (int8_t)x[k].v[i];
}
