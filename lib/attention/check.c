/* check.c - checks a rapt_attention. The message for RAPT_BAD_ARGUMENT names the first field that
   is out of range, missing or in conflict with another. */
#include "attention/score/score.h"

#include <limits.h>
#include <math.h>

enum { MAX_WIDTH = 1 << 16 };

rapt_status rapt__bad_field(rapt_message *why, const char *field, double value, const char *wanted)
{
    char text[FLOAT_TEXT];
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be %s", field,
                      rapt__number_write(value, text), wanted);
}

static rapt_status check_sizes(const rapt_attention *a, rapt_message *why)
{
    if (a->batch < 0) return rapt__bad_field(why, "batch", a->batch, "0 or more");
    if (a->heads < 1) return rapt__bad_field(why, "heads", a->heads, "1 or more");
    if (a->key_heads < 0 || (a->key_heads > 0 && a->heads % a->key_heads != 0))
        return rapt__bad_field(why, "key_heads", a->key_heads, "0 or a divisor of heads");
    if (a->queries < 0) return rapt__bad_field(why, "queries", a->queries, "0 or more");
    if (a->keys < 0) return rapt__bad_field(why, "keys", a->keys, "0 or more");
    if (a->key_width < 1 || a->key_width > MAX_WIDTH)
        return rapt__bad_field(why, "key_width", a->key_width, "1 to 65536");
    if (a->value_width < 1 || a->value_width > MAX_WIDTH)
        return rapt__bad_field(why, "value_width", a->value_width, "1 to 65536");
    if (a->query_width < 0 || a->query_width > MAX_WIDTH)
        return rapt__bad_field(why, "query_width", a->query_width, "0 to 65536");
    return RAPT_OK;
}

rapt_status rapt__starts_check(const char *field, const int *starts, int batch, int max,
                               rapt_message *why)
{
    if (!starts) return RAPT_OK;
    if (starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[0] is %d; it must be 0", field, starts[0]);
    for (int b = 0; b < batch; b++) {
        if (starts[b + 1] < starts[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[%d] is %d, less than %s[%d], which is %d",
                              field, b + 1, starts[b + 1], field, b, starts[b]);
        if (starts[b + 1] - starts[b] > max)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: sequence %d has %d rows, but at most %d are allowed", field, b,
                              starts[b + 1] - starts[b], max);
    }
    return RAPT_OK;
}

_Static_assert(INT_MAX - ATTEND_BLOCK >= ATTENTION_ROWS,
               "the end of a block after the last row fits into int");

static rapt_status check_rows(const rapt_attention *a, rapt_message *why)
{
    int64_t queries = a->query_starts ? a->query_starts[a->batch] : (int64_t)a->batch * a->queries;
    int64_t keys = a->key_starts ? a->key_starts[a->batch] : (int64_t)a->batch * a->keys;
    if (queries > ATTENTION_ROWS / a->heads)
        return rapt__bad_field(why, "the number of queries in all sequences and heads",
                               (double)queries * a->heads, "at most 2147483519");
    if (keys > ATTENTION_ROWS)
        return rapt__bad_field(why, "the number of keys in all sequences", (double)keys,
                               "at most 2147483519");
    if (a->batch > INT_MAX / a->heads)
        return rapt__bad_field(why, "batch times heads", (double)a->batch * a->heads,
                               "at most 2147483647");
    return RAPT_OK;
}

/* Adds |stride| (count - 1) to *end. Returns false on overflow. */
static bool extend(ptrdiff_t stride, int count, size_t *end)
{
    size_t size = stride < 0 ? 0 - (size_t)stride : (size_t)stride, all;
    return count < 2 || (rapt__times(size, (size_t)count - 1, &all) && rapt__plus(*end, all, end));
}

rapt_status rapt__extent_check(const char *array, const rapt_stride *s, int batch, int heads,
                               int rows, int width, size_t element, rapt_message *why)
{
    size_t end = (size_t)width, bytes;
    bool fits = extend(s->batch, batch, &end) && extend(s->head, heads, &end) &&
                extend(s->row, rows, &end) && rapt__times(end, element, &bytes) &&
                bytes <= PTRDIFF_MAX;
    if (fits || batch == 0 || rows == 0) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: rows and strides exceed the address space",
                      array);
}

