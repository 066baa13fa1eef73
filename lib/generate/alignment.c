/* alignment.c - reads attention weights. After rapt_encode or rapt_decode, these are the weights of
   one layer and head, or means over layers or heads. During a search, they are the cross-attention
   weights of all hypotheses, token by token, averaged over the heads that config.alignment_layer
   and alignment_heads select.

   A recorded row belongs to a position and a slot. The rows of a hypothesis that has moved between
   slots are found by following the parents of its slots from the last position back to the
   first. */
#include "generate/search.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct readout {
    rapt_session *session;
    bool cross;
    const int *keys; /* [targets] keys per row: tokens of the source, or of the target so far */
    int layer, head; /* -1 means the mean over all of them */
    int heads; /* number of heads to average, starting with `head`; not used if `head` is -1 */
    size_t position; /* if 0, rows are written back to back; otherwise it is the number of floats
                        per position of a record, and rows are written by position and slot */
    float *weights;  /* result */
    const unsigned char *wanted; /* [sources] a zero byte skips the source; NULL skips none */
};

/* Writes the weights of row `row`, which belongs to target i, averaged over the requested layers
   and heads. */
static void read_row(const struct readout *r, const struct stack *stack, int i, int row,
                     float *weights)
{
    rapt_session *s = r->session;
    const rapt_config *c = &s->model->config;
    const struct stack_caches caches = rapt__session_caches(s);
    const struct rows rows = {s->targets, s->target_rows, s->target_starts, 0};
    int first_layer = rapt__max(r->layer, 0), first_head = rapt__max(r->head, 0);
    int last_layer = r->layer < 0 ? c->decoder_layers - 1 : r->layer;
    int last_head = r->head < 0 ? c->heads - 1 : r->head + r->heads - 1;
    int count = (last_layer - first_layer + 1) * (last_head - first_head + 1);
    memset(weights, 0, sizeof *weights * (size_t)r->keys[i]);
    for (int l = first_layer; l <= last_layer; l++)
        for (int h = first_head; h <= last_head; h++)
            rapt__decoder_weights(stack, &rows, &caches, r->cross, l, h, i, row, 1 / (float)count,
                                  weights);
}

/* Reads the rows of the last rapt_decode. The threads of the team divide the rows among
   themselves. */
static void work_on_rows(struct team *team, void *argument)
{
    const struct readout *r = argument;
    rapt_session *s = r->session;
    struct stack stack = rapt__session_stack(s, true);
    stack.attention_workspace =
        (char *)s->attention_workspace + (size_t)team->rank * s->weights_workspace;
    float *weights = r->weights;
    int mine = rapt__team_take(team), n = 0;
    for (int i = 0; i < s->targets; i++) {
        int keys = r->keys[i], first = s->target_starts[i], end = s->target_starts[i + 1];
        const bool wanted = !r->wanted || r->wanted[s->source_of[i]];
        for (int row = first; wanted && row < end; row++, n++) {
            if (n != mine) continue;
            size_t at = r->position ? (size_t)(s->past[i] + row - first) * r->position
                                    : (size_t)(row - first) * (size_t)keys;
            read_row(r, &stack, i, row, weights + at);
            mine = rapt__team_take(team);
        }
        weights += (ptrdiff_t)keys * (r->position ? 1 : end - first);
    }
}

/* Adds `share` times the weights of one layer and head of the encoder to `to`, for n rows of a
   sequence, starting with row t. */
static void add_rows(struct team *team, const rapt_session *s, const struct stack *stack, int layer,
                     int head, int sequence, int t, int n, float share, float *to)
{
    const struct rows all = rapt__rows(s->sources, s->source_starts);
    const rapt_config *c = &s->model->config;
    size_t size = (size_t)n * (size_t)(all.starts[sequence + 1] - all.starts[sequence]);
    for (int i = 0; i < rapt__maps(c) / c->heads; i++) {
        float of_map;
        int map = rapt__map_of(stack, layer, false, head, i, &of_map);
        rapt__encoder_weights(team, stack, &all, layer, map, sequence, t, n, s->some_weights);
        of_map *= share;
        for (size_t j = 0; team->rank == 0 && j < size; j++) to[j] += of_map * s->some_weights[j];
        rapt__team_barrier(team);
    }
}

/* Writes the weights of the encoder's self-attention, averaged over the requested layers and heads.
   The whole matrix of a head could need [positions][positions] floats, so weights_rows rows are
   read at a time. */
static void work_on_encoder(struct team *team, void *argument)
{
    const struct readout *r = argument;
    rapt_session *s = r->session;
    const rapt_config *c = &s->model->config;
    struct stack stack = rapt__session_stack(s, false);
    const struct rows all = rapt__rows(s->sources, s->source_starts);
    int first_layer = rapt__max(r->layer, 0), first_head = rapt__max(r->head, 0);
    int last_layer = r->layer < 0 ? c->encoder_layers - 1 : r->layer;
    int last_head = r->head < 0 ? c->heads - 1 : r->head;
    float share = 1 / (float)((last_layer - first_layer + 1) * (last_head - first_head + 1));
    float *to = r->weights;
    for (int b = 0; b < s->sources; b++) {
        int count = all.starts[b + 1] - all.starts[b];
        for (int t = 0, n; t < count; t += n, to += (ptrdiff_t)n * count) {
            n = rapt__min(s->weights_rows, count - t);
            size_t size = (size_t)n * (size_t)count;
            if (team->rank == 0) memset(to, 0, size * sizeof *to);
            for (int l = first_layer; l <= last_layer; l++)
                for (int h = first_head; h <= last_head; h++)
                    add_rows(team, s, &stack, l, h, b, t, n, share, to);
        }
    }
}

