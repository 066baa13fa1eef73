/* checkpoint.c - checkpoint: parameters, Adam moments, step and random counters in one file. A
   trainer that loads it continues with the same bits. */
#include "run/trainer.h"

#include "format/format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 3, FIELD_TEXT = 40 };
enum { COUNT, FLOAT, DOUBLE, OPTIONAL = 8 };
enum { ALWAYS, SAMPLED };

static const struct field {
    const char *key;
    size_t offset; /* in struct trainer_state */
    int kind, when;
    double max;
} fields[] = {
#define CHECKPOINT(type, member, key, kind, max, when)                                             \
    {key, offsetof(struct trainer_state, member), kind, when, max},
#include "run/checkpoint.def"
};
enum { FIELDS = sizeof fields / sizeof *fields, STATE_TEXT = FIELDS * FIELD_TEXT };

static bool present(const rapt_trainer *t, const struct field *f)
{
    return f->when == ALWAYS || t->losses != NULL;
}

static void write_state(const rapt_trainer *t, char state[STATE_TEXT])
{
    size_t end = 0;
    for (int i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const char *from = (const char *)&t->state + f->offset, *gap = i ? " " : "";
        long long count;
        uint32_t bits;
        uint64_t wide;
        if (!present(t, f)) continue;
        char *to = state + end;
        int n = 0;
        switch (f->kind % OPTIONAL) {
        case COUNT:
            memcpy(&count, from, sizeof count);
            n = snprintf(to, FIELD_TEXT, "%s%s %lld", gap, f->key, count);
            break;
        case FLOAT:
            memcpy(&bits, from, sizeof bits);
            n = snprintf(to, FIELD_TEXT, "%s%s %08" PRIx32, gap, f->key, bits);
            break;
        default:
            memcpy(&wide, from, sizeof wide);
            n = snprintf(to, FIELD_TEXT, "%s%s %016" PRIx64, gap, f->key, wide);
        }
        end += (size_t)n;
    }
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

/* One value from text into the state; what follows it, or NULL: it is not one, or out of range. */
static const char *read_value(const struct field *f, const char *text, struct trainer_state *state)
{
    char *to = (char *)state + f->offset;
    long long count = -1;
    uint32_t bits;
    uint64_t wide;
    float single;
    double number = -1;
    int end = 0, read = 0;
    switch (f->kind % OPTIONAL) {
    case COUNT:
        read = sscanf(text, "%lld%n", &count, &end);
        number = (double)count;
        if (read == 1) memcpy(to, &count, sizeof count);
        break;
    case FLOAT:
        read = sscanf(text, "%8" SCNx32 "%n", &bits, &end);
        if (read == 1)
            memcpy(to, &bits, sizeof bits), memcpy(&single, to, sizeof single),
                number = (double)single;
        break;
    default:
        read = sscanf(text, "%16" SCNx64 "%n", &wide, &end);
        if (read == 1) memcpy(to, &wide, sizeof wide), memcpy(&number, to, sizeof number);
    }
    return read == 1 && number >= 0 && number <= f->max ? text + end : NULL;
}

static rapt_status read_state(const rapt_trainer *t, const struct tensor_file *file,
                              struct trainer_state *state, rapt_message *why)
{
    const char *text = rapt__tensors_metadata(file, TRAINER_KEY);
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "it is a model, not a trainer's checkpoint");
    for (int i = 0; text && i < FIELDS; i++) {
        const struct field *f = &fields[i];
        size_t size = strlen(f->key);
        const char *key = text + (*text == ' ');
        if (!present(t, f)) continue;
        if (strncmp(key, f->key, size) == 0 && key[size] == ' ')
            text = read_value(f, key + size + 1, state);
        else if (!(f->kind & OPTIONAL))
            text = NULL;
    }
    if (!text || *text)
        return rapt__fail(why, RAPT_BAD_FILE, "metadata %s is damaged", TRAINER_KEY);
    return RAPT_OK;
}

/* Reads all into `staged` first, so that a failure leaves the trainer as it was. */
static rapt_status load_staged(rapt_trainer *t, struct tensor_file *file, float *staged,
                               rapt_message *why)
{
    size_t n = t->model->layout.floats;
    rapt_config config;
    struct trainer_state state = t->state;
    const char *text = rapt__tensors_metadata(file, CONFIG_KEY);
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "metadata rapt.config is missing");
    rapt_status status = rapt__config_read(&config, text, why);
    if (status) return status;
    if (!rapt__config_same(&config, &t->model->config))
        return rapt__fail(why, RAPT_BAD_FILE, "it belongs to a model of another configuration");
    status = read_state(t, file, &state, why);
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
    t->state = state, t->tokens = 0;
    t->sums = (rapt_report){0};
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