static rapt_status check_extents(const rapt_attention *a, rapt_message *why)
{
    const rapt_mask *m = &a->mask;
    int B = a->batch, query_batch = a->query_starts ? 1 : B, key_batch = a->key_starts ? 1 : B;
    int T = a->query_starts ? rapt__query_rows(a) : a->queries;
    int S = a->key_starts ? rapt__key_rows(a) : a->keys;
    int H = a->heads, G = rapt__key_heads_of(a), Q = rapt__query_width(a), V = a->value_width;
    const struct {
        const char *name;
        const rapt_stride *stride;
        int batch, heads, rows, width;
        size_t element;
    } arrays[] = {
        {"q", &a->q, query_batch, H, T, Q, sizeof(float)},
        {"k", &a->k, key_batch, G, S, a->key_width, sizeof(float)},
        {"v", &a->v, key_batch, G, S, V, sizeof(float)},
        {"out", &a->out, query_batch, H, T, V, sizeof(float)},
        {"log_forget_stride", &a->log_forget_stride, a->log_forget ? key_batch : 0, H, S, 1,
         sizeof(float)},
        {"mask.allowed_stride", &m->allowed_stride, m->allowed ? B : 0, H, a->queries, a->keys, 1},
        {"mask.bias_stride", &m->bias_stride, m->bias ? B : 0, H, a->queries, a->keys,
         sizeof(float)},
    };
    rapt_status s = RAPT_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && s == RAPT_OK; i++)
        s = rapt__extent_check(arrays[i].name, arrays[i].stride, arrays[i].batch, arrays[i].heads,
                               arrays[i].rows, arrays[i].width, arrays[i].element, why);
    return s;
}

bool rapt__rows_repeat(const rapt_stride *s, int batch, int heads, int rows)
{
    bool one =
        (batch <= 1 || s->batch != 0) && (heads <= 1 || s->head != 0) && (rows <= 1 || s->row != 0);
    return rows > 0 && !one;
}

/* Checks that queries have positions among the keys, as the feature `who` requires. */
static rapt_status check_causal_alignment(const rapt_attention *a, const char *who,
                                          rapt_message *why)
{
    if (a->mask.causal_alignment != RAPT_CAUSAL_ALIGNMENT_NONE) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "mask.causal_alignment is not set, but %s needs it",
                      who);
}

static rapt_status check_mask(const rapt_attention *a, rapt_message *why)
{
    const rapt_mask *m = &a->mask;
    if ((unsigned)m->causal_alignment > RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT)
        return rapt__bad_field(why, "mask.causal_alignment", m->causal_alignment,
                               "a rapt_causal_alignment");
    if (m->causal && check_causal_alignment(a, "mask.causal", why) != RAPT_OK)
        return RAPT_BAD_ARGUMENT;
    if (m->window && check_causal_alignment(a, "mask.window", why) != RAPT_OK)
        return RAPT_BAD_ARGUMENT;
    if (m->window && m->before < 0)
        return rapt__bad_field(why, "mask.before", m->before, "0 or more");
    if (m->window && m->after < 0) return rapt__bad_field(why, "mask.after", m->after, "0 or more");
    for (int b = 0; m->key_counts && b < a->batch; b++) {
        int keys = a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
        if (m->key_counts[b] < 0 || m->key_counts[b] > keys)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "mask.key_counts[%d] is %d; it must be 0 to %d", b, m->key_counts[b],
                              keys);
    }
    return RAPT_OK;
}

static rapt_status check_width(const char *field, int width, rapt_message *why)
{
    return width < 1 || width > MAX_WIDTH ? rapt__bad_field(why, field, width, "1 to 65536")
                                          : RAPT_OK;
}

/* Checks that every learned array that the problem requires is given, and that arrays unknown to
   this version are NULL. */
