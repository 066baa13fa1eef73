/* ct2_export.c - tests the export of random models to CTranslate2. They have the variables and
   types that its Python code writes (transformer_spec.py). Read back, parameters and logits are
   equal bit for bit. A real folder that is imported and exported has the same variables. Anything
   that CTranslate2 does not support is refused by name. */
#include "../skips.h"
#include "import/folder.h"
#include "model/small.h"

/* ---- read ct2: reads the variables of a CTranslate2 model.bin of any version as bytes. ---- */

enum { VARIABLES = 400 };
struct ct2_variable {
    char name[100], of[100]; /* of: the variable that this is an alias of; else "" */
    int rank, type;
    unsigned dims[4];
    const unsigned char *data;
    size_t size;
};
struct ct2_file {
    unsigned version, revision;
    char spec[40];
    unsigned char *bytes;
    size_t size, at;
    int count;
    struct ct2_variable all[VARIABLES];
};

static unsigned ct2_number(struct ct2_file *f, int bytes)
{
    unsigned number = 0;
    assert_true(f->size - f->at >= (size_t)bytes);
    for (int i = 0; i < bytes; i++) number |= (unsigned)f->bytes[f->at++] << 8 * i;
    return number;
}

static void ct2_string(struct ct2_file *f, char *text, size_t capacity)
{
    unsigned size = ct2_number(f, 2);
    assert_true(size > 0 && size <= capacity && f->size - f->at >= size);
    memcpy(text, f->bytes + f->at, size);
    assert_int_equal(text[size - 1], 0);
    f->at += size;
}

static void ct2_variable(struct ct2_file *f)
{
    assert_true(f->count < VARIABLES);
    struct ct2_variable *v = &f->all[f->count++];
    ct2_string(f, v->name, sizeof v->name);
    v->rank = (int)ct2_number(f, 1);
    for (int i = 0; i < v->rank; i++) v->dims[i] = ct2_number(f, 4);
    v->type = (int)ct2_number(f, 1);
    v->size = ct2_number(f, 4);
    if (f->version < 4) v->size *= (size_t)v->type, v->type = v->type == 4 ? 0 : v->type;
    assert_true(f->size - f->at >= v->size);
    v->data = f->bytes + f->at;
    f->at += v->size;
}

static struct ct2_file *ct2_read(const char *folder)
{
    char path[600];
    struct ct2_file *f = calloc(1, sizeof *f);
    snprintf(path, sizeof path, "%s/model.bin", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    f->size = (size_t)ftell(file);
    rewind(file);
    f->bytes = malloc(f->size);
    assert_int_equal(fread(f->bytes, 1, f->size, file), f->size);
    fclose(file);
    f->version = ct2_number(f, 4);
    ct2_string(f, f->spec, sizeof f->spec);
    f->revision = ct2_number(f, 4);
    for (unsigned i = ct2_number(f, 4); i-- > 0;) ct2_variable(f);
    for (unsigned i = f->version < 3 ? 0 : ct2_number(f, 4); i-- > 0;) {
        struct ct2_variable *v = &f->all[f->count++];
        ct2_string(f, v->name, sizeof v->name);
        ct2_string(f, v->of, sizeof v->of);
    }
    assert_int_equal(f->at, f->size);
    return f;
}

static void ct2_close(struct ct2_file *f)
{
    free(f->bytes);
    free(f);
}

static const struct ct2_variable *ct2_find(const struct ct2_file *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->all[i].name, name) == 0) return &f->all[i];
    return NULL;
}

static const char *const files[] = {"model.bin",
                                    "config.json",
                                    "source_vocabulary.json",
                                    "target_vocabulary.json",
                                    "shared_vocabulary.json",
                                    "source.spm",
                                    "target.spm"};

/* ---- names and types ---- */

