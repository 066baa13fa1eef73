/* shortlist.c - toy_translate shortlist: learns a lexical shortlist from a trained model and
   sentence pairs, by how much of the attention of each target token goes to each source token:

       P(t | s) = sum of attention from t to s / sum of all attention to s */
#include "commands.h"
#include "kit/random.h"
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 16 };        /* sentences per call of the model */
enum { HELD_TOKENS = 1 << 26 }; /* tokens in memory; other pairs are read from the file again */

static const char purpose[] =
    "Learns a lexical shortlist: the likely target tokens of every source token. The model reads "
    "the pairs, and the cross-attention from target tokens to source tokens is summed. The result "
    "is written in Firefox's binary format, for the option --shortlist of other commands. The "
    "report gives the fraction of the pairs' target tokens that are in the shortlists of their "
    "sentences.";

static const char examples_text[] =
    "  toy_translate shortlist -m m.safetensors --data train.tsv --output lex.bin\n"
    "  toy_translate translate -m m.safetensors --shortlist lex.bin input.txt";

struct cell { /* a slot of a hash table with linear probing; free if its weight is 0 */
    int32_t source, target;
    double weight;
};
struct table {
    struct cell *cells; /* [slots], a power of 2 */
    size_t slots, count;
};

struct side { /* one side of the sentences of a call */
    int32_t *ids;
    size_t capacity;
    int starts[SENTENCES + 1];
};

struct learning {
    const char *model_path, *output;
    struct pair_files files;
    int first, best, threads;
    bool json;
    rapt_model *model;
    struct vocabulary vocabulary;
    struct pair_inputs inputs;
    struct part part;
    struct examples examples;
    struct side source, target;
    rapt_session *session;
    struct table table;
    double *sums;   /* [source vocabulary] */
    int32_t end;    /* the end token of sources */
    float *weights; /* [weights_size] of the sentences of a call */
    size_t weights_size;
};

/* ---- the table ---- */