static rapt_status check_learned(const rapt_attention *a, rapt_message *why)
{
    for (int i = RAPT_ATTENTION_PARAMETER_COUNT; i < RAPT_ATTENTION_PARAMETER_CAPACITY; i++)
        if (a->parameters.array[i])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "parameters.array[%d] must be NULL in this version of the library",
                              i);
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        if (rapt__learned_missing(a, i))
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "parameters.array for %s is NULL, but score %s with locality %s needs it",
                rapt_attention_parameter_name((rapt_attention_parameter)i),
                rapt_score_name(a->score), rapt_locality_name(a->locality));
    return RAPT_OK;
}

/* Checks the enumerators that are used as indices into tables. */
static rapt_status check_choices(const rapt_attention *a, rapt_message *why)
{
    if ((unsigned)a->score >= RAPT_SCORE_COUNT)
        return rapt__bad_field(why, "score", a->score, "a rapt_score");
    if ((unsigned)a->locality >= RAPT_LOCALITY_COUNT)
        return rapt__bad_field(why, "locality", a->locality, "a rapt_locality");
    if ((unsigned)a->normalizer >= RAPT_NORMALIZER_COUNT)
        return rapt__bad_field(why, "normalizer", a->normalizer, "a rapt_normalizer");
    return RAPT_OK;
}

static rapt_status check_score(const rapt_attention *a, rapt_message *why)
{
    const struct score *score = rapt__score(a->score);
    const rapt_attention_parameters *l = &a->parameters;
    rapt_status s = RAPT_OK;
    if (score->additive) s = check_width("parameters.hidden", l->hidden, why);
    bool filters = rapt__learned_read(a, RAPT_ATTENTION_PARAMETER_FILTERS);
    if (s == RAPT_OK && filters) s = check_width("parameters.channels", l->channels, why);
    if (s == RAPT_OK && filters) s = check_width("parameters.filter_width", l->filter_width, why);
    if (s != RAPT_OK) return s;
    if (filters && l->filter_width % 2 == 0)
        return rapt__bad_field(why, "parameters.filter_width", l->filter_width, "odd");
    if (filters && a->keys > ATTENTION_ROWS - 2 * l->filter_width)
        return rapt__bad_field(why, "keys plus twice parameters.filter_width",
                               a->keys + 2.0 * l->filter_width, "at most 2147483519");
    if (score->keyless && l->positions < a->keys)
        return rapt__bad_field(why, "parameters.positions", l->positions,
                               "at least the number of keys");
    bool projected = score->keyless || score->queries.weights;
    if (!projected && rapt__query_width(a) != a->key_width)
        return rapt__bad_field(why, "query_width", a->query_width, "0 or equal to key_width");
    return RAPT_OK;
}

/* Checks that global positions are at least 0, strictly increasing and less than INT_MAX. */
static rapt_status check_globals(const rapt_sparse *s, rapt_message *why)
{
    for (int i = 0, least = 0; s->globals && i < s->global_count; least = s->globals[i] + 1, i++)
        if (s->globals[i] < least || s->globals[i] == INT_MAX)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "sparse.globals[%d] is %d; it must be %d to 2147483646", i,
                              s->globals[i], least);
    return RAPT_OK;
}

static rapt_status check_sparse(const rapt_attention *a, rapt_message *why)
{
    const rapt_sparse *s = &a->sparse;
    if (!(a->radius >= 0) || !isfinite(a->radius))
        return rapt__bad_field(why, "radius", (double)a->radius, "finite and 0 or more");
    if (s->global_count < 0)
        return rapt__bad_field(why, "sparse.global_count", s->global_count, "0 or more");
    if (a->radius > 0 && check_causal_alignment(a, "radius", why) != RAPT_OK)
        return RAPT_BAD_ARGUMENT;
    if (s->global_count > 0 && check_causal_alignment(a, "sparse.global_count", why) != RAPT_OK)
        return RAPT_BAD_ARGUMENT;
    if (s->blocks && s->block_queries < 1)
        return rapt__bad_field(why, "sparse.block_queries", s->block_queries, "1 or more");
    if (s->blocks && s->block_keys < 1)
        return rapt__bad_field(why, "sparse.block_keys", s->block_keys, "1 or more");
    return check_globals(s, why);
}

