/* room.c - how much scratch attention needs. All of it is linear in queries + keys. */
#include "attention/problem.h"

struct bounds { /* of a problem */
    size_t heads, key_heads, key_width, value_width, batch;
    size_t query_rows, key_rows; /* of all sequences */
    size_t longest;              /* queries of one */
    size_t team;
};

/* *sum += a * b * c */
static bool grow(size_t *sum, size_t a, size_t b, size_t c)
{
    size_t ab, abc;
    return rapt__times(a, b, &ab) && rapt__times(ab, c, &abc) && rapt__plus(*sum, abc, sum);
}

/* Floats, rounded up to whole vectors. */
static size_t whole(size_t floats)
{
    return (floats + LANES - 1) / LANES * LANES;
}

static bool room_for(const struct bounds *b, struct room *room)
{
    size_t kw = whole(b->key_width), vw = whole(b->value_width);
    size_t chunks = b->heads / b->key_heads * ((b->longest + ATTEND_ROWS - 1) / ATTEND_ROWS);
    *room = (struct room){.chunks = (int)chunks};
    bool fits = grow(&room->panels, b->key_rows / LANES + b->batch, b->key_heads, 1) &&
                grow(&room->keys, room->panels, LANES, b->key_width) &&
                grow(&room->values, room->panels, LANES, vw);
    if (!fits) return false;
    room->wild = whole((room->panels + sizeof(float) - 1) / sizeof(float));
    room->attend = whole(rapt__attend_scratch((int)b->key_width, (int)b->value_width));
    room->chunk = whole(ATTEND_SLOTS * (b->key_width + b->value_width) +
                        ATTEND_ROWS * (2 * kw + vw + 2) + LANES);
    room->block = whole(ATTEND_BLOCK * (b->key_width + b->value_width + 2 * kw + vw) +
                        2 * ATTEND_ROWS * ATTEND_BLOCK);
    return grow(&room->forward, room->keys + room->wild, 1, 1) &&
           grow(&room->forward, room->values, 1, 1) &&
           grow(&room->forward, room->attend, b->team, 1) &&
           grow(&room->backward, room->chunk, chunks, b->team) &&
           grow(&room->backward, room->block, b->team, 1);
}

static int longest(const int *starts, int batch, int full)
{
    if (!starts) return full;
    int most = 0;
    for (int b = 0; b < batch; b++)
        if (starts[b + 1] - starts[b] > most) most = starts[b + 1] - starts[b];
    return most;
}

bool rapt__room(const rapt_attention *a, int team_size, struct room *room)
{
    const struct bounds b = {.heads = (size_t)a->heads,
                             .key_heads = (size_t)rapt__key_heads_of(a),
                             .key_width = (size_t)a->key_width,
                             .value_width = (size_t)a->value_width,
                             .batch = (size_t)a->batch,
                             .query_rows = (size_t)rapt__query_rows(a),
                             .key_rows = (size_t)rapt__key_rows(a),
                             .longest = (size_t)longest(a->query_starts, a->batch, a->queries),
                             .team = (size_t)team_size};
    return room_for(&b, room);
}

static size_t bytes_of(const struct room *room)
{
    size_t floats = room->forward > room->backward ? room->forward : room->backward, bytes;
    return rapt__times(floats, sizeof(float), &bytes) ? bytes : 0;
}

size_t rapt__attention_scratch(const rapt_attention *a, int team_size)
{
    struct room room;
    return rapt__room(a, team_size, &room) ? bytes_of(&room) : 0;
}

size_t rapt__attention_room(int heads, int key_heads, int width, int batch, int query_rows,
                            int key_rows, int threads)
{
    struct room room;
    const struct bounds b = {.heads = (size_t)heads,
                             .key_heads = (size_t)(key_heads ? key_heads : heads),
                             .key_width = (size_t)width,
                             .value_width = (size_t)width,
                             .batch = (size_t)batch,
                             .query_rows = (size_t)query_rows,
                             .key_rows = (size_t)key_rows,
                             .longest = (size_t)query_rows,
                             .team = (size_t)rapt__team_size(threads)};
    return room_for(&b, &room) ? bytes_of(&room) : 0;
}
