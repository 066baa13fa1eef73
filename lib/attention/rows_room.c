/* rows_room.c - where the general way through attention keeps things: keys of all sequences and
   key heads, shared, and for each member rows of keys. Only location-aware scores, which go
   backward through time, keep one head's queries x keys. */
#include "attention/rows.h"
#include "attention/score.h"

static float *take(struct row_room *m, size_t a, size_t b, size_t c)
{
    size_t at = m->used;
    if (!rapt__grow(&m->used, a, b, c)) m->overflow = true;
    return m->base && !m->overflow ? m->base + at : NULL;
}

/* Keys of the longest sequence, in whole panels; at least one. */
static size_t room_of(const struct bounds *b)
{
    return (b->longest_keys / LANES + 1) * LANES;
}

static bool additive(const struct bounds *b)
{
    return b->a->score == RAPT_SCORE_ADDITIVE || b->a->score == RAPT_SCORE_LOCATION_AWARE;
}

static size_t channels_of(const struct bounds *b)
{
    return b->a->score == RAPT_SCORE_LOCATION_AWARE ? (size_t)b->a->learned.channels : 0;
}

static size_t taps_of(const struct bounds *b)
{
    return b->a->score == RAPT_SCORE_LOCATION_AWARE ? (size_t)b->a->learned.taps : 0;
}

static struct row_space space_of(struct row_room *m, const struct bounds *b, bool backward)
{
    size_t room = room_of(b), channels = channels_of(b), padded = room + 2 * taps_of(b) + LANES;
    struct row_space s = {.room = (int)room};
    s.x = take(m, room, 1, 1);
    s.p = take(m, room, 1, 1);
    s.weights = take(m, room, 1, 1);
    s.dropped = take(m, room, 1, 1);
    s.gauss = take(m, room, 1, 1);
    s.more = take(m, room, 1, 1);
    if (backward) s.slope = take(m, room, 1, 1);
    if (backward && additive(b)) s.hidden = take(m, room, b->width, 1);
    if (channels == 0) return s;
    s.before = take(m, padded, 1, 1);
    s.features = take(m, room, channels, 1);
    s.sums = take(m, room, b->width, 1);
    return s;
}

struct row_space rapt__row_space(struct row_room *m, const struct bounds *b)
{
    return space_of(m, b, false);
}

struct rows_forward_room rapt__rows_forward_room(struct row_room *m, const struct bounds *b,
                                                 int rank)
{
    struct rows_forward_room r = {0};
    size_t panels = b->key_rows / LANES + b->batch, one = 0;
    if (!rapt__grow(&one, panels, b->key_heads, 1)) m->overflow = true;
    r.panels = take(m, one, LANES, b->width);
    for (int i = 0; i <= rank; i++) {
        r.space = space_of(m, b, false);
        r.before = take(m, room_of(b), 1, 1);
    }
    return r;
}

struct rows_backward_room rapt__rows_backward_room(struct row_room *m, const struct bounds *b,
                                                   int rank)
{
    size_t room = room_of(b), channels = channels_of(b), padded = room + 2 * taps_of(b);
    struct row_room part = {0};
    struct rows_backward_room r = {0};
    if (additive(b)) take(&part, b->width, 1, 1);
    r.part.relative = part.used;
    if (rapt__relative_wanted(b->a)) take(&part, b->most_queries + b->most_keys, 1, 1);
    r.part.filters = part.used;
    take(&part, channels, taps_of(b), 1);
    r.part.feature_weight = part.used;
    take(&part, channels, b->width, 1);
    r.part.size = part.used;
    m->overflow |= part.overflow;
    r.parts = take(m, r.part.size, b->heads, b->batch);
    for (int i = 0; i <= rank; i++) {
        r.space = space_of(m, b, true);
        r.key_panels = take(m, room, b->width, 1);
        r.value_panels = take(m, room, b->value_width, 1);
        if (additive(b)) r.dkeys = take(m, room, b->width, 1);
        r.dz = take(m, room, 1, 1);
        r.dnext = take(m, room, 1, 1);
        r.dq = take(m, b->width, 1, 1);
        if (channels == 0) continue;
        r.turned = take(m, room, channels + LANES, 1);
        r.dfilters = take(m, channels, taps_of(b) + LANES, 1);
        r.dfeature_weight = take(m, b->width, channels + LANES, 1);
        r.dsums = take(m, b->width, room, 1);
        r.dfeatures = take(m, channels, padded, 1);
        r.weights = take(m, b->longest_queries, room, 1);
    }
    return r;
}

bool rapt__rows_room(const struct bounds *b, size_t *floats)
{
    struct row_room forward = {0}, backward = {0};
    rapt__rows_forward_room(&forward, b, (int)b->team - 1);
    rapt__rows_backward_room(&backward, b, (int)b->team - 1);
    *floats = forward.used > backward.used ? forward.used : backward.used;
    return !forward.overflow && !backward.overflow;
}