/* Checks that the offsets of all bytes of the block mask fit into ptrdiff_t. */
static rapt_status check_blocks(const rapt_attention *a, rapt_message *why)
{
    const rapt_sparse *s = &a->sparse;
    if (!rapt__locality_sparse(a) || !s->blocks) return RAPT_OK;
    return rapt__extent_check("sparse.block_stride", &s->block_stride, a->batch, a->heads,
                              rapt__ceil_div(a->queries, s->block_queries),
                              rapt__ceil_div(a->keys, s->block_keys), 1, why);
}

static rapt_status check_locality(const rapt_attention *a, rapt_message *why)
{
    bool windowed = rapt__locality_windowed(a), centered = rapt__locality_centered(a);
    if (rapt__locality_sparse(a)) return check_sparse(a, why);
    if ((windowed || centered) && (!(a->radius > 0) || !isfinite(a->radius)))
        return rapt__bad_field(why, "radius", (double)a->radius, "finite and above 0");
    if (windowed) return check_causal_alignment(a, rapt_locality_name(a->locality), why);
    if (centered) return check_width("parameters.center_hidden", a->parameters.center_hidden, why);
    return RAPT_OK;
}

static rapt_status check_normalizer_options(const rapt_attention *a, rapt_message *why)
{
    if (!(a->temperature >= 0) || !isfinite(a->temperature))
        return rapt__bad_field(why, "temperature", (double)a->temperature, "finite and 0 or more");
    if (rapt__normalizer_is_hard(a->normalizer) && a->dropout > 0)
        return rapt__bad_field(why, "dropout", (double)a->dropout, "0 if the normalizer is hard");
    return RAPT_OK;
}

static rapt_status check_relative(const rapt_attention *a, rapt_message *why)
{
    const rapt_relative *r = &a->relative;
    int min = r->bidirectional ? 4 : 2;
    if (rapt__relative_wanted(a) && (int64_t)a->queries + a->keys > INT_MAX)
        return rapt__bad_field(why, "queries + keys with relative biases",
                               (double)a->queries + a->keys, "at most 2147483647");
    if (r->slopes && check_causal_alignment(a, "relative.slopes", why) != RAPT_OK)
        return RAPT_BAD_ARGUMENT;
    if (!r->table) return RAPT_OK;
    if (r->buckets < min || r->buckets > MAX_WIDTH || (r->bidirectional && r->buckets % 2 != 0))
        return rapt__bad_field(why, "relative.buckets", r->buckets,
                               r->bidirectional ? "4 to 65536 and even" : "2 to 65536");
    if (r->distance <= r->buckets / min)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative.distance is %d; it must be more than %d, the number of "
                          "distances with their own buckets",
                          r->distance, r->buckets / min);
    return check_causal_alignment(a, "relative.table", why);
}

static rapt_status check_rotary(const rapt_attention *a, rapt_message *why)
{
    const rapt_relative *r = &a->relative;
    if ((unsigned)r->rotary > RAPT_ROTARY_HALVES)
        return rapt__bad_field(why, "relative.rotary", r->rotary, "a rapt_rotary");
    if (r->rotary == RAPT_ROTARY_NONE) return RAPT_OK;
    const struct score *score = rapt__score(a->score);
    if (score->additive)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative.rotary needs a score that is a dot product; score is %s",
                          score->name);
    int all = score->width(a), width = r->rotary_width ? r->rotary_width : all;
    if (width < 2 || width > all || width % 2 != 0)
        return rapt__bad_field(why, "relative.rotary_width", width,
                               "even, at least 2 and at most the width of the vectors");
    if (!(r->rotary_base >= 0) || !isfinite(r->rotary_base))
        return rapt__bad_field(why, "relative.rotary_base", (double)r->rotary_base,
                               "finite and 0 or more");
    return check_causal_alignment(a, "relative.rotary", why);
}

