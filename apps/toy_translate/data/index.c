/* index.c - makes the index of the pairs of a part: their places, lengths and digests, and the ids
   of the first ones. Each thread takes the next segment and appends its part of the index in the
   order of the segments, so that the index does not depend on the number of threads or ranks. */
#include "data.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { IN_ORDER = 1 << 16, ONE = 1 << 10 }; /* bytes per read: of all pairs in order, of one pair */

/* ---- joins the indices that the ranks made of their own segments ----
   Afterwards all ranks have the index of all pairs, in order, and the ids of the first ones, as
   many as every rank may hold. */

struct skipped_pairs {
    size_t count, first; /* number of pairs, and line of the first one */
};
struct share { /* what a rank has made from its segments */
    int code;
    uint64_t count;        /* pairs */
    uint64_t ids, max_ids; /* token ids held, and the maximum number */
    struct skipped_pairs skipped;
    uint64_t words; /* bytes of the list of seen words; 0 if there are too many */
};

struct shares {
    const struct exchange all;
    struct share *of;   /* [ranks] */
    size_t *pairs;      /* [ranks + 1] rank r made the pairs pairs[r] .. pairs[r + 1] - 1 */
    size_t *ids;        /* [ranks + 1] and holds the ids ids[r] .. ids[r + 1] - 1 */
    size_t *bytes;      /* [ranks + 1] offsets in the array being joined */
    size_t count, rank; /* number of ranks, and this rank */
};

/* Joins an array that has the elements of this rank at its beginning. */
static int join_parts(struct shares *s, void *array, const size_t *starts, size_t size)
{
    char *data = array;
    size_t own = starts[s->rank + 1] - starts[s->rank];
    if (array == NULL) return EXIT_OK;
    if (own > 0) memmove(data + starts[s->rank] * size, data, own * size);
    for (size_t r = 0; r <= s->count; r++) s->bytes[r] = starts[r] * size;
    return exchange_parts(&s->all, data, s->bytes);
}

/* Exchanges the shares, so that all ranks come to the same conclusions. */
static int exchange_shares(struct shares *s, struct share *share)
{
    s->of[s->rank] = *share;
    for (size_t r = 0; r <= s->count; r++) s->bytes[r] = r * sizeof *s->of;
    int code = exchange_parts(&s->all, s->of, s->bytes);
    if (code != EXIT_OK) return code;
    *share = (struct share){.max_ids = UINT64_MAX};
    for (size_t r = 0; r < s->count; r++) {
        const struct share *one = &s->of[r];
        if (share->code == EXIT_OK) share->code = one->code;
        if (share->skipped.count == 0) share->skipped.first = one->skipped.first;
        share->skipped.count += one->skipped.count;
        if (one->max_ids < share->max_ids) share->max_ids = one->max_ids;
        s->pairs[r + 1] = s->pairs[r] + one->count;
    }
    return share->code;
}

static int join_pairs(struct shares *s, struct examples *examples)
{
    int code = EXIT_OK;
    for (int i = 0; i < 2 && code == EXIT_OK; i++)
        code = join_parts(s, examples->where[i], s->pairs, sizeof *examples->where[i]);
    if (code == EXIT_OK) code = join_parts(s, examples->source, s->pairs, sizeof *examples->source);
    if (code == EXIT_OK) code = join_parts(s, examples->target, s->pairs, sizeof *examples->target);
    if (code == EXIT_OK)
        code = join_parts(s, examples->digests, s->pairs, sizeof *examples->digests);
    examples->count = s->pairs[s->count];
    return code;
}

/* Decides how many examples are held: all before the first one that its rank does not hold or that
   does not fit. */
static void agree_held(struct shares *s, struct examples *examples, uint64_t max_ids)
{
    size_t n = 0, used = 0;
    bool more = true;
    for (size_t r = 0; r < s->count; r++) {
        size_t first = used;
        for (; more && n < s->pairs[r + 1]; n += more) {
            size_t count = (size_t)examples->source[n] + examples->target[n];
            more = used + count <= first + s->of[r].ids && used + count <= max_ids;
            if (more) used += count;
        }
        s->ids[r + 1] = used;
    }
    examples->held = n;
}