enum { F32 = 0, I8 = 1, I16 = 2 };
static const struct {
    const char *name;
    int type;
} attributes[] = {
    {"encoder/num_heads", I16},
    {"encoder/pre_norm", I8},
    {"encoder/activation", I8},
    {"encoder/embeddings_merge", I8},
    {"encoder/scale_embeddings", I8},
    {"encoder/multi_query_attention", I8},
    {"decoder/num_heads", I16},
    {"decoder/pre_norm", I8},
    {"decoder/activation", I8},
    {"decoder/alignment_layer", I16},
    {"decoder/alignment_heads", I16},
    {"decoder/scale_embeddings", I8},
    {"decoder/alibi", I8},
    {"decoder/alibi_use_positive_positions", I8},
    {"decoder/scale_alibi", I8},
    {"decoder/start_from_zero_embedding", I8},
};
/* Variables of a layer; those of gated layers and of biases are skipped if the model has none. */
static const char *const of_layer[] = {
    "self_attention/layer_norm/gamma",
    "self_attention/layer_norm/beta",
    "self_attention/linear_0/weight",
    "self_attention/linear_0/bias",
    "self_attention/linear_1/weight",
    "self_attention/linear_1/bias",
    "attention/layer_norm/gamma",
    "attention/layer_norm/beta",
    "attention/linear_0/weight",
    "attention/linear_0/bias",
    "attention/linear_1/weight",
    "attention/linear_1/bias",
    "attention/linear_2/weight",
    "attention/linear_2/bias",
    "ffn/layer_norm/gamma",
    "ffn/layer_norm/beta",
    "ffn/linear_0/weight",
    "ffn/linear_0/bias",
    "ffn/linear_0_noact/weight",
    "ffn/linear_0_noact/bias",
    "ffn/linear_1/weight",
    "ffn/linear_1/bias",
};

static int expect(const struct ct2_file *f, const char *name, int type)
{
    const struct ct2_variable *v = ct2_find(f, name);
    if (!v) fail_msg("there is no %s", name);
    if (v->type != type) fail_msg("%s has type %d", name, v->type);
    return 1;
}

static int expect_layer(const struct ct2_file *f, const char *side, int layer, const rapt_config *c)
{
    int count = 0;
    char name[100];
    for (int i = 0; i < COUNT(of_layer); i++) {
        if (side[0] == 'e' && strncmp(of_layer[i], "attention", 9) == 0) continue;
        if (!c->ffn_gated && strstr(of_layer[i], "noact")) continue;
        if (c->norm_type == RAPT_NORM_TYPE_RMS && strstr(of_layer[i], "beta")) continue;
        snprintf(name, sizeof name, "%s/layer_%d/%s", side, layer, of_layer[i]);
        count += expect(f, name, F32);
    }
    return count;
}

static void judge_variables(const char *folder, const rapt_config *c)
{
    struct ct2_file *f = ct2_read(folder);
    int count = 0;
    bool norm = c->norm_order == RAPT_NORM_ORDER_PRE, rms = c->norm_type == RAPT_NORM_TYPE_RMS;
    const struct {
        const char *name;
        bool there;
    } others[] = {
        {"encoder/embeddings_0/weight", true},
        {"decoder/embeddings/weight", true},
        {"decoder/projection/weight", true},
        {"decoder/projection/bias", c->output_bias},
        {"encoder/layer_norm/gamma", norm},
        {"decoder/layer_norm/gamma", norm},
        {"encoder/layer_norm/beta", norm && !rms},
        {"decoder/layer_norm/beta", norm && !rms},
        {"encoder/position_encodings/encodings", !c->first_position},
        {"decoder/position_encodings/encodings", !c->first_position},
    };
    assert_int_equal(f->version, 6);
    assert_int_equal(f->revision, 7);
    assert_string_equal(f->spec, "TransformerSpec");
    for (int i = 0; i < COUNT(attributes); i++)
        count += expect(f, attributes[i].name, attributes[i].type);
    for (int i = 0; i < COUNT(others); i++)
        if (others[i].there) count += expect(f, others[i].name, F32);
    for (int l = 0; l < c->encoder_layers; l++) count += expect_layer(f, "encoder", l, c);
    for (int l = 0; l < c->decoder_layers; l++) count += expect_layer(f, "decoder", l, c);
    assert_int_equal(count, f->count);
    ct2_close(f);
}

