/* firefox_export.c - exports a model to a folder like those that Mozilla publishes for Firefox: the
   model with 8-bit matrices and their alphas, SentencePiece models, a lexical shortlist if there is
   one, config.yml (the decoding settings) and metadata.json.

   Both of Firefox's engines must be able to run the model: Marian compiled to WebAssembly, and
   fxtranslate, which supports only the architecture of Mozilla's student models. Names and settings
   are those of mozilla/firefox-translations-models. */
#include "import/export.h"

#include <stdio.h>
#include <string.h>

enum { LANGUAGE = 12, NAME = EXPORT_NAME };

/* ---- what Firefox's engines can compute ---- */

static bool is_code(const char *language)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t size = language ? strlen(language) : 0;
    return size >= 2 && size <= LANGUAGE && strspn(language, letters) == size;
}

static void check_shortlist(const struct exporting *e)
{
    const rapt_shortlist *list = e->settings->shortlist;
    char needed[120];
    if (!list || (rapt_shortlist_source_vocab(list) == e->config->source_vocab &&
                  rapt_shortlist_target_vocab(list) == e->config->target_vocab))
        return;
    snprintf(needed, sizeof needed, "made for vocabularies of %d and %d tokens, not of %d and %d",
             e->config->source_vocab, e->config->target_vocab, rapt_shortlist_source_vocab(list),
             rapt_shortlist_target_vocab(list));
    rapt__export_refuse(e, "shortlist", needed);
}

void rapt__export_check_firefox(const struct exporting *e)
{
    const rapt_config *c = e->config;
    const struct export_settings *s = e->settings;
    float scale, alpha = 0;
    if (!is_code(s->source_language))
        rapt__export_refuse(e, "source_language", "a code such as en");
    if (!is_code(s->target_language))
        rapt__export_refuse(e, "target_language", "a code such as de");
    rapt__export_check_bergamot(e);
    if (c->activation == RAPT_ACTIVATION_SILU) rapt__export_refuse(e, "activation", "relu");
    if (c->norm_order != RAPT_NORM_ORDER_POST) rapt__export_refuse(e, "norm_order", "post");
    if (c->norm_type != RAPT_NORM_TYPE_LAYER) rapt__export_refuse(e, "norm_type", "layer");
    if (!c->decoder_recurrence) rapt__export_refuse(e, "decoder_recurrence", "ssru");
    check_shortlist(e);
    if (s->gzip && !rapt__gzip_writes())
        rapt__export_refuse(e, "gzip", "0, since rapt was built without zlib");
    if (s->check_only) return;
    if (rapt__scales_named(e->model, "none", &scale, &alpha, NULL) || !(alpha > 0))
        rapt__export_refuse(e, "alphas", "in the model's metadata: calibrate the model first");
}

static rapt_status check_pieces(const struct exporting *e, const rapt_tokenizer *t)
{
    bool is;
    rapt_status status = rapt__export_is_pieces(e, t, &is);
    if (!status && !is) rapt__export_refuse(e, rapt__export_key(e, t), "a SentencePiece model");
    return status;
}

/* ---- the files ---- */

/* Returns the name of the architecture with these sizes in Mozilla's registry, or NULL. */
static const char *architecture_of(const rapt_config *c)
{
    static const struct {
        const char *name;
        int width, hidden, decoder_layers;
    } all[] = {{"tiny", 256, 1536, 2}, {"base", 512, 2048, 2}, {"base-memory", 384, 1536, 4}};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (c->width == all[n].width && c->ffn_width == all[n].hidden && c->heads == 8 &&
            c->encoder_layers == 6 && c->decoder_layers == all[n].decoder_layers)
            return all[n].name;
    return NULL;
}

struct firefox_names {
    char model[NAME], both[NAME], source[NAME], target[NAME], shortlist[NAME];
};