static int join_ids(struct shares *s, struct examples *examples)
{
    size_t all = s->ids[s->count];
    size_t space = all > examples->ids_count ? all : examples->ids_count;
    examples->ids = xreallocarray(examples->ids, space, sizeof *examples->ids);
    int code = join_parts(s, examples->ids, s->ids, sizeof *examples->ids);
    examples->ids = xreallocarray(examples->ids, all, sizeof *examples->ids);
    examples->ids_count = examples->ids_capacity = all;
    return code;
}

/* Sends the seen words to rank 0, which writes them. Ranks take turns, since there may be many
   words. */
static int join_words(struct shares *s, struct seen *seen, char *list)
{
    const struct ranks *ranks = s->all.ranks;
    if (s->rank > 0 && list != NULL)
        return ranks_transfer(ranks, &(struct transfer){0, true, list, s->of[s->rank].words, 0}, 1);
    int code = EXIT_OK;
    for (size_t r = 1; r < s->count && s->rank == 0 && code == EXIT_OK; r++) {
        size_t size = s->of[r].words;
        char *words = size > 0 ? xcalloc(size, 1) : NULL;
        if (size > 0)
            code = ranks_transfer(ranks, &(struct transfer){(int)r, false, words, size, 0}, 1);
        if (code == EXIT_OK) seen_add_list(seen, words);
        free(words);
    }
    return code;
}

/* Joins the indices of all ranks: on return, examples and *share are those of all ranks, in order,
   and `seen`, if not NULL, has the words of all ranks on rank 0. Returns EXIT_OK, or the exit code
   of a rank that failed. */
static int index_join(struct examples *examples, struct share *share, struct seen *seen)
{
    size_t count = (size_t)examples->ranks->count;
    struct shares s = {.all = {.ranks = examples->ranks},
                       .of = xcalloc(count, sizeof *s.of),
                       .pairs = xcalloc(count + 1, sizeof *s.pairs),
                       .ids = xcalloc(count + 1, sizeof *s.ids),
                       .bytes = xcalloc(count + 1, sizeof *s.bytes),
                       .count = count,
                       .rank = (size_t)examples->ranks->rank};
    char *list = seen != NULL && s.rank > 0 ? seen_list(seen) : NULL;
    share->count = examples->count;
    share->ids = examples->ids_count;
    share->max_ids = examples->max_ids;
    share->words = list != NULL ? strlen(list) + 1 : 0;
    int code = exchange_shares(&s, share);
    if (code == EXIT_OK) code = join_pairs(&s, examples);
    if (code == EXIT_OK) agree_held(&s, examples, share->max_ids);
    if (code == EXIT_OK) code = join_ids(&s, examples);
    if (code == EXIT_OK && seen != NULL) code = join_words(&s, seen, list);
    free(list);
    free(s.of);
    free(s.pairs);
    free(s.ids);
    free(s.bytes);
    return code;
}

/* ---- makes the index of the segments of this rank ---- */

struct entry {
    uint64_t where[2];
    uint32_t source, target, digest;
};

/* The index of one segment. */
struct made {
    struct entry *entries;
    size_t count, capacity;
    struct ids ids; /* of all pairs of the segment; unused if they cannot be held */
    struct skipped_pairs skipped;
};

struct job {
    struct examples *examples;
    const struct part *part;
    struct seen *seen; /* or NULL */
    pthread_mutex_t lock;
    pthread_cond_t appended;
    size_t next, turn, end; /* segments: the next to take, the next to append, and the end */
    struct share share;
};

/* ---- one segment, by one thread ---- */

static void add_ids(struct ids *to, const struct ids *from)
{
    if (to->capacity - to->count < from->count) {
        to->capacity += to->capacity / 2 + from->count + 1024;
        to->ids = xreallocarray(to->ids, to->capacity, sizeof *to->ids);
    }
    memcpy(to->ids + to->count, from->ids, from->count * sizeof *from->ids);
    to->count += from->count;
}

static void add_entry(struct made *made, const struct pair_reader *reader,
                      const struct encoded *pair)
{
    if (made->count == made->capacity) {
        made->capacity += made->capacity / 2 + 256;
        made->entries = xreallocarray(made->entries, made->capacity, sizeof *made->entries);
    }
    made->entries[made->count++] =
        (struct entry){.where = {reader->position.at[0], reader->position.at[1]},
                       .source = (uint32_t)pair->source.count,
                       .target = (uint32_t)pair->target.count,
                       .digest = reader_digest(reader)};
}