static rapt_status check_part(const rapt_session *s, rapt_weights which, rapt_message *why)
{
    rapt_kind kind = s->model->config.kind;
    if ((unsigned)which > RAPT_WEIGHTS_CROSS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "which: %d is not a value of rapt_weights",
                          (int)which);
    if (which == RAPT_WEIGHTS_CROSS && kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no cross-attention");
    if (which == RAPT_WEIGHTS_ENCODER && kind == RAPT_KIND_DECODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no encoder");
    if (which == RAPT_WEIGHTS_DECODER && kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no decoder");
    if (which == RAPT_WEIGHTS_DECODER && s->model->config.decoder_recurrence)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the decoder has a recurrent unit or linear attention instead of "
                          "self-attention, so there are no attention weights");
    if (which == RAPT_WEIGHTS_CROSS || s->limits.self_weights) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "self-attention weights require a session whose limits.self_weights is 1");
}

rapt_status rapt_session_weights(rapt_session *s, rapt_weights which, int layer, int head,
                                 float *weights, rapt_message *why)
{
    if (!s || !weights)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "weights" : "session");
    const rapt_config *c = &s->model->config;
    bool encoder = which == RAPT_WEIGHTS_ENCODER, cross = which == RAPT_WEIGHTS_CROSS;
    rapt_status status = check_part(s, which, why);
    if (status) return status;
    int layers = encoder ? c->encoder_layers : c->decoder_layers;
    if (!encoder && (s->reordered || s->searched))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "weights of the last rapt_decode must be read before %s, which %s the "
                          "targets they belong to",
                          s->searched ? "rapt_generate or rapt_score_targets"
                                      : "rapt_session_reorder",
                          s->searched ? "replaces" : "moves");
    if (layer < -1 || layer >= layers || head < -1 || head >= c->heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "there is no layer %d, head %d: the model has %d layers of %d heads",
                          layer, head, layers, c->heads);
    struct readout r = {.session = s, .cross = cross, .layer = layer, .head = head, .heads = 1};
    r.keys = cross ? s->source_length : s->length, r.weights = weights;
    if (encoder)
        rapt__team_run(s->limits.threads, work_on_encoder, &r);
    else if (s->target_rows)
        rapt__team_run(s->limits.threads, work_on_rows, &r);
    return RAPT_OK;
}

rapt_status rapt_session_alignment(rapt_session *s, int layer, int head, float *weights,
                                   rapt_message *why)
{
    return rapt_session_weights(s, RAPT_WEIGHTS_CROSS, layer, head, weights, why);
}

/* ---- records ---- */

void rapt__record_layout(struct alignment_record *record, size_t floats, size_t parents,
                         struct arena *arena)
{
    record->rows = rapt__arena_floats(arena, floats, 1);
    record->parents = rapt__arena_take(arena, parents, sizeof *record->parents);
}

/* Returns the number of floats per position of a record: for every slot, one row over the tokens of
   its source. */
static size_t position_floats(const rapt_session *s)
{
    return (size_t)s->limits.beams * (size_t)s->source_starts[s->sources];
}

void rapt__record_rows(struct search *s)
{
    rapt_session *session = s->session;
    const rapt_config *c = &session->model->config;
    int layer = c->alignment_layer;
    struct readout r = {.session = session,
                        .cross = true,
                        .keys = session->source_length,
                        .layer = layer - 1,
                        .head = layer ? GUIDED_HEAD : -1,
                        .heads = rapt__config_int(c, CONFIG_alignment_heads),
                        .position = position_floats(session),
                        .weights = s->record->rows,
                        .wanted = s->record->wanted};
    if (session->target_rows && r.position)
        rapt__team_run(session->limits.threads, work_on_rows, &r);
}

void rapt__record_parents(struct search *s, int source)
{
    size_t targets = (size_t)s->session->targets, first = (size_t)source * (size_t)s->stride;
    memcpy(s->record->parents + (size_t)s->m->count[source] * targets + first,
           s->m->parents + first, (size_t)s->stride * sizeof *s->record->parents);
}

/* Returns the row of a slot at a position. */
static const float *row_at(const struct search *s, int slot, int position)
{
    const rapt_session *session = s->session;
    const size_t first = (size_t)s->stride * (size_t)session->source_starts[slot / s->stride];
    return s->record->rows + (size_t)position * position_floats(session) + first +
           (size_t)(slot % s->stride) * (size_t)session->source_length[slot];
}

/* Returns the slot that held the sequence of a slot before token number position - 1 was added. */
static int parent_of(const struct search *s, int slot, int position)
{
    return s->record->parents[(size_t)position * (size_t)s->session->targets + (size_t)slot];
}

void rapt__record_trace(const struct search *s, int slot, int count, bool ended, float *alignment)
{
    size_t keys = (size_t)s->session->source_length[slot];
    if (!ended) memset(alignment + (size_t)count * keys, 0, keys * sizeof *alignment);
    for (int step = count; step >= 0; step--) {
        if (ended || step < count)
            memcpy(alignment + (size_t)step * keys, row_at(s, slot, step),
                   keys * sizeof *alignment);
        if (step > 0) slot = parent_of(s, slot, step);
    }
}

double rapt__record_coverage(const struct search *s, int slot, int count, bool ended)
{
    double sum = 0;
    for (int key = 0; key < s->session->source_length[slot]; key++) {
        double covered = 0;
        for (int step = count, at = slot; step >= 0; step--) {
            if (ended || step < count) covered += (double)row_at(s, at, step)[key];
            if (step > 0) at = parent_of(s, at, step);
        }
        if (!(covered >= 1)) sum += rapt__log(fmax(covered, (double)FLT_MIN));
    }
    return sum;
}
