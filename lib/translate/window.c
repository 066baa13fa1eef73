/* window.c - translates a window of consecutive sentences: sorts them by length, translates them in
   batches of similar length, and searches again for translations that have faults. The results are
   tokens, scores and, if requested, log-probabilities and alignments. Windows bound the memory
   needed to translate many sentences. */
#include "translate/translate.h"

#include <math.h>
#include <string.h>

enum { MAX_ALIGNMENT_FLOATS = 1 << 22 }; /* limit for windows of more than one sentence */

/* Returns the number of searches that a batch needs: one for all hypotheses, or one for each
   sample. */
static int searches_of(const struct window *w)
{
    return w->job->options.temperature > 0 ? w->job->options.nbest : 1;
}

/* Orders sentences by the limits of their translations, then by length, both in descending order,
   and then by index. A batch takes its limit from its first sentence. Sentences with terms follow
   the others, and sentences that are not translated (count <= 0) come last. */
static int by_length(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct sentence *a = *(struct sentence *const *)x, *b = *(struct sentence *const *)y;
    const bool terms_a = a->term_count > 0, terms_b = b->term_count > 0;
    if (a->count > 0 && b->count > 0 && terms_a != terms_b) return terms_a - terms_b;
    if (a->limit != b->limit) return a->limit > b->limit ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->number - b->number;
}

/* Sets *next to an empty sentence whose arrays begin where those of `s` end. */
static void sentence_after(const struct window *w, const struct sentence *s, struct sentence *next)
{
    size_t nbest = (size_t)w->job->options.nbest, count = s->count > 0 ? (size_t)s->count : 0;
    *next = (struct sentence){.number = s->number + 1, .start = s->start + count};
    next->prefix = s->prefix + (size_t)s->prefix_count;
    next->out = s->out + nbest * (size_t)s->limit;
    size_t columns = s->aligned ? rapt__alignment_columns(w->t, s) : 0;
    next->alignment = s->alignment + nbest * columns * ((size_t)s->limit + 1);
}

/* Tokenizes and sorts the sentences. Sets *end to the indices at which the arrays of the last
   sentence end. The window ends before a sentence that would make the alignments exceed
   MAX_ALIGNMENT_FLOATS. */
static rapt_status tokenize_all(struct window *w, struct sentence *end, rapt_message *why)
{
    *end = (struct sentence){0};
    for (int i = 0; i < w->count; i++) {
        struct sentence *s = &w->sentences[i];
        *s = *end;
        s->aligned = w->job->call.alignments != 0 &&
                     (!w->job->call.aligned || w->job->call.aligned[w->before + (size_t)i]);
        rapt_status status = rapt__window_tokenize(w, i, s, why);
        if (status) return status;
        w->order[i] = s;
        sentence_after(w, s, end);
        if (i == 0 || end->alignment <= MAX_ALIGNMENT_FLOATS) continue;
        *end = *s;
        w->count = i;
    }
    rapt__sort(w->order, (size_t)w->count, sizeof *w->order, by_length, NULL);
    return RAPT_OK;
}

/* ---- search ---- */

/* Copies an alignment [rows][s->count] to the alignment of a translation, which always has a column
   for the end token. */
static void keep_alignment(struct window *w, const struct sentence *s, const float *from,
                           size_t rank, size_t rows)
{
    size_t keys = (size_t)s->count, columns = rapt__alignment_columns(w->t, s);
    float *to = w->alignments_out + s->alignment + rank * ((size_t)s->limit + 1) * columns;
    for (size_t r = 0; r < rows; r++) {
        memcpy(to + r * columns, from + r * keys, keys * sizeof *to);
        if (columns > keys) to[r * columns + keys] = 0;
    }
}

/* Returns the index of a result of sentence i in the arrays of a batch. The arrays hold the results
   search by search, and within each search, sentence by sentence. `of` numbers the hypotheses of
   the sentence across all searches. */
static size_t result_of(const struct window *w, int i, size_t of)
{
    const struct search_batch *b = &w->batch;
    return searches_of(w) > 1 ? of * (size_t)b->size + (size_t)i
                              : (size_t)i * (size_t)w->job->options.nbest + of;
}

static const float *alignment_of(const struct window *w, const struct sentence *s, int i, size_t of,
                                 int longest)
{
    const struct search_batch *b = &w->batch;
    size_t rows = (size_t)longest + 1, before = (size_t)b->starts[i];
    size_t columns = searches_of(w) > 1
                         ? of * (size_t)b->starts[b->size] + before
                         : (size_t)w->job->options.nbest * before + of * (size_t)s->count;
    return b->alignments + columns * rows;
}

/* Returns the rank of a hypothesis. The hypotheses of a single search are already sorted. A sample
   ranks after all samples with a higher score, and after earlier samples with the same score. */