static rapt_status check_rotary_scaling(const rapt_attention *a, rapt_message *why)
{
    const rapt_relative *r = &a->relative;
    if ((unsigned)r->rotary_scaling > RAPT_ROTARY_SCALING_YARN)
        return rapt__bad_field(why, "relative.rotary_scaling", r->rotary_scaling,
                               "a rapt_rotary_scaling");
    if (r->rotary == RAPT_ROTARY_NONE || r->rotary_scaling == RAPT_ROTARY_SCALING_NONE)
        return RAPT_OK;
    if ((r->rotary_factor != 0 && !(r->rotary_factor >= 1)) || !isfinite(r->rotary_factor))
        return rapt__bad_field(why, "relative.rotary_factor", (double)r->rotary_factor,
                               "0, or finite and 1 or more");
    if (r->rotary_scaling == RAPT_ROTARY_SCALING_NTK && rapt__rotary_pairs(a) < 2)
        return rapt__bad_field(why, "relative.rotary_width", 2.0 * rapt__rotary_pairs(a),
                               "at least 4 if rotary_scaling is NTK");
    if (r->rotary_scaling != RAPT_ROTARY_SCALING_YARN) return RAPT_OK;
    if (r->rotary_positions < 1)
        return rapt__bad_field(why, "relative.rotary_positions", r->rotary_positions,
                               "1 or more if rotary_scaling is YARN");
    if (!(r->rotary_magnitude >= 0) || !isfinite(r->rotary_magnitude))
        return rapt__bad_field(why, "relative.rotary_magnitude", (double)r->rotary_magnitude,
                               "finite and 0 or more");
    return RAPT_OK;
}

static rapt_status check_distances(const rapt_attention *a, rapt_message *why)
{
    const rapt_distances *d = &a->distances;
    const char *needs = d->keys           ? "distances.keys"
                        : d->queries      ? "distances.queries"
                        : d->values       ? "distances.values"
                        : d->content_bias ? "distances.content_bias"
                                          : NULL;
    if (d->position_bias && !d->keys)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "distances.keys is NULL, but distances.position_bias needs it");
    if (!needs) return RAPT_OK;
    if (!rapt__score_is_plain(a->score))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "%s needs a score that is a dot product of q and k; score is %s", needs,
                          rapt_score_name(a->score));
    if (a->relative.rotary)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "relative.rotary and %s are mutually exclusive",
                          needs);
    rapt_status status = rapt__distances_check(d, why);
    return status ? status : check_causal_alignment(a, needs, why);
}

static rapt_status check_forget(const rapt_attention *a, rapt_message *why)
{
    if (!a->log_forget || a->mask.causal) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "mask.causal is 0, but log_forget needs it");
}

static rapt_status check_talking(const rapt_attention *a, rapt_message *why)
{
    if (!rapt__talks(a)) return RAPT_OK;
    if (a->heads > MAX_WIDTH)
        return rapt__bad_field(why, "heads", a->heads, "at most 65536 with talking heads");
    const rapt_distances *d = &a->distances;
    if (d->keys || d->queries || d->values || d->content_bias || d->position_bias)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "talking heads cannot be combined with distance vectors");
    if (!rapt__score_recurrent(a)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s must be NULL if score is %s, which reads the weights of previous "
                      "queries",
                      a->talking_scores ? "talking_scores" : "talking_weights",
                      rapt_score_name(a->score));
}

static const float LOG2_E = 1.44269504f; /* because kernels multiply scores by scale * log2(e) */

static rapt_status check_numbers(const rapt_attention *a, rapt_message *why)
{
    if (!isfinite(a->scale * LOG2_E))
        return rapt__bad_field(why, "scale", (double)a->scale, "finite when multiplied by log2(e)");
    if (!(a->cap >= 0) || !isfinite(a->cap))
        return rapt__bad_field(why, "cap", (double)a->cap, "finite and 0 or more");
    if (!(a->dropout >= 0 && a->dropout < 1))
        return rapt__bad_field(why, "dropout", (double)a->dropout, "at least 0 and below 1");
    if (a->threads < 0) return rapt__bad_field(why, "threads", a->threads, "0 or more");
    return RAPT_OK;
}

