/* encode.c - runs the encoder over sources and stores the keys and values of cross-attention in the
   decoder's caches. Also pools and classifies the encoder's output. The encoder reads one group of
   sequences at a time, so the memory that its layers need does not grow with the batch unless
   limits.self_weights is set. */
#include "generate/generate.h"

#include <string.h>

struct reading {
    rapt_session *session;
    struct stack encoder;
    const int32_t *ids;
    const float *vectors; /* used instead of ids if not NULL */
    int sources;
    bool keep;            /* the encoder output of all sources is requested */
    rapt_pooling pooling; /* how to pool; RAPT_POOLING_NONE if pooled rows are not requested */
    bool classify;        /* logits of pooled rows or of all rows are requested */
    const float *states;  /* result: the encoder output of all sources, if `keep` */
};

/* Computes the keys and values of cross-attention for a group of sources, in every layer of the
   decoder, and appends them to the caches. */
static void project_sources(const struct exec_context *c, rapt_session *s, const float *states,
                            int rows)
{
    const struct stack decoder = rapt__session_stack(s, true);
    for (int l = 0; l < s->model->config.decoder_layers; l++)
        rapt__cross_append(c, &decoder, l, &s->cross, states, rows, s->group_starts);
}

/* Returns the end of the group that begins with sequence `first`. The sequences of a group are read
   together. */
static int group_from(const rapt_session *s, int first, int sources)
{
    int end = first + 1;
    while (end < sources && s->source_starts[end + 1] - s->source_starts[first] <= s->encoder_rows)
        end++;
    return end;
}

/* Runs the encoder over sequences first .. end - 1, the current group, and returns the output. */
static const float *read_group(const struct exec_context *c, const struct reading *r, int first,
                               int end)
{
    rapt_session *s = r->session;
    const int *all = s->source_starts;
    for (int i = 0; c->team->rank == 0 && i <= s->limits.batch; i++)
        s->group_starts[i] = all[i < first ? first : i > end ? end : i] - all[first];
    rapt__team_barrier(c->team);
    struct pass pass = {0};
    if (r->ids) pass.ids = r->ids + all[first];
    if (r->vectors)
        pass.vectors = r->vectors + (ptrdiff_t)all[first] * s->model->config.source_width;
    pass.rows = rapt__rows(end - first, s->group_starts + first);
    return rapt__stack_forward(c, &r->encoder, &pass);
}

/* Copies the encoder output of a group to s->states, starting at row `first`. */
static void keep_states(const struct exec_context *c, rapt_session *s, const float *from, int first,
                        int rows)
{
    size_t begin, end, D = (size_t)s->model->config.width;
    rapt__team_share(c->team, (size_t)rows, 1, &begin, &end);
    if (begin < end)
        memcpy(s->states + ((size_t)first + begin) * D, from + begin * D,
               (end - begin) * D * sizeof *from);
}

/* Computes the pooled rows and logits of a group, if they are requested. `at` is the index of the
   group's first row. */
static void answer(const struct exec_context *c, const struct reading *r, const float *states,
                   int first, int end, int at)
{
    rapt_session *s = r->session;
    const struct linear output =
        rapt__linear_at(&s->model->layout, &s->model->layout.output, s->model->block);
    int D = s->model->config.width, rows = s->source_starts[end] - at;
    const struct pool pool = {r->pooling == RAPT_POOLING_MEAN, end - first, D,
                              s->group_starts + first};
    float *pooled = s->pooled + (ptrdiff_t)first * D;
    if (r->pooling) {
        rapt__pool_forward(c, &pool, states, pooled);
        states = pooled, rows = end - first, at = first;
    }
    if (r->classify && s->model->config.pooler) {
        float *hidden = s->hidden + (ptrdiff_t)first * D;
        rapt__pooler_forward(c, s->model, states, rows, hidden);
        states = hidden;
    }
    if (r->classify)
        rapt__linear_forward(c, &output, states, D, rows, s->logits + (ptrdiff_t)at * output.out,
                             output.out, ACTIVATION_NONE, NULL);
}

/* Prepares the decoder's self- and cross-attention (rapt__scores_pack). */
static void pack_scores(const struct exec_context *c, rapt_session *s)
{
    const struct stack decoder = rapt__session_stack(s, true);
    rapt__scores_pack(c, &decoder, &s->self, false);
    rapt__scores_pack(c, &decoder, &s->cross, true);
}