static struct cell *cell_of(const struct table *t, int32_t source, int32_t target)
{
    uint64_t key = (uint64_t)source << 32 | (uint32_t)target;
    size_t slot = (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (t->slots - 1);
    for (;; slot = (slot + 1) & (t->slots - 1)) {
        struct cell *c = &t->cells[slot];
        if (c->weight == 0 || (c->source == source && c->target == target)) return c;
    }
}

static void table_add(struct table *t, int32_t source, int32_t target, double weight)
{
    if (weight <= 0) return;
    if (2 * (t->count + 1) > t->slots) {
        struct table larger = {.slots = t->slots > 0 ? 2 * t->slots : 1024, .count = t->count};
        larger.cells = xcalloc(larger.slots, sizeof *larger.cells);
        for (size_t i = 0; i < t->slots; i++)
            if (t->cells[i].weight > 0)
                *cell_of(&larger, t->cells[i].source, t->cells[i].target) = t->cells[i];
        free(t->cells);
        *t = larger;
    }
    struct cell *c = cell_of(t, source, target);
    t->count += c->weight == 0;
    c->source = source, c->target = target;
    c->weight += weight;
}

/* ---- attention ---- */

static void make_starts(struct side *side, const uint32_t *lengths, int n)
{
    side->starts[0] = 0;
    for (int i = 0; i < n; i++) side->starts[i + 1] = side->starts[i] + (int)lengths[i];
    if (side->capacity >= (size_t)side->starts[n]) return;
    side->capacity = 2 * (size_t)side->starts[n];
    side->ids = xreallocarray(side->ids, side->capacity, sizeof *side->ids);
}

/* Reads examples first .. first + n - 1 into job->source and job->target. */
static int get_examples(struct learning *job, size_t first, int n)
{
    struct examples *e = &job->examples;
    int code = EXIT_OK;
    make_starts(&job->source, e->source + first, n);
    make_starts(&job->target, e->target + first, n);
    for (int i = 0; i < n && code == EXIT_OK; i++)
        code = examples_get(e, first + (size_t)i, job->source.ids + job->source.starts[i],
                            job->target.ids + job->target.starts[i]);
    return code;
}

static rapt_tokens side_tokens(const struct side *side, int n)
{
    return (rapt_tokens){.batch = n, .ids = side->ids, .starts = side->starts};
}

/* Adds the attention of a pair to the table. rows is [target_count][source_count]; row t belongs to
   target token t + 1. */
static void count_pair(struct learning *job, const int32_t *source, int source_count,
                       const int32_t *target, int target_count, const float *rows)
{
    for (int t = 0; t + 2 < target_count; t++, rows += source_count)
        for (int s = 0; s < source_count; s++) {
            if (source[s] == job->end) continue;
            table_add(&job->table, source[s], target[t + 1], (double)rows[s]);
            job->sums[source[s]] += (double)rows[s];
        }
}

static int read_some(struct learning *job, size_t first, int n)
{
    int code = get_examples(job, first, n);
    if (code != EXIT_OK) return code;
    const int *s = job->source.starts, *t = job->target.starts;
    const rapt_tokens source = side_tokens(&job->source, n), target = side_tokens(&job->target, n);
    rapt_message why = {""};
    size_t size = 0;
    for (int i = 0; i < n; i++) size += (size_t)(s[i + 1] - s[i]) * (size_t)(t[i + 1] - t[i]);
    if (size > job->weights_size) {
        job->weights = xreallocarray(job->weights, size, sizeof *job->weights);
        job->weights_size = size;
    }
    if (rapt_encode(job->session, &source, NULL, &why) != RAPT_OK ||
        rapt_decode(job->session, &target, NULL, &why) != RAPT_OK ||
        rapt_session_alignment(job->session, -1, -1, job->weights, &why) != RAPT_OK)
        return failed("%s", why.text);
    const float *rows = job->weights;
    for (int i = 0; i < n; i++) {
        int sources = s[i + 1] - s[i], targets = t[i + 1] - t[i];
        count_pair(job, source.ids + s[i], sources, target.ids + t[i], targets, rows);
        rows += (size_t)sources * (size_t)targets;
    }
    return EXIT_OK;
}

/* Creates a session that is large enough for any SENTENCES consecutive examples. */
static int make_session(struct learning *job)
{
    const struct examples *e = &job->examples;
    rapt_limits limits = {
        .size = sizeof limits, .batch = SENTENCES, .threads = threads_used(job->threads)};
    rapt_message why = {""};
    for (size_t i = 0; i < e->count; i += SENTENCES) {
        int sources = 0, targets = 0;
        for (size_t k = i; k < e->count && k < i + SENTENCES; k++) {
            int length = (int)e->target[k];
            sources += (int)e->source[k], targets += length;
            if (length > limits.target_length) limits.target_length = length;
        }
        if (sources > limits.source_tokens) limits.source_tokens = sources;
        if (targets > limits.target_tokens) limits.target_tokens = targets;
    }
    if (rapt_session_create(&job->session, job->model, &limits, NULL, &why) == RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

static int read_examples(struct learning *job)
{
    int code = make_session(job);
    for (size_t i = 0; code == EXIT_OK && i < job->examples.count; i += SENTENCES) {
        size_t left = job->examples.count - i;
        code = read_some(job, i, left < SENTENCES ? (int)left : SENTENCES);
    }
    return code;
}

/* ---- the shortlist ---- */

static int make_list(const struct learning *job, rapt_shortlist **list)
{
    rapt_lexical_pair *pairs = xcalloc(job->table.count + 1, sizeof *pairs);
    rapt_message why = {""};
    size_t count = 0;
    for (size_t i = 0; i < job->table.slots; i++) {
        const struct cell *c = &job->table.cells[i];
        if (c->weight > 0)
            pairs[count++] = (rapt_lexical_pair){c->source, c->target,
                                                 (float)(c->weight / job->sums[c->source])};
    }
    rapt_status status =
        rapt_shortlist_create(list, pairs, count, job->first, job->best, job->vocabulary.source,
                              job->vocabulary.target, NULL, &why);
    free(pairs);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

static int by_token(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
    return (a > b) - (a < b);
}

/* Reports the share of target tokens that are in the lists of their sentences, and the mean length
   of these lists. */
static int report_coverage(struct learning *job, const rapt_shortlist *list)
{
    int vocab = rapt_shortlist_target_vocab(list), count = 0, code = EXIT_OK;
    int32_t *tokens = xcalloc((size_t)vocab, sizeof *tokens);
    size_t held = 0, all = 0, listed = 0;
    for (size_t i = 0; code == EXIT_OK && i < job->examples.count; i++) {
        rapt_message why = {""};
        code = get_examples(job, i, 1);
        if (code == EXIT_OK &&
            rapt_shortlist_tokens(list, job->source.ids, (size_t)job->source.starts[1], tokens,
                                  vocab, &count, &why) != RAPT_OK)
            code = failed("%s", why.text);
        listed += (size_t)count;
        for (int t = 1; t + 1 < job->target.starts[1] && code == EXIT_OK; t++, all++)
            held += bsearch(&job->target.ids[t], tokens, (size_t)count, sizeof *tokens, by_token) !=
                    NULL;
    }
    free(tokens);
    double share = all > 0 ? 100 * (double)held / (double)all : 100;
    double mean = (double)listed / (double)job->examples.count;
    if (code != EXIT_OK) return code;
    if (job->json)
        print_json(json_pack("{s:I, s:o, s:o}", "pairs", (json_int_t)job->examples.count,
                             "coverage", number(share), "candidates", number(mean)));
    else
        printf("%zu pairs: %.2f %% of the target tokens are listed, with %.1f of %d candidates per "
               "sentence\n",
               job->examples.count, share, mean, vocab);
    return finish_output();
}

static int learn_list(struct learning *job)
{
    rapt_shortlist *list = NULL;
    rapt_message why = {""};
    int code = read_examples(job);
    if (code == EXIT_OK) code = make_list(job, &list);
    if (code == EXIT_OK && rapt_shortlist_write(list, job->output, &why) != RAPT_OK)
        code = failed("%s", why.text);
    if (code == EXIT_OK) code = report_coverage(job, list);
    rapt_shortlist_free(list);
    return code;
}

static int find_pairs(struct learning *job)
{
    uint64_t hash = HASH_EMPTY;
    int code = pair_inputs_open(&job->inputs, &job->files);
    return code == EXIT_OK ? part_survey(&job->part, &job->inputs, &hash) : code;
}

static int find_examples(struct learning *job)
{
    const struct vocabulary *v = &job->vocabulary;
    const struct frames frames = {
        .source = {.after = {rapt_tokenizer_special(v->source, RAPT_TOKEN_END)}, .after_count = 1},
        .target = {.before = {rapt_target_begin(job->model, v->target)},
                   .after = {rapt_tokenizer_special(v->target, RAPT_TOKEN_END)},
                   .before_count = 1,
                   .after_count = 1}};
    job->examples =
        (struct examples){.vocabulary = v,
                          .frames = frames,
                          .max_tokens = (size_t)rapt_model_config(job->model)->positions,
                          .max_ids = HELD_TOKENS,
                          .threads = threads_used(job->threads)};
    return examples_make(&job->examples, &job->part, NULL);
}

static int run_shortlist(struct learning *job)
{
    int code = pair_files_check(&job->files, "shortlist");
    if (code == EXIT_OK && job->model_path == NULL)
        code = usage_error("shortlist: --model is missing");
    if (code == EXIT_OK && job->output == NULL)
        code = usage_error("shortlist: --output is missing");
    if (code == EXIT_OK) code = model_open(&job->model, job->model_path, NULL);
    if (code == EXIT_OK && rapt_model_config(job->model)->kind != RAPT_KIND_ENCODER_DECODER)
        code = failed("%s: not an encoder-decoder model, so it has no cross-attention",
                      job->model_path);
    if (code == EXIT_OK) code = vocabulary_load(&job->vocabulary, job->model);
    if (code == EXIT_OK) code = find_pairs(job);
    if (code == EXIT_OK) code = find_examples(job);
    if (code != EXIT_OK) return code;
    job->end = rapt_tokenizer_special(job->vocabulary.source, RAPT_TOKEN_END);
    job->sums = xcalloc((size_t)rapt_tokenizer_vocab(job->vocabulary.source), sizeof *job->sums);
    return learn_list(job);
}

int command_shortlist(int argc, char **argv)
{
    struct learning job = {.first = 50, .best = 50};
    /* clang-format off */
    struct option_row rows[PAIR_ROWS + 6] = {
        [PAIR_ROWS] =
        model_row(&job.model_path),
        {"output", OPTION_MADE, &job.output, "FILE", "the shortlist to write", 0, 0, 0},
        {"first", OPTION_INTEGER, &job.first, "N", "put the first N tokens of the vocabulary into every list", 0, 1 << 20, 0},
        {"best", OPTION_INTEGER, &job.best, "N", "number of target tokens per source token", 1, 1 << 20, 0},
        threads_row(&job.threads),
        {"json", OPTION_FLAG, &job.json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    pair_rows(&job.files, rows);
    struct command command = {.name = "shortlist",
                              .arguments = "",
                              .purpose = purpose,
                              .examples = examples_text,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) code = run_shortlist(&job);
    rapt_session_free(job.session);
    examples_free(&job.examples);
    part_free(&job.part);
    pair_inputs_close(&job.inputs);
    free(job.source.ids);
    free(job.target.ids);
    vocabulary_free(&job.vocabulary);
    rapt_model_free(job.model);
    free(job.table.cells);
    free(job.sums);
    free(job.weights);
    return code;
}
