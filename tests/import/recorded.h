/* recorded.h - models of a file in golden/: their settings and tensors as transformers lists them,
   from which a folder is written, and the logits that it computed; pieces and translations of
   multilingual models. */
#ifndef RAPT_TESTS_IMPORT_RECORDED_H
#define RAPT_TESTS_IMPORT_RECORDED_H

#include "import/folder.h"

#include "golden/records.h"

enum { MODELS = 8, TENSORS = 120 };

/* Its config.json, and its tensors as "NAME SIZES". */
struct model {
    char name[32], settings[480];
    bool bare; /* names of tensors do not begin with "model." */
    int count;
    char tensors[TENSORS][112];
};
static struct model models[MODELS];
static int model_count;

static inline void note(char *line)
{
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, " model ", 7) == 0) {
        struct model *m = &models[model_count++];
        assert_true(model_count <= MODELS);
        assert_int_equal(sscanf(line + 7, "%31s %479s", m->name, m->settings), 2);
        return;
    }
    struct model *m = &models[model_count - 1];
    assert_true(strncmp(line, " tensor ", 8) == 0 && m->count < TENSORS);
    snprintf(m->tensors[m->count++], sizeof m->tensors[0], "%.111s", line + 8);
}

/* ---- the folder ---- */

struct change {         /* what a folder has in addition to its model, or instead; NULL: nothing */
    const char *more;   /* a tensor, as "NAME SIZES" */
    const char *shared; /* the name, and sizes, of a tensor with the values of `table` */
    const char *table;
    const char *without; /* a tensor */
    const char *setting; /* of config.json */
};

struct tensors {
    struct bytes header, data;
};

/* drawn: the name from which the values are drawn. */
static inline void put_tensor(struct tensors *t, const char *line, const char *drawn)
{
    enum { MOST = 2560 };
    static float values[MOST];
    char name[112], shape[32], entry[300];
    int rows = 1, columns = 1;
    const int sizes = sscanf(line, "%111s %d %d", name, &rows, &columns) - 1;
    const size_t count = (size_t)(rows * columns), size = count * sizeof *values;
    const char *norm = strstr(drawn, "norm.weight");
    assert_true(sizes >= 1 && count <= MOST);
    draw(drawn, "", 1, norm != NULL, values, count);
    snprintf(shape, sizeof shape, sizes == 1 ? "%d" : "%d,%d", rows, columns);
    snprintf(entry, sizeof entry,
             "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
             t->header.size ? "," : "{", name, shape, t->data.size, t->data.size + size);
    put_text(&t->header, entry);
    put_floats(&t->data, values, count);
}

static inline void write_tensors(const char *folder, const struct model *m, const struct change *c)
{
    static struct tensors t;
    static struct bytes file;
    char name[112];
    t.header.size = t.data.size = file.size = 0;
    for (int i = 0; i < m->count; i++) {
        const char *line = m->tensors[i];
        assert_int_equal(sscanf(line, "%111s", name), 1);
        if (m->bare && strncmp(line, "model.", 6) == 0) line += 6;
        if (!c->without || strcmp(name, c->without) != 0) put_tensor(&t, line, name);
    }
    if (c->shared) put_tensor(&t, c->shared, c->table);
    if (c->more) put_tensor(&t, c->more, "more");
    put_text(&t.header, "}");
    put_number(&file, t.header.size, 8);
    put(&file, t.header.data, t.header.size);
    put(&file, t.data.data, t.data.size);
    folder_write(folder, "model.safetensors", &file);
}

static inline void put_piece(struct bytes *b, const char *text, int type)
{
    const float score = -1;
    const size_t size = strlen(text);
    put_number(b, 0x0A, 1), put_number(b, size + 9, 1);
    put_number(b, 0x0A, 1), put_number(b, size, 1);
    put_text(b, text);
    put_number(b, 0x15, 1), put_floats(b, &score, 1);
    put_number(b, 0x18, 1), put_number(b, (uint64_t)type, 1);
}

/* Writes the names of bytes as GPT-2 spells them, in JSON, with ids from `first` on. */
static inline void put_byte_names(struct bytes *b, int first)
{
    char line[32];
    for (int byte = 0, other = 256; byte < 256; byte++) {
        const bool same = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        snprintf(line, sizeof line, ", \"\\u%04x\": %d", same ? byte : other++, first + byte);
        put_text(b, line);
    }
}

/* Writes config.json. change: a setting that replaces the one with its key, or is added; NULL:
   none. */
static inline void write_settings(const char *folder, const struct model *m, const char *change)
{
    static struct bytes b;
    char text[sizeof m->settings];
    const size_t key = change ? strcspn(change, ":") + 1 : 0;
    b.size = 0;
    snprintf(text, sizeof text, "%s", m->settings + 1);
    put_text(&b, "{\"x\":[{}]");
    for (char *at = strtok(text, ",}"); at; at = strtok(NULL, ",}")) {
        if (key && strncmp(at, change, key) == 0) continue;
        put_text(&b, ","), put_text(&b, at);
    }
    if (change) put_text(&b, ","), put_text(&b, change);
    put_text(&b, "}");
    folder_write(folder, "config.json", &b);
}

/* ---- logits ---- */

static inline int take_ids(const char *model, const char *what, int number,
                           int32_t ids[SMALL_TOKENS])
{
    char name[32];
    snprintf(name, sizeof name, "%s.%d", what, number);
    const struct record *r = find(model, name);
    for (int i = 0; i < r->count; i++) ids[i] = (int32_t)r->data[i];
    return r->count;
}