/* Prepares a decoder-only model, which has no source to encode. */
static void work_on_nothing(struct team *team, void *argument)
{
    const struct exec_context c = rapt__session_exec(argument, team);
    pack_scores(&c, argument);
}

/* Encodes group by group, projects each group for the decoder, and computes pooled rows and logits
   if they were requested. */
static void work_on_source(struct team *team, void *argument)
{
    struct reading *r = argument;
    rapt_session *s = r->session;
    struct exec_context c = rapt__session_exec(s, team);
    const float *states = NULL;
    pack_scores(&c, s);
    bool several = group_from(s, 0, r->sources) < r->sources;
    for (int first = 0, end; first < r->sources; first = end) {
        end = group_from(s, first, r->sources);
        int at = s->source_starts[first], rows = s->source_starts[end] - at;
        states = read_group(&c, r, first, end);
        if (several && r->keep) keep_states(&c, s, states, at, rows);
        if (s->model->config.kind == RAPT_KIND_ENCODER_DECODER)
            project_sources(&c, s, states, rows);
        answer(&c, r, states, first, end, at);
        rapt__team_barrier(team);
    }
    if (team->rank == 0) r->states = several ? s->states : states;
}

int rapt__session_target_capacity(const rapt_session *s, int sources)
{
    int positions = s->model->config.positions;
    long long slots = (long long)(sources > 0 ? sources : 1) * s->limits.beams;
    long long panels = (long long)s->limits.batch * s->limits.beams *
                       rapt__ceil_div(s->limits.target_length, LANES);
    long long target_capacity = panels / slots * LANES;
    return target_capacity < positions ? (int)target_capacity : positions;
}

/* Returns the size in bytes of the states of a recurrent decoder. */
static size_t states_size(const rapt_session *s)
{
    return (size_t)s->model->layout.decoder.count * (size_t)s->self.sequences *
           rapt__state_floats(&s->model->config) * sizeof *s->self.states;
}

/* Empties the caches and sets how many tokens each of their sequences can hold. */
static void start_caches(rapt_session *s, int target_capacity)
{
    int slots = s->limits.batch * s->limits.beams;
    for (int i = 0; i < slots; i++) s->capacity[i] = i < s->targets ? target_capacity : 0;
    if (s->self.states) memset(s->self.states, 0, states_size(s));
    for (int l = 0; s->self.caches && l < s->model->layout.decoder.count; l++) {
        rapt__cache_start(&s->self.caches[l], s->capacity);
        if (s->self.history) rapt__history_start(&s->self.history[l], s->capacity);
    }
    if (s->model->config.kind != RAPT_KIND_ENCODER_DECODER) return;
    if (s->cross.monotonic.positions) {
        memset(s->cross.monotonic.positions, 0, rapt__positions_count(s) * sizeof(int));
        return;
    }
    for (int b = 0; b < s->limits.batch; b++)
        s->capacity[b] = s->source_starts[b + 1] - s->source_starts[b];
    for (int l = 0; l < s->model->layout.decoder.count; l++)
        rapt__cache_start(&s->cross.caches[l], s->capacity);
    for (int i = 0; i < slots; i++) s->capacity[i] = i < s->targets ? s->source_length[i] : 0;
    for (int l = 0; s->cross.history && l < s->model->layout.decoder.count; l++)
        rapt__history_start(&s->cross.history[l], s->capacity);
}

/* Discards all tokens and prepares for new sources, each with limits.beams targets. */
static void begin_targets(rapt_session *s, int sources, int target_capacity)
{
    s->sources = sources;
    s->targets = s->model->config.kind == RAPT_KIND_ENCODER_ONLY ? 0 : sources * s->limits.beams;
    s->target_rows = 0;
    s->reordered = s->searched = false;
    s->target_capacity = target_capacity;
    for (int i = 0; i < s->targets; i++) {
        s->length[i] = s->past[i] = 0;
        int source = s->source_of[i] = i / s->limits.beams;
        s->source_length[i] = s->source_starts[source + 1] - s->source_starts[source];
    }
    start_caches(s, target_capacity);
}

