/* checkpoint.c - saves and loads checkpoints: parameters, adapters, Adam's moments, and the fields
   of checkpoint.def, such as the number of steps, all in one file. The results of a trainer that
   loads a checkpoint are bit-identical to those of the trainer that saved it if both have the same
   options and limits.shards. */
#include "train/train.h"

#include "format/format.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_TEXT = 40 };
enum { COUNT, FLOAT, DOUBLE, OPTIONAL = 8 };
enum { ALWAYS, SAMPLED, MEASURED, ADAPTED, QUANTIZED };

static const struct field {
    const char *key;
    size_t offset; /* offset in struct trainer_state */
    int kind, when;
    double max;
} fields[] = {
#define CHECKPOINT(type, member, key, kind, max, when)                                             \
    {key, offsetof(struct trainer_state, member), kind, when, max},
#include "train/checkpoint.def"
};
enum { FIELDS = sizeof fields / sizeof *fields, STATE_TEXT = FIELDS * FIELD_TEXT };

/* Returns true if a trainer writes the field. */
static bool present(const rapt_trainer *t, const struct field *f)
{
    if (f->when == SAMPLED) return t->losses != NULL;
    if (f->when == ADAPTED) return t->tuning.base.count > 0;
    if (f->when == QUANTIZED) return t->options.quantize_aware != 0;
    return f->when == ALWAYS || t->options.products == RAPT_PRODUCTS_AUTO;
}

/* The arrays that a checkpoint contains. */
enum { PARAMETERS, FIRST, SECOND, FROZEN, ADAPTERS, ADAPTER_FIRST, ADAPTER_SECOND, MEMORIES };
struct saved_memory {
    float *at;
    size_t floats;
};

static void memory_of(const rapt_trainer *t, struct saved_memory memory[MEMORIES])
{
    const struct tuning *u = &t->tuning;
    const struct saved_memory all[MEMORIES] = {
        [PARAMETERS] = {t->model->block, t->model->layout.floats},
        [FIRST] = {t->m, u->moments.floats},
        [SECOND] = {t->v, u->moments.floats},
        [FROZEN] = {u->frozen, u->base.floats},
        [ADAPTERS] = {u->adapters, u->floats},
        [ADAPTER_FIRST] = {u->m, u->floats},
        [ADAPTER_SECOND] = {u->v, u->floats},
    };
    memcpy(memory, all, sizeof all);
}