/* ---- reading back ---- */

/* Returns the logits of a model. */
static float *logits_of(const rapt_model *model, size_t *count)
{
    enum { N = 4 };
    static const int32_t ids[N] = {1, 3, 2, 4};
    static const int starts[] = {0, N};
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts};
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = N,
                                .target_length = N,
                                .target_tokens = N,
                                .threads = 1};
    rapt_session *session;
    const float *logits;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &tokens, &logits, NULL), RAPT_OK);
    *count = N * (size_t)rapt_model_config(model)->target_vocab;
    float *copy = malloc(*count * sizeof *copy);
    memcpy(copy, logits, *count * sizeof *copy);
    rapt_session_free(session);
    return copy;
}

static void judge_logits(const rapt_model *model, const char *folder)
{
    rapt_model *read = folder_import(folder);
    size_t count, again;
    float *a = logits_of(model, &count), *b = logits_of(read, &again);
    assert_int_equal(count, again);
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i]) fail_msg("logit %zu: %g, not %g", i, (double)b[i], (double)a[i]);
    free(a);
    free(b);
    rapt_model_free(read);
}

static void export_to(const char *folder, const rapt_model *model)
{
    rapt_message why = {""};
    if (rapt_model_export(model, RAPT_EXPORT_CT2, folder, &why)) fail_msg("%s", why.text);
}

static void test_both_ways(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < COUNT(ct2_configs); i++) {
        rapt_model *model = pieces_model(&ct2_configs[i], (uint64_t)i + 3, PIECES_BEGIN);
        export_to(folder_make(folder, "ct2-export"), model);
        judge_variables(folder, &ct2_configs[i]);
        folder_is(folder, model);
        judge_logits(model, folder);
        folder_remove(folder, files, COUNT(files));
        rapt_model_free(model);
    }
}

/* Exports sources without an end token, a decoder that starts from zeros, and alignments of any
   number of heads. The mean of all layers becomes that of the last, since CTranslate2 has no
   other. */
static void test_ends(void **state)
{
    (void)state;
    char folder[256];
    rapt_config c = ct2_configs[2];
    c.decoder_start = RAPT_DECODER_START_ZERO, c.no_source_end = 1, c.decoder_layers = 2;
    for (int heads = 0; heads <= c.heads; heads++) {
        c.alignment_layer = heads ? 1 : 0, c.alignment_heads = heads > 1 ? heads : 0;
        rapt_model *model = pieces_model(&c, 5, PIECES_BEGIN);
        export_to(folder_make(folder, "ct2-ends"), model);
        if (heads) folder_is(folder, model);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_config(read)->alignment_layer, heads ? 1 : 2);
        assert_int_equal(rapt_model_config(read)->alignment_heads,
                         heads ? c.alignment_heads : c.heads);
        rapt_model_free(read);
        folder_remove(folder, files, COUNT(files));
        rapt_model_free(model);
    }
}

