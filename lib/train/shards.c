/* shards.c - implements sharded steps. The batch of a sharded step is divided into numbered shards.
   Their gradients are added along a binary tree, so the additions are the same no matter which
   machines compute the shards:

       g(first, count) = g(first, count/2) + g(first + count/2, count/2)

   A gradient is stored until its sibling's gradient has been computed; then their sum replaces
   both. A trainer has log2(shards) + 1 blocks. Between calls, blocks that hold no gradient are
   zero. t->gradients is one of these zero blocks as long as there is one. Once all shards have been
   added, it holds their sum. */
#include "train/train.h"

#include <math.h>
#include <string.h>

int rapt__shard_levels(int shards)
{
    int levels = 0;
    while (shards >> (levels + 1)) levels++;
    return levels;
}

/* Returns true if `count` is a power of two, which means that the shards form a complete tree. */
static bool is_complete(int count)
{
    return count > 0 && (count & (count - 1)) == 0;
}

rapt_status rapt__shards_check(const char *name, int shards, int min, rapt_message *why)
{
    if (shards >= min && shards <= SHARDS_MAX && (!shards || is_complete(shards))) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %d; it must be a power of two, at most %d",
                      name, shards, SHARDS_MAX);
}

/* With many shards per machine, ranges begin and end at multiples of `unit` shards, because an
   arbitrary range may consist of more subtrees than a trainer has blocks. */
rapt_status rapt_shards_range(int shards, int machines, int machine, int *first, int *end,
                              rapt_message *why)
{
    enum { PIECES = 8 }; /* minimum number of units per machine, if there are enough shards */
    if (!first || !end)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", first ? "end" : "first");
    rapt_status status = rapt__shards_check("shards", shards, 1, why);
    if (!status) status = rapt__int_check("machines", machines, 1, INT32_MAX, why);
    if (!status) status = rapt__int_check("machine", machine, 0, machines - 1, why);
    if (status) return status;
    int unit = 1;
    while (machines > 1 && machines <= shards / (2 * unit * PIECES)) unit *= 2;
    long long units = shards / unit;
    *first = (int)(machine * units / machines) * unit;
    *end = (int)((machine + 1) * units / machines) * unit;
    return RAPT_OK;
}

/* ---- the tree ---- */

struct join_work {
    float *to, *from; /* computes to += from unless `to` is NULL, then zeroes `from` */
    size_t floats;
};

static void work_on_join(struct team *team, void *argument)
{
    const struct join_work *w = argument;
    size_t begin, end;
    rapt__team_share(team, w->floats, LANES, &begin, &end);
    for (size_t i = begin; w->to && i < end; i++) w->to[i] += w->from[i];
    memset(w->from + begin, 0, (end - begin) * sizeof *w->from);
}

static void join_blocks(const rapt_trainer *t, float *to, float *from, size_t floats)
{
    struct join_work w = {to, from, floats};
    rapt__team_run(t->limits.threads, work_on_join, &w);
}

/* Returns true if two subtrees are the halves of a larger one. */
static bool siblings(const rapt_subtree *left, const rapt_subtree *right)
{
    return left->count == right->count && left->first + left->count == right->first &&
           left->first % (2 * left->count) == 0;
}

/* Replaces the subtrees left and left + 1, which are siblings, with their sum. The floats at and
   after early.from have already been added. */
static void join_subtrees(rapt_trainer *t, int left)
{
    struct shards *s = &t->shards;
    rapt_subtree *l = &s->held[left], *r = l + 1;
    join_blocks(t, l->gradient, r->gradient, s->early.from);
    s->spare[s->spares++] = r->gradient;
    l->count *= 2;
    memmove(r, r + 1, (size_t)(--s->count - left - 1) * sizeof *r);
}

/* Stores t->gradients as the gradient of a shard and joins siblings. Then sets t->gradients to the
   sum if all shards have been added, otherwise to a zeroed block if there is one. */
static void hold_shard(rapt_trainer *t, int shard)
{
    struct shards *s = &t->shards;
    int at = s->count++;
    for (; at > 0 && s->held[at - 1].first > shard; at--) s->held[at] = s->held[at - 1];
    s->held[at] = (rapt_subtree){shard, 1, t->gradients};
    for (bool more = true; more;) {
        if (at > 0 && siblings(&s->held[at - 1], &s->held[at])) at--;
        more = at + 1 < s->count && siblings(&s->held[at], &s->held[at + 1]);
        if (more) join_subtrees(t, at);
    }
    if (s->held[0].count == t->limits.shards)
        t->gradients = s->held[0].gradient;
    else if (s->spares)
        t->gradients = s->spare[--s->spares];
}

/* Returns the stored subtree whose gradient is `block` or that contains `shard`, or NULL if there
   is none. */
static const rapt_subtree *holder(const rapt_trainer *t, const float *block, int shard)
{
    for (int i = 0; i < t->shards.count; i++) {
        const rapt_subtree *h = &t->shards.held[i];
        if (h->gradient == block || (shard >= h->first && shard < h->first + h->count)) return h;
    }
    return NULL;
}

