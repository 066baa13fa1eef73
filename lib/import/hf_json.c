/* hf_json.c - reads tokenizer.json, in which Hugging Face's `tokenizers` library stores a whole
   tokenizer. Nothing in the file is trusted. Post-processors, decoders, truncation and padding are
   skipped; the special tokens around a text are determined by other files of the model. Source:
   tokenizers 0.23, tokenizer/serialization.rs. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

static const char file[] = "tokenizer.json";

struct json_reading {
    struct import *i;
    struct hf_json *to;
    struct json j;
    rapt_status status; /* an error whose message has already been set, or RAPT_OK */
};

static bool lacks_memory(struct json_reading *r)
{
    r->status = rapt__fail(r->i->why, RAPT_NO_MEMORY, "%s: out of memory while reading", file);
    return false;
}

/* ---- objects ---- */

/* Reads the value of a key. Returns false after an error. */
typedef bool take_fn(struct json_reading *r, const char *key, void *user);

static bool take_object(struct json_reading *r, take_fn *take, void *user)
{
    if (!rapt__json_want(&r->j, '{')) return false;
    if (rapt__json_next(&r->j, '}')) return true;
    do {
        const char *key = rapt__json_string(&r->j);
        if (!key || !rapt__json_want(&r->j, ':') || !take(r, key, user)) return false;
    } while (rapt__json_next(&r->j, ','));
    return rapt__json_want(&r->j, '}');
}

/* Reads a string into *text. Any other value is skipped, and *text becomes NULL. */
static bool take_string(struct json_reading *r, const char **text)
{
    *text = NULL;
    if (rapt__json_peek(&r->j) != '"') return rapt__json_skip(&r->j);
    return (*text = rapt__json_string(&r->j)) != NULL;
}

/* Reads true or false into *flag. Any other value is skipped, and *flag becomes HF_MISSING. */
static bool take_maybe(struct json_reading *r, enum hf_maybe *flag)
{
    const int c = rapt__json_peek(&r->j);
    *flag = HF_MISSING;
    if (c != 't' && c != 'f') return rapt__json_skip(&r->j);
    const char *word = rapt__json_word(&r->j);
    if (word) *flag = strcmp(word, "true") == 0 ? HF_TRUE : HF_FALSE;
    return word != NULL;
}

/* Reads a whole number below 2^24 into *number, which becomes -1 for a larger or negative number
   and for any other kind of value. Numbers of 2^64 or more, and unsigned numbers with a fraction or
   an exponent, are errors. */
static bool take_whole(struct json_reading *r, int *number)
{
    uint64_t value;
    const int c = rapt__json_peek(&r->j);
    *number = -1;
    if (c < '0' || c > '9') return rapt__json_skip(&r->j);
    if (!rapt__json_number(&r->j, &value)) return false;
    if (value < 1 << 24) *number = (int)value;
    return true;
}

/* ---- normalizers and pre-tokenizers ---- */

/* Reads the text in {"String": text} or {"Regex": text}. */
static bool take_pattern(struct json_reading *r, const char *key, void *user)
{
    (void)key;
    return take_string(r, user);
}

static bool take_step_key(struct json_reading *r, const char *key, void *user)
{
    struct hf_step *s = user;
    const struct {
        const char *key;
        const char **text;
        enum hf_maybe *flag;
    } keys[] = {
        {"type", &s->type, NULL},
        {"precompiled_charsmap", &s->charsmap, NULL},
        {"replacement", &s->replacement, NULL},
        {"prepend_scheme", &s->scheme, NULL},
        {"content", &s->content, NULL},
        {"lowercase", NULL, &s->lowercase},
        {"strip_accents", NULL, &s->strip_accents},
        {"handle_chinese_chars", NULL, &s->han},
        {"clean_text", NULL, &s->clean},
        {"add_prefix_space", NULL, &s->space_first},
        {"use_regex", NULL, &s->regex},
        {"strip_left", NULL, &s->left},
        {"strip_right", NULL, &s->right},
    };
    for (size_t n = 0; n < sizeof keys / sizeof *keys; n++)
        if (strcmp(key, keys[n].key) == 0)
            return keys[n].text ? take_string(r, keys[n].text) : take_maybe(r, keys[n].flag);
    if (strcmp(key, "pattern") == 0 && rapt__json_peek(&r->j) == '{')
        return take_object(r, take_pattern, &s->pattern);
    return rapt__json_skip(&r->j);
}

static bool take_step(struct json_reading *r, struct hf_steps *steps)
{
    if (steps->count < HF_JSON_STEPS)
        return take_object(r, take_step_key, &steps->all[steps->count++]);
    r->status = rapt__import_bad(r->i, "%s: a normalizer or pre-tokenizer has more than %d steps",
                                 file, HF_JSON_STEPS);
    return false;
}