static size_t rank_of(const struct window *w, int i, size_t of)
{
    const float *scores = w->batch.scores;
    size_t rank = 0;
    if (searches_of(w) == 1) return of;
    const float own = scores[result_of(w, i, of)];
    for (size_t n = 0; n < (size_t)searches_of(w); n++) {
        const float other = scores[result_of(w, i, n)];
        rank += n < of ? other >= own : other > own;
    }
    return rank;
}

/* Copies the results of sentence *s, which is sentence `i` of the batch, from the batch's arrays,
   whose rows have room for `longest` tokens. */
static void keep_results(struct window *w, const struct sentence *s, int i, int longest)
{
    const struct search_batch *b = &w->batch;
    size_t nbest = (size_t)w->job->options.nbest, limit = (size_t)s->limit;
    for (size_t of = 0; of < nbest; of++) {
        size_t rank = rank_of(w, i, of), from = result_of(w, i, of);
        size_t to = (size_t)s->number * nbest + rank;
        w->counts[to] = b->counts[from];
        w->ended[to] = b->ended[from];
        w->met[to] = b->met[from];
        w->scores[to] = b->scores[from];
        if (b->counts[from] < 0) continue;
        size_t count = (size_t)b->counts[from];
        memcpy(w->out + s->out + rank * limit, b->out + from * (size_t)longest,
               count * sizeof *w->out);
        if (w->job->call.log_probabilities)
            memcpy(w->logs + s->out + rank * limit, b->logs + from * (size_t)longest,
                   (count + (b->ended[from] != 0)) * sizeof *w->logs);
        if (s->aligned) keep_alignment(w, s, alignment_of(w, s, i, of, longest), rank, count + 1);
    }
}

/* ---- callbacks for rapt_generate: they convert source indices to text indices and call the
   caller's callbacks ---- */

/* Converts the index of a source in the current batch to an index into the caller's texts. */
static int index_of(const struct window *w, int source)
{
    return (int)(w->before + (size_t)w->order[w->first + source]->number);
}

static int on_token(void *user, int source, int32_t id, float log_probability)
{
    struct window *w = user;
    const struct translate_job *job = w->job;
    bool stops = job->call.token(job->user, index_of(w, source), id, log_probability) != 0;
    w->stopped = w->stopped || stops; /* tokens may still be reported after a stop */
    return stops;
}

static void on_logits(void *user, int source, const int32_t *ids, int count, float *logits,
                      int vocab)
{
    const struct window *w = user;
    w->job->call.logits(w->job->user, index_of(w, source), ids, count, logits, vocab);
}

static int on_stop(void *user)
{
    struct window *w = user;
    bool stops = w->job->call.stop(w->job->user) != 0;
    w->stopped = w->stopped || stops;
    return stops;
}

/* ---- a batch ---- */

/* Copies sentences order[first] .. order[first + n - 1] into the arrays of a batch. */
static rapt_status fill_batch(struct window *w, int first, int n)
{
    struct search_batch *b = &w->batch;
    struct term_store *terms = &w->memory.batch_terms;
    rapt_status status = RAPT_OK;
    b->starts[0] = b->given_starts[0] = b->term_starts[0] = 0;
    b->any_aligned = false;
    terms->count = terms->phrases = terms->tokens = 0;
    for (int i = 0; i < n && !status; i++) {
        struct sentence *s = w->order[first + i];
        memcpy(b->ids + b->starts[i], w->ids + s->start, sizeof *b->ids * (size_t)s->count);
        b->starts[i + 1] = b->starts[i] + s->count;
        if (s->prefix_count)
            memcpy(b->given + b->given_starts[i], w->given + s->prefix,
                   sizeof *b->given * (size_t)s->prefix_count);
        b->given_starts[i + 1] = b->given_starts[i] + s->prefix_count;
        b->numbers[i] = w->job->call.first + w->before + (uint64_t)s->number;
        b->aligned[i] = s->aligned;
        b->any_aligned = b->any_aligned || s->aligned;
        s->begun = true;
        status = rapt__batch_terms(w, s);
        b->term_starts[i + 1] = terms->count;
    }
    b->size = n;
    w->first = first;
    return status;
}