void rapt__shards_forget(rapt_trainer *t)
{
    struct shards *s = &t->shards;
    for (int i = 0; i < s->count; i++) {
        float *block = s->held[i].gradient;
        if (block == t->gradients) continue;
        join_blocks(t, NULL, block, t->model->layout.floats);
        s->spare[s->spares++] = block;
    }
    s->count = 0;
}

/* ---- joining layers whose gradients are final while others are still being computed ---- */

/* Plans the joins that will follow the shard, as a chain of blocks. If a later shard has already
   been stored, the joins do not form a chain of additions to earlier blocks, and all joins are made
   at the end. */
static void plan_early(rapt_trainer *t, int shard, rapt_ready_fn *ready, void *user)
{
    struct shards *s = &t->shards;
    const rapt_subtree *last = s->held + s->count;
    struct early *e = &s->early;
    *e = (struct early){.user = user,
                        .chain = {t->gradients},
                        .tree = {shard, 1, t->gradients},
                        .from = t->model->layout.floats};
    if (s->count && last[-1].first > shard) return;
    e->ready = ready;
    while (last-- > s->held && siblings(last, &e->tree)) {
        e->chain[++e->links] = last->gradient;
        e->tree = (rapt_subtree){last->first, 2 * last->count, last->gradient};
    }
}

void rapt__shards_final(struct team *team, void *argument, size_t from)
{
    rapt_trainer *t = argument;
    struct early *e = &t->shards.early;
    size_t until = e->from, begin, end;
    while (rapt__team_part(team, until - from, LANES, &begin, &end))
        for (int link = 0; link < e->links; link++) {
            float *x = e->chain[link] + from, *to = e->chain[link + 1] + from;
            for (size_t i = begin; i < end; i++) to[i] += x[i];
            memset(x + begin, 0, (end - begin) * sizeof *x);
        }
    rapt__team_barrier(team);
    if (team->rank == 0) {
        e->from = from;
        e->ready(e->user, &e->tree, from, until);
    }
}

/* Reports the remaining floats, which became final when the shard was stored. */
static void tell_rest(rapt_trainer *t, int shard, rapt_ready_fn *ready, void *user)
{
    const rapt_subtree *tree = holder(t, NULL, shard);
    size_t until = t->shards.early.from;
    t->shards.early = (struct early){.from = t->model->layout.floats};
    if (ready) ready(user, tree, 0, until);
}

/* ---- public calls ---- */

static rapt_status check_shard(const rapt_trainer *t, int shard, rapt_message *why)
{
    if (!t->limits.shards)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the trainer was created with limits.shards 0");
    rapt_status status = rapt__int_check("shard", shard, 0, t->limits.shards - 1, why);
    if (status) return status;
    if (rapt__gradient_waits(t))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "gradients from rapt_train_gradient are waiting for rapt_train_step");
    if (holder(t, NULL, shard))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "shard %d has already been computed for this step", shard);
    if (holder(t, t->gradients, -1))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "no memory for shard %d: %d subtrees that are not siblings are held; "
                          "compute the shards of one rapt_shards_range in ascending order",
                          shard, t->shards.count);
    return RAPT_OK;
}

rapt_status rapt_train_shard(rapt_trainer *t, int shard, const rapt_tokens *source,
                             const rapt_tokens *target, rapt_shard *record, rapt_message *why)
{
    return rapt_train_shard_early(t, shard, source, target, record, NULL, NULL, why);
}

rapt_status rapt_train_shard_early(rapt_trainer *t, int shard, const rapt_tokens *source,
                                   const rapt_tokens *target, rapt_shard *record,
                                   rapt_ready_fn *ready, void *user, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    struct loss sums = {0};
    rapt_status status = rapt__struct_check(record, "rapt_shard", why);
    if (!status) status = check_shard(t, shard, why);
    if (status) return status;
    plan_early(t, shard, ready, user);
    if (source || target)
        status = rapt__trainer_batch(t, source, target, true, shard, &sums, why);
    else
        rapt__guide_end(t, 0), rapt__coverage_end(t, 0);
    if (status) return t->shards.early.ready = NULL, status;
    hold_shard(t, shard);
    tell_rest(t, shard, ready, user);
    const rapt_shard own = {.size = sizeof own,
                            .shard = shard,
                            .loss = sums.loss,
                            .likelihood = sums.likelihood,
                            .tokens = sums.tokens,
                            .correct = sums.correct,
                            .coverage = t->coverage_sum};
    return rapt__struct_write(record, &own, sizeof own, "rapt_shard", why);
}

int rapt_train_shard_sums(const rapt_trainer *t, rapt_subtree *list, int capacity)
{
    if (!t) return 0;
    for (int i = 0; list && i < t->shards.count && i < capacity; i++) list[i] = t->shards.held[i];
    return t->shards.count;
}

void rapt_train_shards_discard(rapt_trainer *t)
{
    if (!t || rapt__gradient_waits(t)) return;
    rapt__shards_forget(t);
    join_blocks(t, NULL, t->gradients, t->model->layout.floats);
}