static void test_positions(void **state)
{
    (void)state;
    static const rapt_position positions[] = {RAPT_POSITION_INTERLEAVED, RAPT_POSITION_CONCATENATED,
                                              RAPT_POSITION_CONCATENATED_N1};
    static const rapt_decoder_start starts[] = {RAPT_DECODER_START_BEGIN,
                                                RAPT_DECODER_START_UNKNOWN, RAPT_DECODER_START_PAD};
    char folder[256];
    for (int i = 0; i < COUNT(positions); i++) {
        rapt_config c = ct2_configs[1];
        c.position = positions[i];
        c.first_position = i == 1 ? 4 : 0;
        c.decoder_start = starts[i];
        rapt_model *model = pieces_model(&c, 5, PIECES_BEGIN | PIECES_PAD);
        export_to(folder_make(folder, "ct2-positions"), model);
        judge_logits(model, folder);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_config(read)->decoder_start, c.decoder_start);
        assert_int_equal(rapt_model_config(read)->position, RAPT_POSITION_LEARNED);
        rapt_model_free(read);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

/* ---- a real folder ---- */

static void test_real(void **state)
{
    (void)state;
    char from[DATA_PATH], folder[256];
    if (!data_path("import/ct2_export", "ct2-aren/aren-transliteration/model.bin", from)) return;
    *strrchr(from, '/') = 0;
    rapt_model *model = folder_import(from);
    export_to(folder_make(folder, "ct2-real"), model);
    folder_is(folder, model);
    struct ct2_file *old = ct2_read(from), *new = ct2_read(folder);
    assert_int_equal(new->count, old->count + COUNT(attributes));
    for (int i = 0; i < old->count; i++) {
        const struct ct2_variable *a = &old->all[i], *b = ct2_find(new, a->name);
        if (strcmp(a->name, "encoder/embeddings/weight") == 0)
            b = ct2_find(new, "encoder/embeddings_0/weight");
        if (!b) fail_msg("there is no %s", a->name);
        assert_int_equal(a->size, b->size);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->dims, b->dims, sizeof a->dims);
        assert_memory_equal(a->data, b->data, a->size);
    }
    ct2_close(old);
    ct2_close(new);
    rapt_model_free(model);
    folder_remove(folder, files, COUNT(files));
}

/* ---- refusals ---- */

static void test_memory(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "export-memory-CT2");
    export_without_memory(&ct2_configs[2], PIECES_BEGIN, RAPT_EXPORT_CT2, folder);
    folder_remove(folder, files, COUNT(files));
}

static void test_refusals(void **state)
{
    (void)state;
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_config c = ct2_configs[1];                                                            \
        c.field = value;                                                                           \
        export_refused(&c, PIECES_BEGIN, RAPT_EXPORT_CT2, #field);                                 \
    } while (0)
    REFUSE(position, RAPT_POSITION_NONE);
    REFUSE(ffn_width, 0);
    REFUSE(self_score, RAPT_SCORE_COSINE);
    REFUSE(cross_normalizer, RAPT_NORMALIZER_ARGMAX);
    REFUSE(rotary, RAPT_ROTARY_PAIRS);
    REFUSE(rotary_scaling, RAPT_ROTARY_SCALING_YARN);
    REFUSE(query_key_norm, 1);
    REFUSE(output_gate, RAPT_OUTPUT_GATE_HEAD);
    REFUSE(differential, 1);
    REFUSE(forget_gate, 1);
    REFUSE(relative_bias, RAPT_RELATIVE_BIAS_SHAW);
    REFUSE(talking_heads, 1);
    REFUSE(monotonic, RAPT_CROSS_MONOTONIC_HARD);
    REFUSE(relative_bias, RAPT_RELATIVE_BIAS_ALIBI);
    REFUSE(score_cap, 2);
    REFUSE(decoder_recurrence, RAPT_RECURRENCE_SSRU);
#undef REFUSE
    rapt_config c = ct2_configs[0];
    c.key_heads = 1;
    export_refused(&c, PIECES_BEGIN, RAPT_EXPORT_CT2, "key_heads");
    c = ct2_configs[1];
    c.latent_width = c.head_width = 16;
    export_refused(&c, PIECES_BEGIN, RAPT_EXPORT_CT2, "latent_width");
    c = ct2_configs[1];
    c.decoder_start = RAPT_DECODER_START_END, c.no_source_end = 1;
    export_refused(&c, PIECES_BEGIN, RAPT_EXPORT_CT2, "no_source_end must be 0 if");
    c = ct2_configs[1];
    c.decoder_start = RAPT_DECODER_START_PAD;
    export_refused(&c, 0, RAPT_EXPORT_CT2, "<pad>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways), cmocka_unit_test(test_positions),
        cmocka_unit_test(test_ends),      cmocka_unit_test(test_real),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