static void compose_names(const struct exporting *e, struct firefox_names *n)
{
    char pair[2 * LANGUAGE + 1];
    snprintf(pair, sizeof pair, "%.12s%.12s", e->settings->source_language,
             e->settings->target_language);
    snprintf(n->model, NAME, "model.%s.intgemm.alphas.bin", pair);
    snprintf(n->both, NAME, "vocab.%s.spm", pair);
    snprintf(n->source, NAME, "srcvocab.%s.spm", pair);
    snprintf(n->target, NAME, "trgvocab.%s.spm", pair);
    snprintf(n->shortlist, NAME, "lex.50.50.%s.s2t.bin", pair);
}

static rapt_status write_shortlist(const struct exporting *e, const char *name)
{
    char path[2 * IMPORT_PATH];
    if (!e->settings->shortlist || rapt__export_plans(e, name)) return RAPT_OK;
    rapt__export_path(e, name, path);
    return rapt_shortlist_write(e->settings->shortlist, path, e->why);
}

/* Writes Firefox's decoding settings. */
static rapt_status write_decoding(const struct exporting *e, const struct firefox_names *n)
{
    struct composer c = {.allocator = e->model->allocator};
    bool one = e->source == e->target;
    const char *factor = rapt_model_metadata(e->model, LENGTH_KEY);
    float value;
    if (!factor || !rapt__float_read(factor, &value)) factor = "2.0";
    rapt__compose(&c, "relative-paths: true\nmodels:\n  - %s\nvocabs:\n  - %s\n  - %s\n", n->model,
                  one ? n->both : n->source, one ? n->both : n->target);
    if (e->settings->shortlist) rapt__compose(&c, "shortlist:\n  - %s\n  - false\n", n->shortlist);
    rapt__compose(&c,
                  "beam-size: 1\nnormalize: 1.0\nword-penalty: 0\nmax-length-break: 128\n"
                  "mini-batch-words: 1024\nworkspace: 128\nmax-length-factor: %s\n"
                  "gemm-precision: int8shiftAlphaAll\n",
                  factor);
    return rapt__compose_write(e, &c, "config.yml");
}

/* Appends a scalar of the settings as a JSON value. */
static void compose_value(struct composer *c, const struct yaml_item *item)
{
    const char *value = item->value;
    bool word = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    bool number = *value && strspn(value, "0123456789") == strlen(value);
    if (!item->quoted && (word || number))
        rapt__compose(c, "%s", value);
    else
        rapt__compose_string(c, (rapt_text){value, strlen(value)});
}

/* Appends the settings of the model as a JSON object. */
static rapt_status compose_settings(const struct exporting *e, struct composer *c)
{
    char text[MARIAN_SETTINGS];
    struct yaml *y;
    rapt__marian_settings(e->config, text);
    rapt_status status =
        rapt__yaml_open(&y, text, strlen(text), "model.yml", &c->allocator, e->why);
    if (status) return status;
    rapt__compose(c, "{");
    for (int n = 0; n < rapt__yaml_count(y); n++) {
        const struct yaml_item *item = rapt__yaml_at(y, n);
        rapt__compose(c, "%s\n    \"%s\": ", n ? "," : "", item->key);
        if (item->value) compose_value(c, item);
        if (item->value) continue;
        rapt__compose(c, "[");
        for (int i = 1; i <= item->length; i++) {
            if (i > 1) rapt__compose(c, ", ");
            compose_value(c, item + i);
        }
        rapt__compose(c, "]");
        n += item->length;
    }
    rapt__compose(c, "\n  }");
    rapt__yaml_close(y);
    return RAPT_OK;
}

/* Determines the size in bytes and the SHA-256 hash of the model's file, which must already have
   been written. If e->plan is set, sets *size to 0 and hash to "". */