/* ---- sums of subtrees computed anywhere ---- */

enum { SUM_FLOATS = 4096 }; /* floats added at a time; few enough that sums stay in the cache */

/* Sums floats [at, at + floats) of the gradients of `count` shards, starting with the subtree
   *list, and advances *list past their subtrees. Returns the sum, which is stored in the first
   subtree's gradient. */
/* NOLINTNEXTLINE(misc-no-recursion): at most ten levels deep, for 1,024 shards. */
static float *sum_node(const rapt_subtree **list, int count, size_t at, size_t floats)
{
    if ((*list)->count == count) return (*list)++->gradient + at;
    float *left = sum_node(list, count / 2, at, floats);
    const float *right = sum_node(list, count / 2, at, floats);
    for (size_t i = 0; i < floats; i++) left[i] += right[i];
    return left;
}

/* Checks that the subtrees are complete and cover all shards in order. */
static rapt_status check_cover(int shards, const rapt_subtree *list, int count, rapt_message *why)
{
    int next = 0;
    for (int i = 0; i < count; next += list[i++].count) {
        const rapt_subtree *s = &list[i];
        if (!s->gradient) return rapt__fail(why, RAPT_BAD_ARGUMENT, "list[%d].gradient is NULL", i);
        if (!is_complete(s->count) || s->count > shards - next || s->first != next ||
            next % s->count)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "list[%d] has shards %d .. %lld, which are not a complete subtree that "
                "begins with shard %d",
                i, s->first, (long long)s->first + s->count - 1, next);
    }
    if (next < shards)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "list covers %d of %d shards", next, shards);
    return RAPT_OK;
}

rapt_status rapt_shards_sum(int shards, const rapt_subtree *list, int count, size_t floats,
                            rapt_message *why)
{
    if (!list) return rapt__fail(why, RAPT_BAD_ARGUMENT, "list is NULL");
    rapt_status status = rapt__shards_check("shards", shards, 1, why);
    if (!status) status = check_cover(shards, list, count, why);
    for (size_t at = 0; !status && at < floats; at += SUM_FLOATS) {
        const rapt_subtree *from = list;
        sum_node(&from, shards, at, rapt__min_size(floats - at, SUM_FLOATS));
    }
    return status;
}

/* ---- the step ---- */

/* Checks and sums all records. Sets *bad to the first shard whose loss is not finite, or to
   `shards` if there is none. */
static rapt_status add_records(int shards, const rapt_shard *records, rapt_report *sums, int *bad,
                               rapt_message *why)
{
    const char *at = (const char *)records;
    rapt_status status = rapt__struct_check(records, "rapt_shard", why);
    size_t stride = status ? 0 : records->size;
    *bad = shards;
    for (int k = 0; !status && k < shards; k++, at += stride) {
        rapt_shard r;
        status = rapt__struct_read(&r, sizeof r, at, "rapt_shard", why);
        if (status) return status;
        if (r.shard != k || r.reserved || r.tokens < 0 || r.correct < 0)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "records[%d] is not a record of shard %d: shard %d, reserved %d, "
                              "tokens %lld, correct %lld",
                              k, k, r.shard, r.reserved, r.tokens, r.correct);
        if (!isfinite(r.loss) && *bad == shards) *bad = k;
        sums->loss += r.loss;
        sums->likelihood += r.likelihood;
        sums->tokens += r.tokens;
        sums->correct += r.correct;
        sums->coverage += r.coverage;
    }
    return status;
}

/* Abandons a step whose loss is not finite, as rapt_train_gradient does. */
static rapt_status drop_shards(rapt_trainer *t, int shard, rapt_message *why)
{
    rapt_train_shards_discard(t);
    t->state.calls += t->limits.shards;
    return rapt__fail(why, RAPT_NOT_FINITE, "the loss of shard %d is infinite or NaN", shard);
}

rapt_status rapt_train_shards_step(rapt_trainer *t, const rapt_shard *records, rapt_report *report,
                                   rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    int shards = t->limits.shards, bad;
    rapt_report sums = {0};
    rapt_status status = report ? rapt__struct_check(report, "rapt_report", why) : RAPT_OK;
    if (!status && (!shards || rapt__gradient_waits(t)))
        status =
            rapt__fail(why, RAPT_BAD_ARGUMENT, "%s",
                       shards ? "gradients from rapt_train_gradient are waiting for rapt_train_step"
                              : "the trainer was created with limits.shards 0");
    if (!status) status = add_records(shards, records, &sums, &bad, why);
    if (status) return status;
    if (bad < shards) return drop_shards(t, bad, why);
    t->tokens = sums.tokens;
    status = rapt__step_check(t, why);
    if (status) return t->tokens = 0, status;
    t->sums = sums;
    t->state.calls += shards;
    rapt__mean_loss_update(t, sums.loss, sums.tokens);
    status = rapt__trainer_step(t, report, why);
    rapt__shards_forget(t);
    return status;
}