/* Checks that no stride of `out` between different rows is 0. Other overlaps are not detected. */
static rapt_status check_out(const rapt_attention *a, rapt_message *why)
{
    int rows = a->query_starts ? rapt__query_rows(a) : a->queries; /* rows that are out.row apart */
    if (rapt__query_rows(a) == 0) return RAPT_OK;
    if (a->out.row == 0 && rows > 1)
        return rapt__bad_field(why, "out.row", 0, "the distance between rows");
    if (a->out.head == 0 && a->heads > 1)
        return rapt__bad_field(why, "out.head", 0, "the distance between heads");
    if (a->out.batch == 0 && a->batch > 1 && !a->query_starts)
        return rapt__bad_field(why, "out.batch", 0, "the distance between sequences");
    return RAPT_OK;
}

static rapt_status check_reserved(const char *field, const uint64_t *reserved, size_t count,
                                  rapt_message *why)
{
    while (count > 0 && !reserved[count - 1]) count--;
    if (!count) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is not 0: it is reserved for later versions",
                      field);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

rapt_status rapt__shapes_check(const rapt_attention *a, rapt_message *why)
{
    rapt_status s = check_sizes(a, why);
    if (s == RAPT_OK) s = check_choices(a, why);
    if (s == RAPT_OK) s = check_score(a, why);
    return s == RAPT_OK ? check_locality(a, why) : s;
}

rapt_status rapt__attention_check(const rapt_attention *a, rapt_message *why)
{
    rapt_status s = check_reserved("mask.reserved", a->mask.reserved, COUNT(a->mask.reserved), why);
    if (s == RAPT_OK)
        s = check_reserved("relative.reserved", a->relative.reserved, COUNT(a->relative.reserved),
                           why);
    if (s == RAPT_OK)
        s = check_reserved("parameters.reserved", a->parameters.reserved,
                           COUNT(a->parameters.reserved), why);
    if (s == RAPT_OK)
        s = check_reserved("sparse.reserved", a->sparse.reserved, COUNT(a->sparse.reserved), why);
    if (s == RAPT_OK)
        s = check_reserved("distances.reserved", a->distances.reserved,
                           COUNT(a->distances.reserved), why);
    if (s == RAPT_OK) s = check_sizes(a, why);
    if (s == RAPT_OK)
        s = rapt__starts_check("query_starts", a->query_starts, a->batch, a->queries, why);
    if (s == RAPT_OK) s = rapt__starts_check("key_starts", a->key_starts, a->batch, a->keys, why);
    if (s == RAPT_OK) s = check_rows(a, why);
    if (s == RAPT_OK) s = check_extents(a, why);
    if (s == RAPT_OK) s = check_mask(a, why);
    if (s == RAPT_OK) s = check_numbers(a, why);
    if (s == RAPT_OK) s = check_choices(a, why);
    if (s == RAPT_OK) s = check_score(a, why);
    if (s == RAPT_OK) s = check_locality(a, why);
    if (s == RAPT_OK) s = check_blocks(a, why);
    if (s == RAPT_OK) s = check_learned(a, why);
    if (s == RAPT_OK) s = check_normalizer_options(a, why);
    if (s == RAPT_OK) s = check_relative(a, why);
    if (s == RAPT_OK) s = check_rotary(a, why);
    if (s == RAPT_OK) s = check_rotary_scaling(a, why);
    if (s == RAPT_OK) s = check_distances(a, why);
    if (s == RAPT_OK) s = check_forget(a, why);
    if (s == RAPT_OK) s = check_talking(a, why);
    if (s == RAPT_OK) s = check_out(a, why);
    if (s == RAPT_OK && rapt__attention_workspace(a, rapt__team_size(a->threads)) == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the problem is too large: the size of its workspace overflows");
    return s;
}
