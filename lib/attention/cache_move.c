/* cache_move.c - sequence i of a cache becomes what sequence parents[i] was, in place.

   A sequence that nobody else still wants to read may be overwritten; copying into it may set
   another one free. What is left then are rings, in which everyone wants the next one's: a ring
   is turned panel by panel through a small buffer. */
#include "attention/cache.h"

#include <string.h>

/* Writes the moves (to, from) in an order in which they can be made. A ring is a run of moves
   whose first has to = -1 - sequence. Returns how many. */
static int plan(struct cache *c, const int *parents)
{
    int count = 0, n = c->sequences, *moves = c->moves, *readers = c->readers;
    memset(readers, 0, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++)
        if (parents[i] != i) readers[parents[i]]++;
    for (int i = 0; i < n; i++)
        for (int to = i; parents[to] != to && readers[to] == 0;) {
            moves[2 * count] = to, moves[2 * count + 1] = parents[to], count++;
            readers[to] = -1;
            to = parents[to];
            readers[to]--;
        }
    for (int i = 0; i < n; i++)
        for (int to = i; parents[to] != to && readers[to] > 0; to = parents[to]) {
            moves[2 * count] = to == i ? -1 - to : to, moves[2 * count + 1] = parents[to], count++;
            readers[to] = -1;
        }
    return count;
}

enum { PIECE = 256 };

/* Floats [at, at + n) of the same panel of all sequences. */
struct piece {
    float *base;  /* of the cache's keys or values */
    size_t panel; /* floats of a panel */
    int g, p;     /* key head; panel of the sequence */
    size_t at, n;
};

static float *piece_of(const struct cache *c, const struct piece *x, int sequence)
{
    return x->base + (rapt__cache_panel(c, sequence, x->g) + (size_t)x->p) * x->panel + x->at;
}

static void move_piece(const struct cache *c, int count, const struct piece *x)
{
    float kept[PIECE];
    int start = -1; /* of the ring */
    for (int m = 0; m < count; m++) {
        int to = c->moves[2 * m], from = c->moves[2 * m + 1];
        bool begins = to < 0;
        if (begins) start = to = -1 - to;
        if (begins && x->p * LANES < c->counts[to])
            memcpy(kept, piece_of(c, x, to), x->n * sizeof *kept);
        if (x->p * LANES < c->counts[from])
            memcpy(piece_of(c, x, to), from == start ? kept : piece_of(c, x, from),
                   x->n * sizeof *kept);
    }
}

static void move_panel(const struct cache *c, int count, int g, int p)
{
    struct piece keys = {c->keys, (size_t)LANES * (size_t)c->key_width, g, p, 0, 0};
    struct piece values = {c->values, (size_t)LANES * (size_t)rapt__padded(c->value_width), g, p, 0,
                           0};
    struct piece *both[] = {&keys, &values};
    for (int i = 0; i < 2; i++)
        for (struct piece *x = both[i]; x->at < x->panel; x->at += x->n) {
            x->n = x->panel - x->at < PIECE ? x->panel - x->at : PIECE;
            move_piece(c, count, x);
        }
    for (int m = 0, start = -1, kept = 0; m < count; m++) {
        int to = c->moves[2 * m], from = c->moves[2 * m + 1];
        if (to < 0) {
            start = to = -1 - to;
            if (p * LANES < c->counts[to]) kept = c->wild[rapt__cache_panel(c, to, g) + (size_t)p];
        }
        if (p * LANES >= c->counts[from]) continue;
        c->wild[rapt__cache_panel(c, to, g) + (size_t)p] =
            (unsigned char)(from == start ? kept
                                          : c->wild[rapt__cache_panel(c, from, g) + (size_t)p]);
    }
}

static void move_counts(struct cache *c, int count)
{
    for (int m = 0, start = -1, kept = 0; m < count; m++) {
        int to = c->moves[2 * m], from = c->moves[2 * m + 1];
        if (to < 0) start = to = -1 - to, kept = c->counts[to];
        c->counts[to] = from == start ? kept : c->counts[from];
    }
}

void rapt__cache_move(struct team *team, struct cache *cache, const int *parents)
{
    size_t begin, end, heads = (size_t)cache->key_heads;
    int most = 0;
    for (int i = 0; i < cache->sequences; i++)
        if (cache->counts[i] > most) most = cache->counts[i];
    if (team->rank == 0) cache->readers[cache->sequences] = plan(cache, parents);
    rapt__team_barrier(team);
    int count = cache->readers[cache->sequences];
    rapt__team_share(team, (size_t)((most + LANES - 1) / LANES) * heads, 1, &begin, &end);
    for (size_t n = begin; n < end; n++)
        move_panel(cache, count, (int)(n % heads), (int)(n / heads));
    rapt__team_barrier(team);
    if (team->rank == 0) move_counts(cache, count);
    rapt__team_barrier(team);
}