/* Generates the hypotheses of search `number` of a batch. */
static rapt_status search_batch(struct window *w, int number, rapt_generate_options *o,
                                rapt_message *why)
{
    rapt_session *session = rapt__window_session(w, w->order[w->first]);
    struct search_batch *b = &w->batch;
    const size_t first = (size_t)number * (size_t)b->size, longest = (size_t)o->max_length;
    const rapt_tokens source = {.batch = b->size, .ids = b->ids, .starts = b->starts};
    rapt_generate_outputs out = {.size = sizeof out,
                                 .ids = b->out + first * longest,
                                 .counts = b->counts + first,
                                 .scores = b->scores + first,
                                 .ended = b->ended + first,
                                 .terms = b->met + first};
    if (b->any_aligned)
        out.alignments =
            b->alignments + (size_t)number * (size_t)b->starts[b->size] * (longest + 1);
    if (w->job->call.log_probabilities) out.log_probabilities = b->logs + first * longest;
    for (int i = 0; w->stopped && i < b->size; i++) out.counts[i] = -1, out.scores[i] = -INFINITY;
    if (w->stopped) return RAPT_OK;
    if (o->temperature > 0) o->seed = rapt__mix(w->job->options.seed, (uint64_t)number);
    session->record = b->record;
    if (o->coverage_penalty <= 0) session->record.wanted = b->aligned;
    rapt_status status = rapt_generate(session, &source, o, &out, why);
    session->record = (struct alignment_record){0};
    return status;
}

/* Searches for translations of sentences order[first] .. order[first + n - 1], with at most
   `longest` tokens each, under the constraints in *more. The results remain in w->batch. */
static rapt_status search_all(struct window *w, int first, int n, int longest,
                              const struct constraint *more, rapt_message *why)
{
    rapt_translator *t = w->t;
    const rapt_translator_options *options = &w->job->options;
    const rapt_translate_call *call = &w->job->call;
    const struct search_batch *b = &w->batch;
    const bool sampled = options->temperature > 0;
    const bool named = t->target_first >= 0; /* the first token is forced, as in HF */
    const bool has_terms = w->order[first]->term_count > 0;
    rapt_status status = fill_batch(w, first, n);
    if (status) return rapt__fail(why, status, "no memory for the terms of a glossary");
    const struct term_store *store = &w->memory.batch_terms;
    const rapt_tokens phrases = {
        .batch = store->phrases, .ids = store->ids, .starts = store->starts};
    const rapt_terms terms = {.size = sizeof terms,
                              .sources = b->term_starts,
                              .terms = store->terms,
                              .phrases = &phrases,
                              .words = t->words};
    const struct term_store *texts = &w->memory.suppressed;
    const rapt_tokens suppressed = {
        .batch = texts->phrases, .ids = texts->ids, .starts = texts->starts};
    const struct target_limit rule = rapt__window_rule(w);
    const rapt_tokens given = {.batch = n, .ids = b->given, .starts = b->given_starts};
    rapt_generate_options o = {
        .size = sizeof o,
        .begin = t->begin,
        .end = t->end,
        .max_length = longest,
        .max_ratio = rule.per_source,
        .max_extra = rule.extra,
        .beams = sampled ? 1 : rapt__max(options->beams, has_terms ? TERM_BEAMS : 0),
        .terms = has_terms ? &terms : NULL,
        .nbest = sampled ? 1 : options->nbest,
        .temperature = options->temperature,
        .top_k = options->top_k,
        .top_p = options->top_p,
        .sequences = b->numbers,
        .length_penalty = options->length_penalty,
        .min_length = rapt__max(options->min_length, rapt__max(t->limit.min, more->min_length)),
        .search_rules = t->options.search_rules,
        .shortlist = t->shortlist,
        .no_repeat_ngram =
            more->no_repeat_ngram > 0 ? more->no_repeat_ngram : options->no_repeat_ngram,
        .suppressed = t->suppressed,
        .suppressed_count = t->suppressed_count,
        .suppressed_sequences = texts->phrases > 0 ? &suppressed : NULL,
        .repetition_penalty = options->repetition_penalty,
        .coverage_penalty = options->coverage_penalty,
        .prefix = w->prefixes || named ? &given : NULL,
        .scored_prefix = named,
        .token = call->token ? on_token : NULL,
        .logits = call->logits ? on_logits : NULL,
        .stop = call->stop ? on_stop : NULL,
        .user = w};
    rapt__window_session(w, w->order[first])->ended_only = more->max_length > 0;
    for (int i = 0; !status && i < searches_of(w); i++) status = search_batch(w, i, &o, why);
    return status;
}

static rapt_status translate_batch(struct window *w, int first, int n, rapt_message *why)
{
    const struct constraint none = {0, 0, 0};
    const int longest = w->order[first]->limit;
    rapt_status status = search_all(w, first, n, longest, &none, why);
    for (int i = 0; !status && i < n; i++) keep_results(w, w->order[first + i], i, longest);
    return status;
}

/* Searches again for a translation of sentence order[at], under constraints that exclude the faults
   of its best translation. Sets *better to true if the new best translation has no fault, has at
   least as many glossary terms as the old one, and has an end token if the old one has one. Sets
   *longest to the maximum number of tokens of the new translations. `copies` is the number of the
   sentence's terms that are opaque parts. */