static rapt_status check_source(const rapt_session *s, const rapt_tokens *source,
                                int target_capacity, rapt_message *why)
{
    const rapt_config *config = &s->model->config;
    const struct token_limits limits = {.what = "source",
                                        .vocab = rapt__source_ids(config),
                                        .vectors = config->source_width > 0,
                                        .batch = s->limits.batch,
                                        .tokens = s->limits.source_tokens,
                                        .length = config->positions};
    rapt_status status = RAPT_OK;
    if (config->kind != RAPT_KIND_DECODER_ONLY)
        status = rapt__tokens_check(source, &limits, why);
    else if (!source)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "source is NULL");
    else if (source->ids || source->vectors || source->starts)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "source: for a decoder-only model, set only batch; ids, vectors and starts "
            "must be NULL. Pass a prompt to rapt_generate as prefix, or to rapt_decode");
    else if (source->batch < 0 || source->batch > s->limits.batch)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "source: batch is %d; it must be from 0 to %d, the session's limits.batch",
            source->batch, s->limits.batch);
    if (status) return status;
    if (target_capacity > rapt__session_target_capacity(s, source->batch))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "%d targets of %d tokens exceed the session's limits",
                          source->batch * s->limits.beams, target_capacity);
    return RAPT_OK;
}

/* Encodes the sources and computes the results that *r requests. */
static rapt_status encode_source(struct reading *r, rapt_session *s, const rapt_tokens *source,
                                 int target_capacity, rapt_message *why)
{
    rapt_status status = check_source(s, source, target_capacity, why);
    if (status) return status;
    r->session = s, r->sources = source->batch;
    if (s->model->config.kind != RAPT_KIND_DECODER_ONLY) {
        rapt__starts_copy(s->source_starts, source->starts, source->batch, s->limits.batch);
        begin_targets(s, source->batch, target_capacity);
        r->encoder = rapt__session_stack(s, false);
        r->ids = source->ids;
        r->vectors = source->vectors;
        rapt__team_run(s->limits.threads, work_on_source, r);
    } else {
        begin_targets(s, source->batch, target_capacity);
        if (s->self.packed || s->self.relative)
            rapt__team_run(s->limits.threads, work_on_nothing, s);
    }
    return RAPT_OK;
}

rapt_status rapt__encode(rapt_session *s, const rapt_tokens *source, int target_capacity,
                         const float **encoder_output, rapt_message *why)
{
    struct reading r = {.keep = encoder_output != NULL};
    rapt_status status = encode_source(&r, s, source, target_capacity, why);
    if (!status && encoder_output) *encoder_output = r.states;
    return status;
}

rapt_status rapt_encode(rapt_session *s, const rapt_tokens *source, const float **encoder_output,
                        rapt_message *why)
{
    if (!s) return rapt__fail(why, RAPT_BAD_ARGUMENT, "session is NULL");
    return rapt__encode(s, source, s->limits.target_length, encoder_output, why);
}

rapt_status rapt_classify(rapt_session *s, const rapt_tokens *source, const float **logits,
                          rapt_message *why)
{
    if (!s || !logits)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "logits" : "session");
    const rapt_config *c = &s->model->config;
    if (c->kind != RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "this model has a decoder, but only encoder-only models can classify: use rapt_decode");
    if (!c->target_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "this model has no output matrix: use rapt_embed");
    struct reading r = {.pooling = c->pooling, .classify = true};
    rapt_status status = encode_source(&r, s, source, s->limits.target_length, why);
    if (!status) *logits = s->logits;
    return status;
}

rapt_status rapt_embed(rapt_session *s, const rapt_tokens *source, rapt_pooling pooling,
                       const float **embeddings, rapt_message *why)
{
    if (!s || !embeddings)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "embeddings" : "session");
    if (s->model->config.kind == RAPT_KIND_DECODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "a decoder-only model has no source to embed");
    if (pooling != RAPT_POOLING_FIRST && pooling != RAPT_POOLING_MEAN)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "pooling is %d; it must be RAPT_POOLING_FIRST or RAPT_POOLING_MEAN",
                          (int)pooling);
    struct reading r = {.pooling = pooling};
    rapt_status status = encode_source(&r, s, source, s->limits.target_length, why);
    if (!status) *embeddings = s->pooled;
    return status;
}
