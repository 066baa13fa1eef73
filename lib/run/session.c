/* session.c - a model at work: sources are read once, targets grow token by token. */
#include "run/run.h"

#include <string.h>

static struct stack stack_of(rapt_session *s, bool decoder)
{
    return (struct stack){.model = s->model,
                          .block = s->model->block,
                          .decoder = decoder,
                          .memory = decoder ? &s->decoder : &s->encoder,
                          .attention_scratch = s->attention_scratch,
                          .threads = s->limits.threads};
}

static struct crew crew_of(rapt_session *s, struct team *team)
{
    return (struct crew){team, rapt__kernels(), s->pack, false};
}

/* ---- reading the source ---- */

struct reading {
    rapt_session *session;
    struct stack encoder;
    struct pass pass;
    const float *states; /* out */
};

/* Keys and values of the source for every layer of the decoder: projected once. */
static void project_sources(const struct crew *c, struct reading *r, const float *states)
{
    rapt_session *s = r->session;
    const rapt_config *config = &s->model->config;
    int G = rapt__key_heads(config) * (config->width / config->heads);
    float *kv = s->decoder.sublayers[PART_CROSS].kv;
    for (int l = 0; l < config->decoder_layers; l++) {
        const struct attention_place *place = &s->model->layout.decoder.layers[l].cross;
        struct linear project = rapt__linear_at(&place->kv, s->model->block);
        rapt__linear_forward(c, &project, states, config->width, r->pass.rows.count, kv, 2 * G, -1,
                             NULL);
        rapt__cache_append(c->team, &s->cross[l], r->pass.rows.starts, kv, 2 * G, kv + G, 2 * G);
    }
}

static void work_on_source(struct team *team, void *argument)
{
    struct reading *r = argument;
    struct crew c = crew_of(r->session, team);
    const float *states = rapt__stack_forward(&c, &r->encoder, &r->pass);
    if (r->session->model->config.kind == RAPT_ENCODER_DECODER) project_sources(&c, r, states);
    if (team->rank == 0) r->states = states;
}

int rapt__session_room(const rapt_session *s, int sources)
{
    int positions = s->model->config.positions;
    long long slots = (long long)(sources > 0 ? sources : 1) * s->limits.beams;
    long long panels = (long long)s->limits.batch * s->limits.beams *
                       ((s->limits.target_length + LANES - 1) / LANES);
    long long room = panels / slots * LANES;
    return room < positions ? (int)room : positions;
}

/* Empties the caches and gives each target room for that many tokens. */
static void start_caches(rapt_session *s, int room)
{
    int slots = s->limits.batch * s->limits.beams;
    for (int i = 0; i < slots; i++) s->capacity[i] = i < s->targets ? room : 0;
    for (int l = 0; l < s->model->layout.decoder.count; l++)
        rapt__cache_start(&s->self[l], s->capacity);
    if (s->model->config.kind != RAPT_ENCODER_DECODER) return;
    for (int b = 0; b < s->limits.batch; b++)
        s->capacity[b] = s->source_starts[b + 1] - s->source_starts[b];
    for (int l = 0; l < s->model->layout.decoder.count; l++)
        rapt__cache_start(&s->cross[l], s->capacity);
}

/* Forgets all tokens; `sources` sequences will be read, each with beams targets. */
static void begin(rapt_session *s, int sources, int room)
{
    s->sources = sources;
    s->targets = s->model->config.kind == RAPT_ENCODER_ONLY ? 0 : sources * s->limits.beams;
    s->target_rows = 0;
    s->room = room;
    for (int i = 0; i < s->targets; i++) {
        s->length[i] = s->past[i] = 0;
        s->source_of[i] = i / s->limits.beams;
    }
    start_caches(s, room);
}

/* Copies starts, and repeats the last one for the sequences that are not there. */
static void copy_starts(int *to, const int *starts, int batch, int most)
{
    for (int b = 0; b <= most; b++) to[b] = starts[b < batch ? b : batch];
}

static rapt_status check_source(const rapt_session *s, const rapt_tokens *source, int room,
                                rapt_message *why)
{
    const rapt_config *config = &s->model->config;
    rapt_status status = RAPT_OK;
    if (config->kind != RAPT_DECODER_ONLY)
        status = rapt__tokens_check(source, "source", config->source_vocab, s->limits.batch,
                                    s->limits.source_tokens, config->positions, why);
    else if (!source || source->batch < 0 || source->batch > s->limits.batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "source: batch must be 0 to %d", s->limits.batch);
    if (status) return status;
    if (room > rapt__session_room(s, source->batch))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%d targets of %d tokens do not fit",
                          source->batch * s->limits.beams, room);
    return RAPT_OK;
}