enum { BLOCKS = 10 };
/* Describes the tensors of a checkpoint, with their arrays in `memory`. */
static void blocks_of(const rapt_trainer *t, const struct saved_memory memory[MEMORIES],
                      struct block_file blocks[BLOCKS])
{
    const struct tuning *u = &t->tuning;
    const struct block_file all[BLOCKS] = {
        {"", memory[PARAMETERS].at, FINITE_VALUE, NULL},
        {"adam.m.", memory[FIRST].at, FINITE_VALUE, &u->moments},
        {"adam.v.", memory[SECOND].at, FINITE_NOT_NEGATIVE, &u->moments},
        {"lora.base.", memory[FROZEN].at, FINITE_VALUE, &u->base},
        {"lora.a.", memory[ADAPTERS].at, FINITE_VALUE, &u->a},
        {"lora.b.", memory[ADAPTERS].at, FINITE_VALUE, &u->b},
        {"adam.m.lora.a.", memory[ADAPTER_FIRST].at, FINITE_VALUE, &u->a},
        {"adam.m.lora.b.", memory[ADAPTER_FIRST].at, FINITE_VALUE, &u->b},
        {"adam.v.lora.a.", memory[ADAPTER_SECOND].at, FINITE_NOT_NEGATIVE, &u->a},
        {"adam.v.lora.b.", memory[ADAPTER_SECOND].at, FINITE_NOT_NEGATIVE, &u->b},
    };
    memcpy(blocks, all, sizeof all);
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

/* Rejects a rate or parameters that rapt_trainer_load would reject, because saving them might
   overwrite a good checkpoint. */
static rapt_status savable(const rapt_trainer *t, rapt_message *why)
{
    size_t floats = t->model->layout.floats;
    rapt_status status = rapt__rate_check(t->state.rate, why);
    if (status || rapt__finite_count(t->model->block, floats) == floats) return status;
    return rapt__fail(why, RAPT_NOT_FINITE,
                      "a parameter is infinite or NaN, so the checkpoint could not be loaded");
}

rapt_status rapt_trainer_save(const rapt_trainer *t, const char *path,
                              const rapt_metadata *metadata, int count, rapt_message *why)
{
    char state[STATE_TEXT];
    if (!t || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", t ? "path" : "trainer");
    if (rapt__gradient_waits(t) || t->shards.count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "gradients are waiting for a step: take that step before saving");
    rapt_status status = savable(t, why);
    if (status) return status;
    write_state(t, state);
    struct saved_memory memory[MEMORIES];
    struct block_file blocks[BLOCKS];
    memory_of(t, memory);
    blocks_of(t, memory, blocks);
    const struct block_output to = {.path = path};
    return rapt__blocks_save(t->model, blocks, BLOCKS, &to, metadata, count, state, why);
}

/* ---- reading ---- */

struct text_part { /* bytes at .. end - 1 */
    const char *at, *end;
};

/* Removes and returns the next word of a string whose words are separated by single spaces. The
   word is empty at the end of the string. */
static struct text_part next_word(struct text_part *text)
{
    struct text_part word = {text->at, text->at};
    while (word.end < text->end && *word.end != ' ') word.end++;
    text->at = word.end < text->end ? word.end + 1 : word.end;
    return word;
}

static bool is_key(const struct text_part *word, const char *key)
{
    size_t size = strlen(key);
    return (size_t)(word->end - word->at) == size && memcmp(word->at, key, size) == 0;
}

/* Parses a number in a given base. Returns false if the word is not a number or is larger than
   max. */
static bool read_digits(const struct text_part *word, unsigned base, uint64_t max, uint64_t *number)
{
    static const char digits[] = "0123456789abcdef";
    *number = 0;
    for (const char *at = word->at; at < word->end; at++) {
        const char *digit = *at ? strchr(digits, *at) : NULL;
        uint64_t value = digit ? (uint64_t)(digit - digits) : base;
        if (value >= base || *number > (max - value) / base) return false;
        *number = *number * base + value;
    }
    return word->at < word->end;
}

/* Parses the value of a field into *state. Returns false if it is not a number or is out of the
   field's range. */
static bool read_value(const struct field *f, const struct text_part *word,
                       struct trainer_state *state)
{
    char *to = (char *)state + f->offset;
    uint64_t number;
    double value;
    long long count;
    float single;
    switch (f->kind % OPTIONAL) {
    case COUNT:
        if (!read_digits(word, 10, (uint64_t)f->max, &number)) return false;
        count = (long long)number;
        memcpy(to, &count, sizeof count);
        return true;
    case FLOAT:
        if (!read_digits(word, 16, UINT32_MAX, &number)) return false;
        memcpy(&single, &(uint32_t){(uint32_t)number}, sizeof single);
        memcpy(to, &single, sizeof single);
        value = (double)single;
        break;
    default:
        if (!read_digits(word, 16, UINT64_MAX, &number)) return false;
        memcpy(&value, &number, sizeof value);
        memcpy(to, &value, sizeof value);
    }
    return value >= 0 && value <= f->max;
}

static rapt_status bad_value(const struct field *f, const struct text_part *word, rapt_message *why)
{
    int shown = (int)rapt__min_size((size_t)(word->end - word->at), 40);
    return rapt__fail(why, RAPT_BAD_FILE, "metadata " TRAINER_KEY ": %s is %.*s; it must be %s%g",
                      f->key, shown, word->at,
                      f->kind % OPTIONAL == COUNT ? "a whole number from 0 to "
                                                  : "the bits of a number from 0 to ",
                      f->max);
}

rapt_status rapt__trainer_state_read(struct trainer_state *state, bool samples, const char *text,
                                     size_t size, rapt_message *why)
{
    struct trainer_state read = *state;
    struct text_part rest = {text, text + size};
    for (int i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        struct text_part left = rest, key = next_word(&left);
        if (f->when == SAMPLED && !samples) continue;
        if (!is_key(&key, f->key)) {
            if (f->kind & OPTIONAL) continue;
            return rapt__fail(why, RAPT_BAD_FILE, "metadata " TRAINER_KEY ": %s is missing",
                              f->key);
        }
        struct text_part word = next_word(&left);
        if (!read_value(f, &word, &read)) return bad_value(f, &word, why);
        rest = left;
    }
    if (rest.at < rest.end)
        return rapt__fail(why, RAPT_BAD_FILE, "metadata " TRAINER_KEY ": unknown field %.*s",
                          (int)rapt__min_size((size_t)(rest.end - rest.at), 40), rest.at);
    *state = read;
    return RAPT_OK;
}

/* Reads the fields of a checkpoint into *state, and checks that they and the model configuration in
   the checkpoint suit the trainer. */
static rapt_status load_state(const rapt_trainer *t, struct tensor_file *file,
                              struct trainer_state *state, rapt_message *why)
{
    rapt_config config;
    const float scale = t->tuning.scale;
    const char *text = rapt__tensors_metadata(file, CONFIG_KEY);
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "metadata rapt.config is missing");
    rapt_status status = rapt__config_read(&config, text, strlen(text), why);
    if (status) return status;
    if (!rapt__config_same(&config, &t->model->config))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the checkpoint's model configuration differs from this trainer's");
    text = rapt__tensors_metadata(file, TRAINER_KEY);
    if (!text)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the file is a model without a trainer's state, not a checkpoint");
    status = rapt__trainer_state_read(state, t->losses != NULL, text, strlen(text), why);
    if (!status) status = rapt__products_check(t, state, why);
    if (status || state->lora_scale == scale) return status;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "the scale of the checkpoint's adapters, lora_alpha / lora_rank, is %g, but "
                      "this trainer's is %g (0: no adapters)",
                      (double)state->lora_scale, (double)scale);
}