static rapt_status search_again(struct window *w, int at, int *longest, int copies, bool *better,
                                rapt_message *why)
{
    const struct sentence *s = w->order[at];
    const struct search_batch *b = &w->batch;
    const struct constraint more = rapt__fault_constraint(w, s);
    int faults = 0;
    *longest = more.max_length > 0 ? rapt__min(s->limit, more.max_length) : s->limit;
    rapt_status status = search_all(w, at, 1, *longest, &more, why);
    *better = false;
    if (status || w->stopped) return status;
    size_t best = 0;
    while (best + 1 < (size_t)w->job->options.nbest && rank_of(w, 0, best) > 0) best++;
    const size_t from = result_of(w, 0, best),
                 old = (size_t)s->number * (size_t)w->job->options.nbest;
    if (b->counts[from] < 0 || (w->ended[old] && !b->ended[from]) ||
        b->met[from] - copies < w->met[old])
        return RAPT_OK;
    status = rapt__faults_find(w, s, b->out + from * (size_t)*longest, b->counts[from], &faults);
    *better = !status && faults == 0;
    return status ? rapt__fail(why, status, "no memory for a translation") : RAPT_OK;
}

/* Retranslates sentence order[at], because its best translation has faults. Replaces its results if
   the new ones are better; otherwise sets RAPT_FAULT_REMAINS. */
static rapt_status mend(struct window *w, int at, rapt_message *why)
{
    struct sentence *s = w->order[at];
    const struct sentence before = *s;
    const size_t nbest = (size_t)w->job->options.nbest, old = (size_t)s->number * nbest;
    rapt_message reason = {"no memory for the parts of a text"};
    bool better = false;
    int longest = 0;
    rapt_status status = RAPT_OK;
    if (s->faults & RAPT_FAULT_LOST) status = rapt__window_copies(w, s, &reason);
    if (status) return rapt__fail(why, status, "%.300s", reason.text);
    const int copies = s->term_count - before.term_count;
    if (s->faults != RAPT_FAULT_LOST || copies > 0)
        status = search_again(w, at, &longest, copies, &better, why);
    if (status || w->stopped) return status;
    if (better) {
        keep_results(w, s, 0, longest);
        for (size_t i = 0; i < nbest; i++) w->met[old + i] = rapt__max(w->met[old + i] - copies, 0);
    } else {
        *s = before;
        s->faults |= RAPT_FAULT_REMAINS;
    }
    return RAPT_OK;
}

/* Looks for faults in the best translation of each sentence, and retranslates the sentence if there
   are any. */
static rapt_status mend_all(struct window *w, rapt_message *why)
{
    const size_t nbest = (size_t)w->job->options.nbest;
    rapt_status status = RAPT_OK;
    for (int at = 0; !status && !w->stopped && at < w->count; at++) {
        struct sentence *s = w->order[at];
        const size_t best = (size_t)s->number * nbest;
        if (s->count <= 0 || w->counts[best] < 0) continue;
        status = rapt__faults_find(w, s, w->out + s->out, w->counts[best], &s->faults);
        if (status) return rapt__fail(why, status, "no memory for a translation");
        if (s->faults) status = mend(w, at, why);
    }
    return status;
}

rapt_status rapt__window_translate(struct window *w, const struct translate_job *job,
                                   const rapt_text *texts, size_t count, size_t before,
                                   rapt_message *why)
{
    struct sentence end;
    const rapt_text *prefixes = job->call.prefixes;
    *w = (struct window){
        .memory = w->memory, .job = job, .t = job->t, .before = before, .texts = texts + before};
    if (prefixes) w->prefixes = prefixes + before;
    w->count = (int)rapt__min_size(count - before, WINDOW);
    rapt_status status = rapt__window_take_texts(w);
    if (status) return rapt__fail(why, status, "no memory for the tokens of %d texts", w->count);
    status = rapt__window_suppress(w);
    if (status) return rapt__fail(why, status, "no memory for suppressed texts");
    rapt_message reason = {"no memory for their tokens"};
    status = tokenize_all(w, &end, &reason);
    if (status)
        return rapt__fail(why, status, "texts %zu .. %zu: %.300s", before,
                          before + (size_t)w->count - 1, reason.text);
    status = rapt__window_take_results(w, &end);
    if (status) return rapt__fail(why, status, "no memory for %d translations", w->count);
    for (int at = 0, n;
         !status && !w->stopped && at < w->count && (n = rapt__window_batch(w, at)) > 0; at += n)
        status = translate_batch(w, at, n, why);
    if (!status && w->job->call.mend) status = mend_all(w, why);
    return status;
}