rapt_status rapt__encode(rapt_session *s, const rapt_tokens *source, int room, const float **memory,
                         rapt_message *why)
{
    rapt_status status = check_source(s, source, room, why);
    if (status) return status;
    struct reading r = {.session = s};
    if (s->model->config.kind != RAPT_DECODER_ONLY) {
        int rows = source->starts[source->batch];
        copy_starts(s->source_starts, source->starts, source->batch, s->limits.batch);
        begin(s, source->batch, room);
        r.encoder = stack_of(s, false);
        r.pass.ids = source->ids;
        r.pass.rows = (struct rows){source->batch, rows, s->source_starts,
                                    rapt__longest(source->batch, source->starts)};
        rapt__team_run(s->limits.threads, work_on_source, &r);
    } else {
        begin(s, source->batch, room);
    }
    if (memory) *memory = r.states;
    return RAPT_OK;
}

rapt_status rapt_encode(rapt_session *s, const rapt_tokens *source, const float **memory,
                        rapt_message *why)
{
    return rapt__encode(s, source, s->limits.target_length, memory, why);
}

/* ---- appending to the targets ---- */

struct writing {
    rapt_session *session;
    struct stack decoder;
    struct stack_caches caches;
    struct pass pass;
    struct picks *picks;
};

static void work_on_target(struct team *team, void *argument)
{
    struct writing *w = argument;
    rapt_session *s = w->session;
    struct crew c = crew_of(s, team);
    int rows = w->pass.rows.count;
    const float *last = rapt__stack_forward(&c, &w->decoder, &w->pass);
    struct linear output = rapt__linear_at(&s->model->layout.output, s->model->block);
    if (w->picks)
        rapt__pick(&c, &output, last, rows, w->picks, s->logits);
    else
        rapt__linear_forward(&c, &output, last, output.in, rows, s->logits, output.out, -1, NULL);
}

static rapt_status check_target(const rapt_session *s, const rapt_tokens *target, rapt_message *why)
{
    rapt_status status = rapt__tokens_check(target, "target", s->model->config.target_vocab,
                                            s->targets, s->limits.target_tokens, s->room, why);
    if (status) return status;
    if (target->batch != s->targets)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "target: %d sequences, the session has %d",
                          target->batch, s->targets);
    for (int b = 0; b < target->batch; b++)
        if (target->starts[b + 1] - target->starts[b] > s->room - s->length[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "target: sequence %d grows beyond %d tokens",
                              b, s->room);
    return RAPT_OK;
}

rapt_status rapt__decode(rapt_session *s, const rapt_tokens *target, struct picks *picks,
                         rapt_message *why)
{
    if (s->model->config.kind == RAPT_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "an encoder-only model has no target");
    rapt_status status = check_target(s, target, why);
    if (status) return status;
    for (int b = 0; b < target->batch; b++) {
        s->past[b] = s->length[b];
        s->length[b] += target->starts[b + 1] - target->starts[b];
    }
    copy_starts(s->target_starts, target->starts, target->batch, s->limits.batch * s->limits.beams);
    s->target_rows = target->starts[target->batch];
    if (s->target_rows == 0) return RAPT_OK;
    struct writing w = {.session = s, .decoder = stack_of(s, true), .picks = picks};
    w.caches = (struct stack_caches){s->self, s->cross, s->past, s->source_of};
    w.pass.ids = target->ids;
    w.pass.caches = &w.caches;
    w.pass.rows = (struct rows){target->batch, s->target_rows, s->target_starts,
                                rapt__longest(target->batch, target->starts)};
    rapt__team_run(s->limits.threads, work_on_target, &w);
    return RAPT_OK;
}

rapt_status rapt_decode(rapt_session *s, const rapt_tokens *target, const float **logits,
                        rapt_message *why)
{
    rapt_status status = rapt__decode(s, target, NULL, why);
    if (!status && logits) *logits = s->logits;
    return status;
}

/* ---- reordering ---- */

static void work_on_move(struct team *team, void *argument)
{
    rapt_session *s = argument;
    for (int l = 0; l < s->model->layout.decoder.count; l++)
        rapt__cache_move(team, &s->self[l], s->parents);
}

rapt_status rapt_session_reorder(rapt_session *s, const int *parents)
{
    bool moves = false;
    for (int i = 0; i < s->targets; i++) {
        if (parents[i] < 0 || parents[i] >= s->targets ||
            s->source_of[parents[i]] != s->source_of[i])
            return RAPT_BAD_ARGUMENT;
        moves = moves || parents[i] != i;
    }
    if (!moves) return RAPT_OK;
    for (int i = 0; i < s->limits.batch * s->limits.beams; i++)
        s->parents[i] = i < s->targets ? parents[i] : i;
    rapt__team_run(s->limits.threads, work_on_move, s);
    for (int i = 0; i < s->targets; i++) s->past[i] = s->length[parents[i]];
    memcpy(s->length, s->past, sizeof(int) * (size_t)s->targets);
    s->target_rows = 0;
    return RAPT_OK;
}