/* Sets up a trainer to continue from `state` after its parameters and moments have been loaded. */
static void continue_from(rapt_trainer *t, const struct trainer_state *state)
{
    rapt__shards_forget(t);
    memset(t->gradients, 0, t->model->layout.floats * sizeof(float));
    t->state = *state, t->tokens = 0, t->added = false;
    rapt__products_restore(t);
    rapt__tuning_bound(t);
    t->model->bound = (double)INFINITY;
    float bound = 0; /* gcc 12 for arm64 fails on this loop with double */
    for (size_t i = 0; i < t->tuning.moments.floats; i++) bound = fmaxf(bound, fabsf(t->m[i]));
    for (size_t i = 0; i < t->tuning.floats; i++) bound = fmaxf(bound, fabsf(t->tuning.m[i]));
    t->moment_bound = (double)bound;
    t->sums = (rapt_report){0};
}

/* Reads everything into `staged` first, so that a failure leaves the trainer unchanged. */
static rapt_status load_staged(rapt_trainer *t, struct tensor_file *file, float *staged,
                               rapt_message *why)
{
    struct trainer_state state = t->state;
    struct saved_memory own[MEMORIES], read[MEMORIES];
    struct block_file blocks[BLOCKS];
    state.lora_scale = 0; /* a checkpoint without the field has no adapters */
    rapt_status status = load_state(t, file, &state, why);
    if (status) return status;
    memory_of(t, own);
    memcpy(read, own, sizeof read);
    for (int i = 0; i < MEMORIES; i++) read[i].at = staged, staged += read[i].floats;
    blocks_of(t, read, blocks);
    status = rapt__blocks_match(t->model, blocks, BLOCKS, file, why);
    if (!status) status = rapt__blocks_load(t->model, blocks, BLOCKS, file, why);
    if (status) return status;
    for (int i = 0; i < MEMORIES; i++)
        if (own[i].floats) memcpy(own[i].at, read[i].at, own[i].floats * sizeof(float));
    continue_from(t, &state);
    return RAPT_OK;
}

rapt_status rapt_trainer_load(rapt_trainer *t, const char *path, rapt_message *why)
{
    if (!t || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", t ? "path" : "trainer");
    struct tensor_file *file;
    rapt_message reason = {"not enough memory to load the checkpoint"};
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, &t->allocator);
    rapt_status status = rapt__tensors_open(&file, path, &reading, why);
    if (status) return rapt__budget_end(&budget, status, why);
    struct saved_memory memory[MEMORIES];
    size_t bytes = 0;
    memory_of(t, memory);
    for (int i = 0; i < MEMORIES; i++) bytes += memory[i].floats * sizeof(float);
    float *staged = rapt__alloc(&t->allocator, bytes);
    if (staged) memset(staged, 0, bytes);
    status = staged ? load_staged(t, file, staged, &reason) : RAPT_NO_MEMORY;
    rapt__free(&t->allocator, staged, bytes);
    rapt__tensors_close(file);
    return status ? rapt__fail(why, status, "%.200s: %.300s", path, reason.text) : RAPT_OK;
}