static rapt_status measure_model(const struct exporting *e, const char *name, uint64_t *size,
                                 char hash[SHA256_TEXT])
{
    struct disk_source file;
    struct sha256 h;
    char path[2 * IMPORT_PATH];
    unsigned char bytes[4096];
    *size = 0, hash[0] = 0;
    if (e->plan) return RAPT_OK;
    rapt__export_path(e, name, path);
    rapt_status status = rapt__disk_open(&file, path, e->why);
    if (status) return status;
    rapt__sha256_begin(&h);
    for (; *size < file.size && !status; *size = h.size) {
        const size_t count = (size_t)rapt__min_size((size_t)(file.size - *size), sizeof bytes);
        status = rapt__disk_read(&file, *size, bytes, count, e->why);
        if (!status) rapt__sha256_add(&h, bytes, count);
    }
    rapt__sha256_end(&h, hash);
    rapt__disk_close(&file);
    return status;
}

static rapt_status write_metadata(const struct exporting *e, const struct firefox_names *n)
{
    struct composer c = {.allocator = e->model->allocator};
    size_t parameters = 0;
    uint64_t size;
    char hash[SHA256_TEXT];
    const char *architecture = architecture_of(e->config);
    rapt_status status = measure_model(e, n->model, &size, hash);
    if (status) return status;
    for (int i = 0; i < e->model->layout.count; i++)
        parameters += rapt__parameter_count(&e->model->layout.parameters[i]);
    rapt__compose(&c, "{\n");
    if (architecture) rapt__compose(&c, "  \"architecture\": \"%s\",\n", architecture);
    rapt__compose(&c, "  \"byteSize\": %llu,\n  \"hash\": \"%s\",\n  \"modelConfig\": ",
                  (unsigned long long)size, hash);
    status = compose_settings(e, &c);
    rapt__compose(&c,
                  ",\n  \"modelStatistics\": {\n    \"parameters\": %zu\n  },\n"
                  "  \"sourceLanguage\": \"%s\",\n  \"targetLanguage\": \"%s\"\n}\n",
                  parameters, e->settings->source_language, e->settings->target_language);
    if (!status) return rapt__compose_write(e, &c, "metadata.json");
    rapt__free(&c.allocator, c.text, c.capacity);
    return status;
}

/* Replaces a file with a copy that is compressed with gzip. */
static rapt_status compress_file(const struct exporting *e, const char *name)
{
    char from[2 * IMPORT_PATH], to[2 * IMPORT_PATH];
    char packed[NAME + 4];
    snprintf(packed, sizeof packed, "%s.gz", name);
    if (rapt__export_plans(e, packed)) return RAPT_OK;
    rapt__export_path(e, name, from);
    rapt__export_path(e, packed, to);
    rapt_status status = rapt__gzip_write(from, to, &e->model->allocator, e->why);
    if (!status) remove(from);
    return status;
}

static rapt_status compress_all(const struct exporting *e, const struct firefox_names *n)
{
    const bool one = e->source == e->target;
    const char *const all[] = {n->model, one ? n->both : n->source, one ? NULL : n->target,
                               e->settings->shortlist ? n->shortlist : NULL};
    rapt_status status = RAPT_OK;
    if (!e->settings->gzip) return RAPT_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && !status; i++)
        if (all[i]) status = compress_file(e, all[i]);
    return status;
}

rapt_status rapt__export_firefox(struct exporting *e)
{
    struct firefox_names n;
    rapt_status status = check_pieces(e, e->source);
    if (!status && e->target != e->source) status = check_pieces(e, e->target);
    if (!status) status = rapt__export_refused(e);
    if (status) return status;
    compose_names(e, &n);
    const struct marian_names names = {
        .model = n.model, .pieces = {n.both, n.source, n.target}, .lists = {NULL}};
    status = rapt__marian_export(e, MARIAN_INTGEMM8_BERGAMOT, &names);
    if (!status) status = write_shortlist(e, n.shortlist);
    if (!status) status = write_decoding(e, &n);
    if (!status) status = write_metadata(e, &n);
    return status ? status : compress_all(e, &n);
}