struct outer_step { /* a step, or a sequence of steps, which are appended to `steps` */
    struct hf_step own;
    struct hf_steps *steps;
};

static bool take_outer_key(struct json_reading *r, const char *key, void *user)
{
    struct outer_step *o = user;
    if (strcmp(key, "normalizers") != 0 && strcmp(key, "pretokenizers") != 0)
        return take_step_key(r, key, &o->own);
    if (!rapt__json_want(&r->j, '[')) return false;
    if (rapt__json_next(&r->j, ']')) return true;
    do {
        if (!take_step(r, o->steps)) return false;
    } while (rapt__json_next(&r->j, ','));
    return rapt__json_want(&r->j, ']');
}

/* Reads null, a step, or a sequence of steps. */
static bool take_steps(struct json_reading *r, struct hf_steps *steps)
{
    struct outer_step o = {.steps = steps};
    steps->count = 0;
    if (rapt__json_peek(&r->j) != '{') return rapt__json_skip(&r->j);
    if (!take_object(r, take_outer_key, &o)) return false;
    if (o.own.type && strcmp(o.own.type, "Sequence") == 0) return true;
    steps->all[0] = o.own, steps->count = 1;
    return true;
}

/* ---- added tokens ---- */

static bool take_added_key(struct json_reading *r, const char *key, void *user)
{
    struct hf_added *a = user;
    if (strcmp(key, "content") == 0) return take_string(r, &a->name);
    if (strcmp(key, "id") == 0) return take_whole(r, &a->id);
    enum hf_maybe *flag = strcmp(key, "lstrip") == 0        ? &a->left
                          : strcmp(key, "rstrip") == 0      ? &a->right
                          : strcmp(key, "single_word") == 0 ? &a->single
                                                            : NULL;
    return flag ? take_maybe(r, flag) : rapt__json_skip(&r->j);
}

static bool take_added(struct json_reading *r)
{
    struct hf_json *to = r->to;
    to->added_count = 0;
    if (!rapt__json_want(&r->j, '[')) return false;
    if (rapt__json_next(&r->j, ']')) return true;
    do {
        struct hf_added one = {.id = -1};
        if (!take_object(r, take_added_key, &one) || !one.name || one.id < 0) return false;
        if (to->added_count == to->added_capacity) {
            void *grown =
                rapt__grown(&r->i->allocator, to->added, &to->added_capacity, sizeof *to->added);
            if (!grown) return lacks_memory(r);
            to->added = grown;
        }
        to->added[to->added_count++] = one;
    } while (rapt__json_next(&r->j, ','));
    return rapt__json_want(&r->j, ']');
}

/* ---- the vocabulary ---- */

/* Sets the name of row `id` of the table, or does nothing if there is no such row. Fails if the row
   already has another name. */
static bool put_name(struct json_reading *r, int id, const char *name)
{
    struct hf_json *to = r->to;
    if (id >= to->rows) return true;
    const rapt_text *before = &to->names[id];
    if (before->bytes && strcmp(before->bytes, name) != 0) {
        r->status = rapt__import_bad(r->i, "%s: %.60s and %.60s both have the id %d", file,
                                     before->bytes, name, id);
        return false;
    }
    to->names[id] = (rapt_text){name, strlen(name)};
    return true;
}

static bool take_name(struct json_reading *r, const char *key, void *user)
{
    int id;
    (void)user;
    return take_whole(r, &id) && id >= 0 && put_name(r, id, key);
}

/* Reads [[name, score], ...]. */
static bool take_scored_names(struct json_reading *r)
{
    int id = 0;
    r->to->listed = true;
    if (!rapt__json_want(&r->j, '[')) return false;
    if (rapt__json_next(&r->j, ']')) return true;
    do {
        float score;
        if (!rapt__json_want(&r->j, '[')) return false;
        const char *name = rapt__json_string(&r->j);
        const char *text =
            name && rapt__json_want(&r->j, ',') ? rapt__json_number_text(&r->j) : NULL;
        if (!text || !rapt__float_read(text, &score) || !rapt__json_want(&r->j, ']')) return false;
        if (id < r->to->rows) r->to->scores[id] = score;
        if (!put_name(r, id++, name)) return false;
    } while (rapt__json_next(&r->j, ','));
    return rapt__json_want(&r->j, ']');
}

/* Reads a merge: "left right" or ["left", "right"]. */
static bool take_merge(struct json_reading *r, struct hf_merge *m)
{
    char *const text = (char *)r->j.text;
    const bool list = rapt__json_next(&r->j, '[');
    const char *left = rapt__json_string(&r->j), *right = NULL;
    if (!left) return false;
    m->left = text + (left - text);
    if (list) {
        right = rapt__json_want(&r->j, ',') ? rapt__json_string(&r->j) : NULL;
        if (right) m->right = text + (right - text);
        return right && rapt__json_want(&r->j, ']');
    }
    m->right = strchr(m->left, ' ');
    if (m->right) *m->right++ = 0;
    return m->right != NULL;
}

