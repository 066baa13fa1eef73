/* checkpoint.c - saves and loads checkpoints: parameters, Adam's moments, and the counters of steps
   and random numbers in one file. A trainer that loads a checkpoint continues with the same bits as
   the trainer that saved it. */
#include "train/train.h"

#include "format/format.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCKS = 3, FIELD_TEXT = 40 };
enum { COUNT, FLOAT, DOUBLE, OPTIONAL = 8 };
enum { ALWAYS, SAMPLED, MEASURED };

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

/* Returns true if a checkpoint may contain the field. `samples` means that the model samples keys,
   `measured` that the products may have been measured. */
static bool present(bool samples, bool measured, const struct field *f)
{
    return f->when == SAMPLED ? samples : f->when == ALWAYS || measured;
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
        if (!present(t->losses != NULL, t->options.products == RAPT_PRODUCTS_AUTO, f)) continue;
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

/* Rejects a state that rapt_trainer_load would reject, because saving it might overwrite a good
   checkpoint. */
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
                          "gradients are waiting for a step: take it before saving");
    rapt_status status = savable(t, why);
    if (status) return status;
    write_state(t, state);
    struct block_file blocks[BLOCKS] = {{"", t->model->block, ANY_VALUE},
                                        {"adam.m.", t->m, ANY_VALUE},
                                        {"adam.v.", t->v, ANY_VALUE}};
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

/* Parses the value of a field into *state. Returns false if it is out of the field's range. */
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
        if (!present(samples, true, f)) continue;
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

/* Reads everything into `staged` first, so that a failure leaves the trainer unchanged. */
static rapt_status load_staged(rapt_trainer *t, struct tensor_file *file, float *staged,
                               rapt_message *why)
{
    size_t n = t->model->layout.floats;
    rapt_config config;
    struct trainer_state state = t->state;
    const char *text = rapt__tensors_metadata(file, CONFIG_KEY);
    if (!text) return rapt__fail(why, RAPT_BAD_FILE, "metadata rapt.config is missing");
    rapt_status status = rapt__config_read(&config, text, strlen(text), why);
    if (status) return status;
    if (!rapt__config_same(&config, &t->model->config))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "it belongs to a model whose configuration differs from this trainer's");
    text = rapt__tensors_metadata(file, TRAINER_KEY);
    if (!text)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "it is a model without the state of a trainer, not a checkpoint");
    status = rapt__trainer_state_read(&state, t->losses != NULL, text, strlen(text), why);
    if (!status) status = rapt__products_check(t, &state, why);
    if (status) return status;
    struct block_file blocks[BLOCKS] = {{"", staged, FINITE_VALUE},
                                        {"adam.m.", staged + n, FINITE_VALUE},
                                        {"adam.v.", staged + 2 * n, FINITE_NOT_NEGATIVE}};
    status = rapt__blocks_match(t->model, blocks, BLOCKS, file, why);
    if (!status) status = rapt__blocks_load(t->model, blocks, BLOCKS, file, why);
    if (status) return status;
    memcpy(t->model->block, staged, n * sizeof(float));
    memcpy(t->m, staged + n, n * sizeof(float));
    memcpy(t->v, staged + 2 * n, n * sizeof(float));
    rapt__shards_forget(t);
    memset(t->gradients, 0, n * sizeof(float));
    t->state = state, t->tokens = 0, t->added = false;
    rapt__products_restore(t);
    t->model->bound = (double)INFINITY;
    float bound = 0; /* gcc 12 for arm64 fails on this loop with double */
    for (size_t i = 0; i < n; i++) bound = fmaxf(bound, fabsf(t->m[i]));
    t->moment_bound = (double)bound;
    t->sums = (rapt_report){0};
    return RAPT_OK;
}

rapt_status rapt_trainer_load(rapt_trainer *t, const char *path, rapt_message *why)
{
    if (!t || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", t ? "path" : "trainer");
    struct tensor_file *file;
    rapt_message reason = {"no memory to load it"};
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, &t->allocator);
    rapt_status status = rapt__tensors_open(&file, path, &reading, why);
    if (status) return rapt__budget_end(&budget, status, why);
    size_t bytes = t->model->layout.floats * sizeof(float) * BLOCKS;
    float *staged = rapt__alloc(&t->allocator, bytes);
    if (staged) memset(staged, 0, bytes);
    status = staged ? load_staged(t, file, staged, &reason) : RAPT_NO_MEMORY;
    rapt__free(&t->allocator, staged, bytes);
    rapt__tensors_close(file);
    return status ? rapt__fail(why, status, "%.200s: %.300s", path, reason.text) : RAPT_OK;
}