struct worker {
    struct pair_reader reader;
    struct encoded pair;
    struct made made;
    struct seen seen;
};

static void make_pair(const struct job *job, struct worker *w, bool keep)
{
    const struct examples *examples = job->examples;
    if (!encode_pair(&w->pair, examples, &w->reader)) {
        if (w->made.skipped.count++ == 0) w->made.skipped.first = reader_lines(&w->reader);
        return;
    }
    add_entry(&w->made, &w->reader, &w->pair);
    if (keep) add_ids(&w->made.ids, &w->pair.source);
    if (keep) add_ids(&w->made.ids, &w->pair.target);
    if (job->seen != NULL)
        seen_add(&w->seen, examples->vocabulary->source,
                 w->pair.source.ids + examples->frames.source.before_count,
                 (int)(w->pair.source.count - frame_count(&examples->frames.source)));
}

/* Makes the index of a segment. Fails if the hash of its pairs shows that they have changed since
   the files were surveyed. */
static int make_segment(const struct job *job, struct worker *w, size_t segment, bool keep)
{
    const struct part *part = job->part;
    const struct mark *mark = &part->marks[segment];
    bool last = segment + 1 == part->segments, more = true, same = true;
    size_t end = part->single ? mark->pair + 1 : last ? part->pairs : mark[1].pair;
    uint64_t hash = mark->hash;
    int code = EXIT_OK;
    w->made.count = w->made.ids.count = 0;
    w->made.skipped = (struct skipped_pairs){0};
    reader_seek(&w->reader, mark->position);
    for (size_t i = mark->pair; i < end && more && code == EXIT_OK; i++) {
        code = reader_next(&w->reader, &more);
        if (code != EXIT_OK || !more) break;
        hash = reader_hash(hash, &w->reader);
        if (part->single) same = reader_digest(&w->reader) == mark->digest;
        if (i > mark->pair || !mark->held_out) make_pair(job, w, keep);
    }
    if (!part->single) same = hash == (last ? part->end : mark[1].hash);
    if (code == EXIT_OK && !(same && more))
        code = failed("%s changed while it was being read", part->inputs->side[0].name);
    return code;
}

/* ---- all segments of this rank, in order ---- */

static void hold_ids(struct examples *examples, const int32_t *ids, size_t count)
{
    size_t used = examples->ids_count, capacity = examples->ids_capacity;
    if (capacity - used < count) {
        capacity = capacity + capacity / 2 + count + 1024;
        if (capacity > examples->max_ids) capacity = examples->max_ids;
        examples->ids = xreallocarray(examples->ids, capacity, sizeof *examples->ids);
        examples->ids_capacity = capacity;
    }
    memcpy(examples->ids + used, ids, count * sizeof *ids);
    examples->ids_count += count;
}

static void append_segment(struct job *job, const struct made *made, bool kept)
{
    struct examples *examples = job->examples;
    const int32_t *ids = made->ids.ids;
    for (size_t i = 0; i < made->count; i++) {
        const struct entry *e = &made->entries[i];
        size_t n = examples->count++, count = (size_t)e->source + e->target;
        examples->where[0][n] = e->where[0];
        if (examples->where[1] != NULL) examples->where[1][n] = e->where[1];
        examples->source[n] = e->source;
        examples->target[n] = e->target;
        examples->digests[n] = e->digest;
        if (kept && examples->held == n && examples->max_ids - examples->ids_count >= count) {
            hold_ids(examples, ids, count);
            examples->held = n + 1;
        }
        if (kept) ids += count;
    }
    struct skipped_pairs *skipped = &job->share.skipped;
    if (skipped->count == 0) skipped->first = made->skipped.first;
    skipped->count += made->skipped.count;
}

/* Takes the next segment. Returns false after the last one, or if a segment has failed. */
static bool take_segment(struct job *job, size_t *segment, bool *keep)
{
    pthread_mutex_lock(&job->lock);
    bool more = job->next < job->end && job->share.code == EXIT_OK;
    if (more) *segment = job->next++;
    *keep = job->examples->held == job->examples->count;
    pthread_mutex_unlock(&job->lock);
    return more;
}

/* Appends a segment when its turn has come. Segments are taken in order, so the thread that has the
   next segment to append never waits, and threads cannot deadlock. */
