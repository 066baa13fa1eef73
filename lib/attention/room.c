/* room.c - how much scratch attention needs. All of it is linear in queries + keys, but for
   location-aware scores. */
#include "attention/prepare.h"

bool rapt__grow(size_t *sum, size_t a, size_t b, size_t c)
{
    size_t ab, abc, more;
    if (!rapt__times(a, b, &ab) || !rapt__times(ab, c, &abc)) return false;
    return rapt__plus(abc, LANES - 1, &more) && rapt__plus(*sum, more / LANES * LANES, sum);
}

/* Floats, rounded up to whole vectors. */
static size_t whole(size_t floats)
{
    return (floats + LANES - 1) / LANES * LANES;
}

static bool tiles_room(const struct bounds *b, struct room *room)
{
    size_t kw = whole(b->width), vw = whole(b->value_width);
    size_t chunks =
        b->heads / b->key_heads * ((b->longest_queries + ATTEND_ROWS - 1) / ATTEND_ROWS);
    *room = (struct room){.chunks = (int)chunks};
    size_t panels = (b->longest_keys + LANES - 1) / LANES;
    size_t wild = (panels + sizeof(float) - 1) / sizeof(float);
    bool fits = rapt__grow(&room->keys, panels, LANES, b->width) &&
                rapt__grow(&room->values, panels, LANES, vw) &&
                rapt__grow(&room->packed, room->keys, 1, 1) &&
                rapt__grow(&room->packed, room->values, 1, 1) &&
                rapt__grow(&room->packed, wild, 1, 1);
    if (!fits) return false;
    room->attend = whole(rapt__attend_scratch((int)b->width, (int)b->value_width));
    room->chunk =
        whole(ATTEND_SLOTS * (b->width + b->value_width) + ATTEND_ROWS * (2 * kw + vw + 2) + LANES);
    room->block = whole(ATTEND_BLOCK * (b->width + b->value_width + 2 * kw + vw) +
                        2 * ATTEND_ROWS * ATTEND_BLOCK);
    if (rapt__relative_wanted(b->a) &&
        !rapt__grow(&room->relative, b->heads, b->query_rows + b->key_rows, 1))
        return false;
    return rapt__plus(room->packed, room->attend, &room->member) &&
           rapt__grow(&room->forward, room->member, b->team, 1) &&
           rapt__grow(&room->backward, room->chunk, chunks, b->team) &&
           rapt__grow(&room->backward, room->block, b->team, 1) &&
           rapt__grow(&room->backward, room->relative, 1, 1);
}

static int longest(const int *starts, int batch, int full)
{
    if (!starts) return full;
    int most = 0;
    for (int b = 0; b < batch; b++)
        if (starts[b + 1] - starts[b] > most) most = starts[b + 1] - starts[b];
    return most;
}

struct bounds rapt__bounds(const rapt_attention *a, int team_size)
{
    return (struct bounds){.a = a,
                           .heads = (size_t)a->heads,
                           .key_heads = (size_t)rapt__key_heads_of(a),
                           .width = (size_t)rapt__score(a->score)->width(a),
                           .value_width = (size_t)a->value_width,
                           .batch = (size_t)a->batch,
                           .query_rows = (size_t)rapt__query_rows(a),
                           .key_rows = (size_t)rapt__key_rows(a),
                           .most_queries = (size_t)a->queries,
                           .most_keys = (size_t)a->keys,
                           .longest_queries =
                               (size_t)longest(a->query_starts, a->batch, a->queries),
                           .longest_keys = (size_t)longest(a->key_starts, a->batch, a->keys),
                           .team = (size_t)team_size};
}

bool rapt__room(const rapt_attention *a, int team_size, struct room *room)
{
    const struct bounds b = rapt__bounds(a, team_size);
    return tiles_room(&b, room);
}

static bool core_room(const struct bounds *b, size_t *floats)
{
    struct room room;
    if (!rapt__in_tiles(b->a)) return rapt__rows_room(b, floats);
    if (!tiles_room(b, &room)) return false;
    *floats = room.forward > room.backward ? room.forward : room.backward;
    return true;
}

/* Bytes of what is prepared and of the core behind it; 0: more than fits. */
static size_t bytes_of(const struct bounds *b)
{
    struct prepared prepared = {0};
    size_t floats, core, bytes;
    bool fits = rapt__prepared_layout(b, NULL, &prepared, &floats) && core_room(b, &core) &&
                rapt__plus(floats, core, &floats) && rapt__times(floats, sizeof(float), &bytes);
    return fits ? bytes : 0;
}

size_t rapt__attention_scratch(const rapt_attention *a, int team_size)
{
    const struct bounds b = rapt__bounds(a, team_size);
    return bytes_of(&b);
}

/* Of rows of all sequences, those of the longest, where that is said. */
static int least(int most, int rows)
{
    return most > 0 && most < rows ? most : rows;
}

size_t rapt__attention_room_like(const rapt_attention *like, int batch, int query_rows,
                                 int key_rows)
{
    rapt_attention none = *like;
    none.batch = 0, none.query_starts = none.key_starts = NULL;
    struct bounds b = rapt__bounds(&none, rapt__team_size(like->threads));
    b.batch = (size_t)batch;
    b.query_rows = (size_t)query_rows, b.key_rows = (size_t)key_rows;
    b.most_queries = b.longest_queries = (size_t)least(like->queries, query_rows);
    b.most_keys = b.longest_keys = (size_t)least(like->keys, key_rows);
    return bytes_of(&b);
}
