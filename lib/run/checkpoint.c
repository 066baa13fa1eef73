/* checkpoint.c - checkpoint: parameters, Adam moments, step and random counters in one file. A
   trainer that loads it continues with the same bits. */
#include "run/trainer.h"

#include "format/format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STATE_TEXT = 128, BLOCKS = 3 };
static const long long MAX_STEPS = 1LL << 53; /* exact as a double */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t wide_bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void write_state(const rapt_trainer *t, char state[STATE_TEXT])
{
    int end = snprintf(state, STATE_TEXT, "steps %lld calls %lld rate %08" PRIx32, t->steps,
                       t->calls, bits_of(t->rate));
    if (t->losses)
        snprintf(state + end, (size_t)(STATE_TEXT - end), " expected %016" PRIx64,
                 wide_bits_of(t->expected));
}

rapt_status rapt_trainer_save(const rapt_trainer *t, const char *path,
                              const rapt_metadata *metadata, int count, rapt_message *why)
{
    char state[STATE_TEXT];
    if (!t || !path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL", t ? "path" : "trainer");
    if (t->tokens)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "gradients have been added that no step has applied");
    write_state(t, state);
    struct block_file blocks[BLOCKS] = {
        {"", t->model->block}, {"adam.m.", t->m}, {"adam.v.", t->v}};
    return rapt__blocks_save(t->model, blocks, BLOCKS, path, metadata, count, state, why);
}

/* What is at the end of the state of a trainer that samples; false: it is not that. */
static bool read_expected(rapt_trainer *t, const char *text)
{
    uint64_t bits;
    int end = 0;
    if (!t->losses) return text[0] == 0;
    if (sscanf(text, " expected %16" SCNx64 "%n", &bits, &end) != 1 || text[end] != 0) return false;
    memcpy(&t->expected, &bits, sizeof t->expected);
    return t->expected >= 0 && t->expected <= 1e6;
}

static rapt_status read_state(rapt_trainer *t, const struct tensor_file *file, rapt_message *why)
{
    const char *text = rapt__tensors_metadata(file, TRAINER_KEY);
    uint32_t rate;
    int end = 0;
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "it is a model, not a trainer's checkpoint");
    if (sscanf(text, "steps %lld calls %lld rate %8" SCNx32 "%n", &t->steps, &t->calls, &rate,
               &end) != 3 ||
        !read_expected(t, text + end) || t->steps < 0 || t->steps > MAX_STEPS || t->calls < 0 ||
        t->calls > MAX_STEPS)
        return rapt__fail(why, RAPT_BAD_FILE, "metadata %s is damaged", TRAINER_KEY);
    memcpy(&t->rate, &rate, sizeof t->rate);
    if (!(t->rate >= 0 && t->rate <= 1e6f))
        return rapt__fail(why, RAPT_BAD_FILE, "metadata %s is damaged", TRAINER_KEY);
    return RAPT_OK;
}

/* Reads all into `staged` first, so that a failure leaves the trainer as it was. */
static rapt_status load_staged(rapt_trainer *t, struct tensor_file *file, float *staged,
                               rapt_message *why)
{
    size_t n = t->model->layout.floats;
    rapt_config config;
    rapt_trainer state = *t;
    const char *text = rapt__tensors_metadata(file, CONFIG_KEY);
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "metadata rapt.config is missing");
    rapt_status status = rapt__config_read(&config, text, why);
    if (status) return status;
    if (!rapt__config_same(&config, &t->model->config))
        return rapt__fail(why, RAPT_BAD_FILE, "it belongs to a model of another configuration");
    status = read_state(&state, file, why);
    if (status) return status;
    struct block_file blocks[BLOCKS] = {
        {"", staged}, {"adam.m.", staged + n}, {"adam.v.", staged + 2 * n}};
    status = rapt__blocks_load(t->model, blocks, BLOCKS, file, why);
    if (status) return status;
    for (size_t i = 0; i < n; i++)
        if (!(staged[2 * n + i] >= 0))
            return rapt__fail(why, RAPT_BAD_FILE, "a second moment of Adam is negative or NaN");
    memcpy(t->model->block, staged, n * sizeof(float));
    memcpy(t->m, staged + n, n * sizeof(float));
    memcpy(t->v, staged + 2 * n, n * sizeof(float));
    memset(t->gradients, 0, n * sizeof(float));
    t->steps = state.steps, t->calls = state.calls, t->rate = state.rate, t->tokens = 0;
    t->sums = (rapt_report){0};
    t->expected = state.expected;
    return RAPT_OK;
}

rapt_status rapt_trainer_load(rapt_trainer *t, const char *path, rapt_message *why)
{
    if (!t || !path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL", t ? "path" : "trainer");
    struct tensor_file *file;
    rapt_message reason = {"no memory to load it"};
    rapt_status status = rapt__tensors_open(&file, path, &t->allocator, why);
    if (status) return status;
    size_t bytes = t->model->layout.floats * sizeof(float) * BLOCKS;
    float *staged = rapt__alloc(&t->allocator, bytes);
    if (staged) memset(staged, 0, bytes);
    status = staged ? load_staged(t, file, staged, &reason) : RAPT_NO_MEMORY;
    rapt__free(&t->allocator, staged, bytes);
    rapt__tensors_close(file);
    return status ? rapt__fail(why, status, "%.200s: %.300s", path, reason.text) : RAPT_OK;
}