static void give_segment(struct job *job, const struct worker *w, size_t segment, int code,
                         bool kept)
{
    pthread_mutex_lock(&job->lock);
    while (job->turn != segment) pthread_cond_wait(&job->appended, &job->lock);
    if (code == EXIT_OK && job->share.code == EXIT_OK) append_segment(job, &w->made, kept);
    if (job->share.code == EXIT_OK) job->share.code = code;
    job->turn++;
    pthread_cond_broadcast(&job->appended);
    pthread_mutex_unlock(&job->lock);
}

static void *index_worker(void *argument)
{
    struct job *job = argument;
    struct worker w = {0};
    size_t segment;
    bool keep;
    int opened = reader_open(&w.reader, job->part->inputs, IN_ORDER);
    while (take_segment(job, &segment, &keep)) {
        int code = opened == EXIT_OK ? make_segment(job, &w, segment, keep) : opened;
        give_segment(job, &w, segment, code, keep);
    }
    if (job->seen != NULL) {
        char *list = seen_list(&w.seen);
        pthread_mutex_lock(&job->lock);
        seen_add_list(job->seen, list);
        pthread_mutex_unlock(&job->lock);
        free(list);
    }
    reader_close(&w.reader);
    encoded_free(&w.pair);
    seen_free(&w.seen);
    free(w.made.entries);
    free(w.made.ids.ids);
    return NULL;
}

/* Uses fewer threads if no more can be started. */
static void run_workers(struct job *job)
{
    int threads = job->examples->threads, started = 0;
    size_t segments = job->end - job->next;
    if ((size_t)threads > segments) threads = (int)segments;
    pthread_t *all = xcalloc(threads > 0 ? (size_t)threads : 1, sizeof *all);
    while (started + 1 < threads && pthread_create(&all[started], NULL, index_worker, job) == 0)
        started++;
    index_worker(job);
    for (int i = 0; i < started; i++) pthread_join(all[i], NULL);
    free(all);
}

/* ---- the whole index ---- */

static void create_index(struct examples *examples, const struct part *part)
{
    size_t count = part->count;
    examples->where[0] = xcalloc(count, sizeof *examples->where[0]);
    if (part->inputs->two) examples->where[1] = xcalloc(count, sizeof *examples->where[1]);
    examples->source = xcalloc(count, sizeof *examples->source);
    examples->target = xcalloc(count, sizeof *examples->target);
    examples->digests = xcalloc(count, sizeof *examples->digests);
}

/* Replaces the offsets of held examples in the file with their offsets in ids. */
static void point_to_ids(struct examples *examples)
{
    uint64_t at = 0;
    for (size_t i = 0; i < examples->held; i++) {
        examples->where[0][i] = at;
        at += (uint64_t)examples->source[i] + examples->target[i];
    }
}

static int report_index(const struct examples *examples, const struct job *job)
{
    const char *name = job->part->inputs->side[0].name;
    struct skipped_pairs skipped = job->share.skipped;
    if (skipped.count > 0)
        print_message("%s:%zu: a sentence has more than %zu tokens; %zu such %s skipped", name,
                      skipped.first, examples->max_tokens, skipped.count,
                      skipped.count == 1 ? "pair is" : "pairs are");
    return examples->count > 0 ? EXIT_OK : failed("%s: no sentence pairs are left", name);
}

int examples_make(struct examples *examples, const struct part *part, struct seen *seen)
{
    const struct ranks *ranks = examples->ranks;
    size_t count = ranks != NULL ? (size_t)ranks->count : 1,
           rank = ranks != NULL ? (size_t)ranks->rank : 0;
    struct job job = {.examples = examples,
                      .part = part,
                      .seen = seen,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .appended = PTHREAD_COND_INITIALIZER,
                      .next = part->segments * rank / count,
                      .end = part->segments * (rank + 1) / count};
    job.turn = job.next;
    create_index(examples, part);
    run_workers(&job);
    examples->own = examples->count;
    int code = count > 1 ? index_join(examples, &job.share, seen) : job.share.code;
    if (code == EXIT_OK) code = report_index(examples, &job);
    if (code == EXIT_OK) point_to_ids(examples);
    if (code == EXIT_OK && examples->held < examples->count)
        code = reader_open(&examples->reader, part->inputs, ONE);
    return code;
}
