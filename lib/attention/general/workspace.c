/* rows_workspace.c - where the general way through attention keeps things: keys of all sequences
   and key heads, shared, and for each member rows of keys. Only location-aware scores, which go
   backward through time, keep one head's queries x keys. */
#include "attention/general/general.h"
#include "attention/score/score.h"

static float *take(struct row_cursor *m, size_t a, size_t b, size_t c)
{
    size_t at = m->used;
    if (!rapt__grow(&m->used, a, b, c)) m->overflow = true;
    return m->base && !m->overflow ? m->base + at : NULL;
}

/* Keys of the longest sequence, in whole panels; at least one. */
static size_t workspace_of(const struct bounds *b)
{
    return (b->longest_keys / LANES + 1) * LANES;
}

static bool additive(const struct bounds *b)
{
    return rapt__score_additive(b->a);
}

static size_t channels_of(const struct bounds *b)
{
    return rapt__score_recurrent(b->a) ? (size_t)b->a->learned.channels : 0;
}

static size_t filter_width_of(const struct bounds *b)
{
    return rapt__score_recurrent(b->a) ? (size_t)b->a->learned.filter_width : 0;
}

static struct row_space space_of(struct row_cursor *m, const struct bounds *b, bool backward)
{
    size_t buffers = workspace_of(b), channels = channels_of(b),
           padded = buffers + 2 * filter_width_of(b) + LANES;
    struct row_space s = {.capacity = (int)buffers};
    s.x = take(m, buffers, 1, 1);
    s.p = take(m, buffers, 1, 1);
    s.weights = take(m, buffers, 1, 1);
    s.dropped = take(m, buffers, 1, 1);
    s.gauss = take(m, buffers, 1, 1);
    s.more = take(m, buffers, 1, 1);
    if (backward) s.slope = take(m, buffers, 1, 1);
    if (backward && additive(b)) s.hidden = take(m, buffers, b->width, 1);
    if (channels == 0) return s;
    s.before = take(m, padded, 1, 1);
    s.features = take(m, buffers, channels, 1);
    s.sums = take(m, buffers, b->width, 1);
    return s;
}

struct row_space rapt__row_space(struct row_cursor *m, const struct bounds *b)
{
    return space_of(m, b, false);
}

struct forward_buffers rapt__forward_buffers(struct row_cursor *m, const struct bounds *b, int rank)
{
    struct forward_buffers r = {0};
    size_t panels = b->key_rows / LANES + b->batch, one = 0;
    if (!rapt__grow(&one, panels, b->key_heads, 1)) m->overflow = true;
    r.panels = take(m, one, LANES, b->width);
    for (int i = 0; i <= rank; i++) {
        r.space = space_of(m, b, false);
        r.before = take(m, workspace_of(b), 1, 1);
    }
    return r;
}

struct backward_buffers rapt__backward_buffers(struct row_cursor *m, const struct bounds *b,
                                               int rank)
{
    size_t buffers = workspace_of(b), channels = channels_of(b),
           padded = buffers + 2 * filter_width_of(b);
    struct row_cursor part = {0};
    struct backward_buffers r = {0};
    if (additive(b)) take(&part, b->width, 1, 1);
    r.part.relative = part.used;
    if (rapt__relative_wanted(b->a)) take(&part, b->max_queries + b->max_keys, 1, 1);
    r.part.filters = part.used;
    take(&part, channels, filter_width_of(b), 1);
    r.part.feature_weight = part.used;
    take(&part, channels, b->width, 1);
    r.part.size = part.used;
    m->overflow |= part.overflow;
    r.parts = take(m, r.part.size, b->heads, b->batch);
    for (int i = 0; i <= rank; i++) {
        r.space = space_of(m, b, true);
        r.key_panels = take(m, buffers, b->width, 1);
        r.value_panels = take(m, buffers, b->value_width, 1);
        if (additive(b)) r.dkeys = take(m, buffers, b->width, 1);
        r.dz = take(m, buffers, 1, 1);
        r.dnext = take(m, buffers, 1, 1);
        r.dq = take(m, b->width, 1, 1);
        if (channels == 0) continue;
        r.transposed = take(m, buffers, channels + LANES, 1);
        r.dfilters = take(m, channels, filter_width_of(b) + LANES, 1);
        r.dfeature_weight = take(m, b->width, channels + LANES, 1);
        r.dsums = take(m, b->width, buffers, 1);
        r.dfeatures = take(m, channels, padded, 1);
        r.weights = take(m, b->longest_queries, buffers, 1);
    }
    return r;
}

bool rapt__general_workspace(const struct bounds *b, size_t *floats)
{
    struct row_cursor forward = {0}, backward = {0};
    rapt__forward_buffers(&forward, b, (int)b->team - 1);
    rapt__backward_buffers(&backward, b, (int)b->team - 1);
    *floats = forward.used > backward.used ? forward.used : backward.used;
    return !forward.overflow && !backward.overflow;
}