/* Compares the logits of the model in a folder with those of a model of the file. */
static inline void judge(const char *folder, const struct model *m, int vocab)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = 30,
                                .target_length = 12,
                                .target_tokens = 12};
    rapt_model *model = folder_import(folder);
    rapt_session *session;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    for (int number = 0; number < 3; number++) {
        int32_t source[SMALL_TOKENS], target[SMALL_TOKENS];
        int sources[2] = {0, take_ids(m->name, "source", number, source)},
            targets[2] = {0, take_ids(m->name, "target", number, target)};
        const rapt_tokens from = {.batch = 1, .ids = source, .starts = sources},
                          to = {.batch = 1, .ids = target, .starts = targets};
        const float *states, *logits;
        char record[32];
        snprintf(record, sizeof record, "logits.%d", number);
        assert_int_equal(rapt_encode(session, &from, &states, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &to, &logits, NULL), RAPT_OK);
        compare(m->name, record, logits, (size_t)targets[1] * (size_t)vocab);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

static inline const struct model *find_model(const char *name)
{
    for (int i = 0; i < model_count; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    fail_msg("no model %s", name);
    return NULL;
}

/* ---- families of models ---- */

struct family {
    int vocab;
    void (*write)(char folder[256], const struct model *m, const struct change *c); /* c: or NULL */
    void (*clear)(const char *folder);
};

/* Judges a model of the file after each change of its folder, which must not change its logits. */
static inline void judge_changed(const struct family *f, const char *name,
                                 const struct change *changes, int count)
{
    const struct model *m = find_model(name);
    char folder[256];
    for (int i = 0; i < count; i++) {
        f->write(folder, m, &changes[i]);
        judge(folder, m, f->vocab);
        folder_precisions(folder);
        f->clear(folder);
    }
}

/* Judges all models of the file, of which there are at least `count`. */
static inline void judge_all(const struct family *f, int count)
{
    const struct change none = {.more = NULL};
    assert_true(model_count >= count);
    for (int i = 0; i < model_count; i++) judge_changed(f, models[i].name, &none, 1);
}

struct refusal {
    struct change change;
    const char *phrase; /* of the message */
};

static inline void refuse_changed(const struct family *f, const char *name,
                                  const struct refusal *all, int count)
{
    char folder[256];
    for (int i = 0; i < count; i++) {
        f->write(folder, find_model(name), &all[i].change);
        folder_refused(folder, all[i].phrase);
        f->clear(folder);
    }
}

static inline void check_ids(const rapt_tokenizer *t, const char *text, const int32_t *ids,
                             size_t count)
{
    int32_t got[16];
    size_t size;
    assert_int_equal(
        rapt_tokenizer_encode(t, (rapt_text){text, strlen(text)}, got, NULL, 16, &size, NULL),
        RAPT_OK);
    assert_int_equal(size, count);
    assert_memory_equal(got, ids, count * sizeof *ids);
}

static inline void check_name(const rapt_tokenizer *t, int32_t id, const char *name)
{
    const rapt_text got = rapt_tokenizer_name(t, id);
    assert_int_equal(got.size, strlen(name));
    assert_memory_equal(got.bytes, name, got.size);
}

/* ---- translators between many languages: a SentencePiece model in the order of fairseq, and the
   ids of translations ---- */

enum { PIECES = 8 };

/* Writes a SentencePiece model of `count` pieces, of which the first PIECES make up texts. */
static inline void write_pieces(const char *folder, int count)
{
    static const struct {
        const char *text;
        int type;
    } pieces[PIECES] = {{"<unk>", 2},   {"<s>", 3}, {"</s>", 3}, {"\u2581", 1},
                        {"\u2581a", 1}, {"a", 1},   {"b", 1},    {"ab", 1}};
    static struct bytes b;
    b.size = 0;
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "c%d", i);
        put_piece(&b, i < PIECES ? pieces[i].text : text, i < PIECES ? pieces[i].type : 1);
    }
    folder_write(folder, "sentencepiece.bpe.model", &b);
}

static inline rapt_translator *load(const char *folder, const char *from, const char *to)
{
    const rapt_translator_options o = {
        .size = sizeof o, .beams = 1, .source_language = from, .target_language = to};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, folder, &o, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* Checks a token's name and the size of its text. */
static inline void check_token(const rapt_tokenizer *t, int32_t id, const char *name, size_t size)
{
    check_name(t, id, name);
    assert_int_equal(rapt_tokenizer_token(t, id).size, size);
}

struct seen { /* ids of a translation */
    int32_t source[16], target[16];
    int source_count, target_count;
};

static inline int see(void *user, const rapt_translation *t)
{
    struct seen *s = user;
    s->source_count = t->source_count, s->target_count = t->target_count;
    assert_true(t->source_count <= 16);
    memcpy(s->source, t->source, sizeof *t->source * (size_t)t->source_count);
    for (int i = 0; i < t->target_count && i < 16; i++) s->target[i] = t->target[i];
    return 0;
}

static inline struct seen translate(rapt_translator *t, const char *text)
{
    struct seen seen = {.source_count = 0};
    const rapt_text one = {text, strlen(text)};
    rapt_message why = {""};
    if (rapt_translate_many(t, &one, 1, 0, see, &seen, &why)) fail_msg("%s", why.text);
    return seen;
}

/* Checks that the languages are refused and that the message contains this text. */
static inline void languages_refused(const char *folder, const char *from, const char *to,
                                     const char *phrase)
{
    const rapt_translator_options o = {
        .size = sizeof o, .source_language = from, .target_language = to};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_translator_load(&t, folder, &o, NULL, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    assert_null(t);
}

#endif