static bool take_merges(struct json_reading *r)
{
    struct hf_json *to = r->to;
    to->merge_count = 0;
    if (!rapt__json_want(&r->j, '[')) return false;
    if (rapt__json_next(&r->j, ']')) return true;
    do {
        struct hf_merge one;
        if (!take_merge(r, &one)) return false;
        if (to->merge_count == to->merge_capacity) {
            void *grown =
                rapt__grown(&r->i->allocator, to->merges, &to->merge_capacity, sizeof *to->merges);
            if (!grown) return lacks_memory(r);
            to->merges = grown;
        }
        to->merges[to->merge_count++] = one;
    } while (rapt__json_next(&r->j, ','));
    return rapt__json_want(&r->j, ']');
}

static bool take_model_key(struct json_reading *r, const char *key, void *user)
{
    struct hf_json *to = user;
    if (strcmp(key, "type") == 0) return take_string(r, &to->type);
    if (strcmp(key, "unk_token") == 0) return take_string(r, &to->unknown);
    if (strcmp(key, "unk_id") == 0) return take_whole(r, &to->unknown_id);
    if (strcmp(key, "continuing_subword_prefix") == 0) return take_string(r, &to->prefix);
    if (strcmp(key, "end_of_word_suffix") == 0) return take_string(r, &to->suffix);
    if (strcmp(key, "max_input_chars_per_word") == 0) return take_whole(r, &to->longest);
    if (strcmp(key, "byte_fallback") == 0) return take_maybe(r, &to->byte_fallback);
    if (strcmp(key, "merges") == 0) return take_merges(r);
    if (strcmp(key, "vocab") != 0) return rapt__json_skip(&r->j);
    return rapt__json_peek(&r->j) == '[' ? take_scored_names(r) : take_object(r, take_name, NULL);
}

/* ---- the file ---- */

static bool take_key(struct json_reading *r, const char *key, void *user)
{
    struct hf_json *to = user;
    if (strcmp(key, "normalizer") == 0) return take_steps(r, &to->normalizer);
    if (strcmp(key, "pre_tokenizer") == 0) return take_steps(r, &to->splitter);
    if (strcmp(key, "added_tokens") == 0) return take_added(r);
    if (strcmp(key, "model") == 0) return take_object(r, take_model_key, to);
    return rapt__json_skip(&r->j);
}

static rapt_status parse(struct json_reading *r)
{
    if (take_object(r, take_key, r->to) && rapt__json_end(&r->j)) {
        for (size_t n = 0; n < r->to->added_count; n++)
            if (!put_name(r, r->to->added[n].id, r->to->added[n].name)) return r->status;
        return RAPT_OK;
    }
    if (r->status) return r->status;
    return rapt__import_bad(
        r->i, "%s: byte %zu: %s", file, r->j.at,
        r->j.error ? r->j.error : "the value before this byte does not have the expected form");
}

rapt_status rapt__hf_json_read(struct import *i, struct hf_json *json)
{
    *json = (struct hf_json){.unknown_id = -1, .longest = -1, .rows = i->config.source_vocab};
    const size_t names = (size_t)json->rows * sizeof *json->names,
                 scores = (size_t)json->rows * sizeof *json->scores;
    rapt_status status = rapt__import_read(i, file, &json->bytes, &json->size);
    if (status) return status;
    json->names = rapt__alloc(&i->allocator, names);
    json->scores = rapt__alloc(&i->allocator, scores);
    if (!json->names || !json->scores)
        return rapt__fail(i->why, RAPT_NO_MEMORY, "%s: out of memory while reading", file);
    memset(json->names, 0, names);
    memset(json->scores, 0, scores);
    struct json_reading r = {
        i, json, {.text = (unsigned char *)json->bytes, .size = json->size}, RAPT_OK};
    status = parse(&r);
    if (!status) rapt__import_record(i, file, RAPT_FILE_USE_VOCABULARY);
    return status;
}

void rapt__hf_json_free(struct import *i, struct hf_json *json)
{
    const size_t rows = (size_t)json->rows;
    if (json->bytes) rapt__free(&i->allocator, json->bytes, json->size + 1);
    rapt__free(&i->allocator, json->names, rows * sizeof *json->names);
    rapt__free(&i->allocator, json->scores, rows * sizeof *json->scores);
    rapt__free(&i->allocator, json->added, json->added_capacity * sizeof *json->added);
    rapt__free(&i->allocator, json->merges, json->merge_capacity * sizeof *json->merges);
}
