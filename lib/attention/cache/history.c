/* history.c - attention history of each sequence and head, which the next query reads: the weights
   of the last query for location-aware scores (Chorowski et al. 2015, section 2.2), or the sum of
   all weights for coverage scores (See, Liu and Manning 2017, section 2.3). */
#include "attention/cache/cache.h"

#include <string.h>

void rapt__history_layout(struct attention_history *l, int sequences, int heads, size_t floats,
                          struct arena *arena)
{
    size_t n = (size_t)sequences, H = (size_t)heads;
    *l = (struct attention_history){.sequences = sequences, .heads = heads};
    l->offsets = rapt__arena_take(arena, n + 1, sizeof *l->offsets);
    l->counts = rapt__arena_take(arena, n * H, sizeof(int));
    l->old_counts = rapt__arena_take(arena, n * H, sizeof(int));
    l->weights = rapt__arena_floats(arena, floats, H);
    l->old = rapt__arena_floats(arena, floats, H);
}

void rapt__history_start(struct attention_history *l, const int *capacity)
{
    l->offsets[0] = 0;
    for (int i = 0; i < l->sequences; i++) l->offsets[i + 1] = l->offsets[i] + (size_t)capacity[i];
    memset(l->counts, 0, (size_t)l->sequences * (size_t)l->heads * sizeof(int));
}

void rapt__history_reorder(struct team *team, struct attention_history *l, const int *parents)
{
    size_t begin, end, heads = (size_t)l->heads;
    while (rapt__team_part(team, (size_t)l->sequences * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            int i = (int)(n / heads), h = (int)(n % heads), from = parents[i];
            int count = l->counts[(size_t)from * heads + n % heads];
            l->old_counts[n] = count;
            if (count)
                memcpy(rapt__history_at(l, l->old, i, h), rapt__history_at(l, l->weights, from, h),
                       (size_t)count * sizeof *l->old);
        }
    rapt__team_barrier(team);
    if (team->rank == 0) {
        float *weights = l->old;
        int *counts = l->old_counts;
        l->old = l->weights, l->weights = weights;
        l->old_counts = l->counts, l->counts = counts;
    }
    rapt__team_barrier(team);
}
