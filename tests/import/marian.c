/* marian.c - models of Marian written here, of random models with every option that can be held, in
   float and in 8 bits: the same parameters; what cannot be held is refused by its name. */
#include "import/marian_configs.h"
#include "import/pieces.h"

/* Their names of our parameters, behind what names side and layer; [in][out]. parts: in ours one
   matrix holds so many of theirs. */
static const struct {
    const char *ours, *theirs[3];
    int parts;
} names[] = {
    {"self_attn.qkv.weight", {"self_Wq", "self_Wk", "self_Wv"}, 3},
    {"self_attn.qkv.bias", {"self_bq", "self_bk", "self_bv"}, 3},
    {"self_attn.out.weight", {"self_Wo"}, 1},
    {"self_attn.out.bias", {"self_bo"}, 1},
    {"self_attn.norm.weight", {"self_Wo_ln_scale"}, 1},
    {"self_attn.norm.bias", {"self_Wo_ln_bias"}, 1},
    {"cross_attn.q.weight", {"context_Wq"}, 1},
    {"cross_attn.q.bias", {"context_bq"}, 1},
    {"cross_attn.kv.weight", {"context_Wk", "context_Wv"}, 2},
    {"cross_attn.kv.bias", {"context_bk", "context_bv"}, 2},
    {"cross_attn.out.weight", {"context_Wo"}, 1},
    {"cross_attn.out.bias", {"context_bo"}, 1},
    {"cross_attn.norm.weight", {"context_Wo_ln_scale"}, 1},
    {"cross_attn.norm.bias", {"context_Wo_ln_bias"}, 1},
    {"recurrent.input.weight", {"rnn_W"}, 1},
    {"recurrent.forget.weight", {"rnn_Wf"}, 1},
    {"recurrent.forget.bias", {"rnn_bf"}, 1},
    {"recurrent.norm.weight", {"rnn_ffn_ln_scale"}, 1},
    {"recurrent.norm.bias", {"rnn_ffn_ln_bias"}, 1},
    {"feedforward.in.weight", {"ffn_W1"}, 1},
    {"feedforward.in.bias", {"ffn_b1"}, 1},
    {"feedforward.out.weight", {"ffn_W2"}, 1},
    {"feedforward.out.bias", {"ffn_b2"}, 1},
    {"feedforward.norm.weight", {"ffn_ffn_ln_scale"}, 1},
    {"feedforward.norm.bias", {"ffn_ffn_ln_bias"}, 1},
};
static const struct {
    const char *ours, *theirs;
} single[] = {
    {"embedding.weight", "Wemb"},
    {"encoder.embedding.weight", "encoder_Wemb"},
    {"decoder.embedding.weight", "decoder_Wemb"},
    {"output.weight", "decoder_ff_logit_out_Wt"},
    {"output.bias", "decoder_ff_logit_out_b"},
    {"encoder.norm.weight", "encoder_top_ln_scale"},
    {"encoder.norm.bias", "encoder_top_ln_bias"},
    {"decoder.norm.weight", "decoder_top_ln_scale"},
    {"decoder.norm.bias", "decoder_top_ln_bias"},
};

enum { ITEMS = 128, F32 = 0x404, I8 = 0x101, INTGEMM8 = 0x10001, INTGEMM8_FORK = 0x4101 };

struct item {
    char name[64];
    int type, rows, columns;
    struct bytes *data;
};
struct marian_file {
    int count;
    struct item items[ITEMS];
};

static struct item *add(struct marian_file *f, const char *name, int type, int rows, int columns)
{
    assert_true(f->count < ITEMS);
    struct item *item = &f->items[f->count++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->type = type, item->rows = rows, item->columns = columns;
    item->data = calloc(1, sizeof *item->data);
    return item;
}

static bool is_narrow(const char *name)
{
    const char *w = strstr(name, "_W");
    size_t left = w ? strlen(w) : 0;
    return left == 2 || left == 3 || strstr(name, "Wemb");
}

/* x [rows][columns] as theirs. In 8 bits they are whole numbers times a scale; data becomes what
   those stand for. */
static void put_matrix(struct marian_file *f, const char *name, float *x, int rows, int columns,
                       int type)
{
    bool narrow = type != F32 && rows > 1 && is_narrow(name), turn = !strstr(name, "Wemb");
    struct item *item = add(f, name, narrow ? type : F32, rows, columns);
    float max = 0;
    for (int i = 0; i < rows * columns; i++) max = fmaxf(max, fabsf(x[i]));
    float scale = 127 / max;
    for (int i = 0; i < rows * columns; i++) {
        int at = narrow && turn ? i % rows * columns + i / rows : i; /* column by column */
        if (!narrow) {
            put(item->data, &x[i], sizeof *x);
            continue;
        }
        int q = (int)nearbyintf(x[at] * scale);
        put(item->data, &(signed char){(signed char)q}, 1);
        x[at] = (float)q * (1 / scale);
    }
    if (narrow) put(item->data, &scale, sizeof scale);
}

static float element(const float *data, rapt_tensor t, int row, int column)
{
    return data[row * t.columns + column];
}

/* Part `part` of `parts` of a parameter, transposed if it is a matrix of a layer; back into data
   goes what was written. */
static void put_part(struct marian_file *f, const char *name, float *data, rapt_tensor t, int part,
                     int parts, bool turn, int type)
{
    int rows = t.rows == 1 ? 1 : t.rows / parts,
        columns = t.rows == 1 ? t.columns / parts : t.columns;
    int first = t.rows == 1 ? 0 : part * rows, from = t.rows == 1 ? part * columns : 0;
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    turn = turn && t.rows > 1;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            x[turn ? c * rows + r : r * columns + c] = element(data, t, first + r, from + c);
    put_matrix(f, name, x, turn ? columns : rows, turn ? rows : columns, type);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            data[(first + r) * t.columns + from + c] = x[turn ? c * rows + r : r * columns + c];
    free(x);
}

static void put_parameter(struct marian_file *f, rapt_model *model, int index, int type)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    bool before = rapt_model_config(model)->norm_order == RAPT_NORM_ORDER_PRE;
    char side[16], name[64];
    int layer, at = 0;
    float *data = malloc(small_size(model, index) * sizeof *data);
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    if (sscanf(t.name, "%15[a-z].layers.%d.%n", side, &layer, &at) == 2 && at) {
        for (int i = 0; i < COUNT(names); i++)
            for (int p = 0; strcmp(names[i].ours, t.name + at) == 0 && p < names[i].parts; p++) {
                const char *theirs = names[i].theirs[p];
                bool pre = before && strstr(theirs, "_ln_");
                if (pre && strncmp(theirs, "rnn_ffn_ln_", 11) == 0) /* the recurrence's own input */
                    theirs = strstr(theirs, "scale") ? "rnn_ln_scale" : "rnn_ln_bias";
                snprintf(name, sizeof name, "%s_l%d_%s%s", side, layer + 1, theirs,
                         pre ? "_pre" : "");
                put_part(f, name, data, t, p, names[i].parts, true, type);
            }
    } else {
        for (int i = 0; i < COUNT(single); i++)
            if (strcmp(single[i].ours, t.name) == 0)
                put_part(f, single[i].theirs, data, t, 0, 1, false, type);
    }
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    free(data);
}

/* line: instead of the one with its key, or besides; a key and a colon: without it; NULL: none. */
static void put_settings(struct bytes *b, const rapt_config *c, const char *line)
{
    char text[2000];
    bool before = c->norm_order == RAPT_NORM_ORDER_PRE, recurrent = c->decoder_recurrence;
    snprintf(
        text, sizeof text,
        "bert-train-type-embeddings: true\n"
        "dec-cell: %s\ndec-depth: %d\ndim-emb: %d\ndim-vocabs:\n  - %d\n  - %d\nenc-depth: %d\n"
        "input-types:\n  []\nlayer-normalization: false\nlemma-dim-emb: 0\n"
        "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: false\n"
        "transformer-decoder-autoreg: %s\ntransformer-dim-ffn: %d\n"
        "transformer-ffn-activation: %s\ntransformer-ffn-depth: 2\n"
        "transformer-guided-alignment-layer: %s\ntransformer-heads: %d\n"
        "transformer-no-projection: false\ntransformer-postprocess: %s\n"
        "transformer-postprocess-emb: d\ntransformer-postprocess-top: %s\n"
        "transformer-preprocess: %s\ntransformer-tied-layers:\n  []\n"
        "type: transformer\nulr: false\nversion: v1.9.56\n",
        recurrent ? "ssru" : "gru", c->decoder_layers, c->width, c->source_vocab, c->target_vocab,
        c->encoder_layers, c->tie == RAPT_TIE_OUTPUT ? "true" : "false",
        c->tie == RAPT_TIE_ALL ? "true" : "false", recurrent ? "rnn" : "self-attention",
        c->ffn_width, c->activation == RAPT_ACTIVATION_SILU ? "swish" : "relu",
        c->alignment_layer < c->decoder_layers ? "1" : "last", c->heads, before ? "da" : "dan",
        before ? "n" : "\"\"", before ? "n" : "\"\"");
    bool left_out = false; /* a list goes with its key */
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        size_t key = line ? strcspn(line, ":") + 1 : 0;
        left_out = at[0] == ' ' ? left_out : key && strncmp(at, line, key) == 0;
        if (!left_out) put(b, at, (size_t)(end + 1 - at));
    }
    if (line && line[strlen(line) - 1] != ':') put_text(b, line), put_text(b, "\n");
    put_number(b, 0, 1);
}

/* The whole file. */
static void put_file(struct bytes *b, const struct marian_file *f)
{
    b->size = 0;
    put_number(b, 1, 8);
    put_number(b, (uint64_t)f->count, 8);
    for (int i = 0; i < f->count; i++) {
        put_number(b, strlen(f->items[i].name) + 1, 8);
        put_number(b, (uint64_t)f->items[i].type, 8);
        put_number(b, f->items[i].rows ? 2 : 1, 8);
        put_number(b, (f->items[i].data->size + 255) / 256 * 256, 8);
    }
    for (int i = 0; i < f->count; i++) put(b, f->items[i].name, strlen(f->items[i].name) + 1);
    for (int i = 0; i < f->count; i++) {
        if (f->items[i].rows) put_number(b, (uint64_t)f->items[i].rows, 4);
        put_number(b, (uint64_t)f->items[i].columns, 4);
    }
    size_t padding = 255 - (b->size + 8 + 255) % 256;
    put_number(b, padding, 8);
    for (size_t i = 0; i < padding; i++) put_number(b, 0, 1);
    for (int i = 0; i < f->count; i++) {
        put(b, f->items[i].data->data, f->items[i].data->size);
        while (b->size % 256) put_number(b, 0, 1);
    }
}

/* A vocabulary, tokens by number: </s>, <unk>, t2 .. */
static void write_vocabulary(const char *folder, const char *name, int vocab)
{
    static struct bytes b;
    char line[32];
    b.size = 0;
    put_text(&b, "</s>: 0\n<unk>: 1\n");
    for (int i = 2; i < vocab; i++) {
        snprintf(line, sizeof line, "\"t%d\": %d\n", i, i);
        put_text(&b, line);
    }
    folder_write(folder, name, &b);
}

/* The model becomes the one that was written. without: a tensor that is left out. */
static void write_folder(const char *folder, rapt_model *model, int type, const char *line,
                         const char *without)
{
    static struct bytes b;
    struct marian_file *f = calloc(1, sizeof *f);
    const rapt_config *c = rapt_model_config(model);
    for (int i = 0; i < rapt_model_tensors(model); i++) put_parameter(f, model, i, type);
    if (type != F32) put_matrix(f, "none_QuantMultA", &(float){20}, 1, 1, F32);
    put_settings(add(f, "special:model.yml", I8, 0, 0)->data, c, line);
    f->items[f->count - 1].columns = (int)f->items[f->count - 1].data->size;
    for (int i = 0; without && i < f->count; i++)
        if (strcmp(f->items[i].name, without) == 0) f->items[i].name[0] = '?';
    put_file(&b, f);
    folder_write(folder, "model.intgemm.bin", &b);
    for (int i = 0; i < f->count; i++) free(f->items[i].data);
    free(f);
    if (c->tie == RAPT_TIE_ALL) {
        write_vocabulary(folder, "vocab.yml", c->source_vocab);
        return;
    }
    write_vocabulary(folder, "vocab.src.yml", c->source_vocab);
    write_vocabulary(folder, "vocab.trg.yml", c->target_vocab);
}

static const char *const files[] = {"model.intgemm.bin", "vocab.yml", "vocab.src.yml",
                                    "vocab.trg.yml"};

static void test_parameters(void **state)
{
    (void)state;
    static const int types[] = {F32, INTGEMM8, INTGEMM8_FORK};
    char folder[256];
    for (int i = 0; i < PLAIN_CONFIGS * COUNT(types); i++) {
        rapt_model *model = small_model(&marian_configs[i / COUNT(types)], (uint64_t)i);
        write_folder(folder_make(folder, "marian"), model, types[i % COUNT(types)], NULL, NULL);
        folder_is(folder, model);
        if (i % COUNT(types) == 1) folder_without_memory(folder);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *line, *phrase;
    } all[] = {
        {"type: s2s", "type: s2s"},
        {"transformer-postprocess: danh", "transformer-postprocess"},
        {"transformer-preprocess: nd", "transformer-preprocess"},
        {"transformer-ffn-activation: gelu", "transformer-ffn-activation: gelu"},
        {"transformer-ffn-depth: 3", "transformer-ffn-depth: 3"},
        {"transformer-decoder-autoreg: average-attention", "average-attention"},
        {"dec-cell: gru", "dec-cell: gru"},
        {"transformer-no-projection: true", "transformer-no-projection"},
        {"transformer-train-position-embeddings: true", "transformer-train-position-embeddings"},
        {"transformer-postprocess-emb: nd", "transformer-postprocess-emb"},
        {"transformer-guided-alignment-layer: 0", "transformer-guided-alignment-layer: 0"},
        {"transformer-guided-alignment-layer: first", "transformer-guided-alignment-layer: first"},
        {"transformer-guided-alignment-layer: 3", "alignment_layer is 3, decoder_layers is 2"},
        {"transformer-heads: x", "transformer-heads: x"},
        {"transformer-heads: 3", "heads"},
        {"transformer-decoder-dim-ffn: 8", "transformer-decoder-dim-ffn"},
        {"lemma-dim-emb: 5", "lemma-dim-emb"},
        {"enc-depth: 3", "encoder.layers.2"},
        {"enc-depth: 1", "encoder_l2_"},
        {"dim-emb: 8", "shape"},
        {"transformer-dim-ffn: 1000000", "larger model"},
        {"type:", "special:model.yml has no type"},
        {"dim-emb:", "special:model.yml has no dim-emb"},
        {"transformer-heads:", "special:model.yml has no transformer-heads"},
        {"transformer-dim-ffn:", "special:model.yml has no transformer-dim-ffn"},
        {"enc-depth:", "special:model.yml has no enc-depth"},
        {"dec-depth:", "special:model.yml has no dec-depth"},
    };
    char folder[256], path[300];
    rapt_model *model = small_model(&marian_configs[0], 1), *read;
    rapt_message why = {""};
    folder_make(folder, "marian-refused");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, model, F32, all[i].line, NULL);
        folder_refused(folder, all[i].phrase);
    }
    write_folder(folder, model, F32, NULL, "decoder_l1_rnn_Wf");
    folder_refused(folder, "decoder.layers.0.recurrent.forget.weight");
    write_folder(folder, model, F32, NULL, "decoder_l2_rnn_bf");
    folder_refused(folder, "tensor ?ecoder_l2_rnn_bf");
    write_folder(folder, model, F32, NULL, "Wemb");
    folder_refused(folder, "there is no tensor Wemb");
    write_folder(folder, model, F32, NULL, "special:model.yml");
    folder_refused(folder, "it has no special:model.yml");
    write_folder(folder, model, F32, NULL, NULL);
    write_vocabulary(folder, "vocab.yml", 7);
    folder_refused(folder, "vocab.yml has 7 names, the model's table 9");
    write_vocabulary(folder, "vocab.yml", 8); /* with <unk>, which a list may leave out */
    folder_refused(folder, "vocab.yml has 8 names, the model's table 9");
    write_vocabulary(folder, "vocab.yml", 9);
    folder_text(folder, "source.bpe", "#version: 0.2\na b\n");
    folder_refused(folder, "source.bpe: byte-pair codes of subword-nmt are not supported");
    snprintf(path, sizeof path, "%s/source.bpe", folder);
    unlink(path);
    write_vocabulary(folder, "vocab.2.yml", 9);
    folder_refused(folder, "which is the target's");
    write_vocabulary(folder, "vocab.3.yml", 9);
    folder_refused(folder, "more than two vocabularies");
    const char *const more[] = {"vocab.2.yml", "vocab.3.yml", "vocab.yml"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, more[i]);
        unlink(path);
    }
    folder_refused(folder, "no vocabulary");
    folder_text(folder, "second.npz", "x");
    folder_refused(folder, "more than one model");
    snprintf(path, sizeof path, "%s/second.npz", folder);
    unlink(path);
    folder_remove(folder, files, COUNT(files));
    assert_int_equal(rapt_model_import(&read, folder, NULL, &why), RAPT_NO_FILE);
    rapt_model_free(model);
}

/* decoder.yml says which vocabulary is whose, whatever their names; only files of the folder. */
static void test_named_vocabularies(void **state)
{
    (void)state;
    static const char *const named_files[] = {"model.intgemm.bin", "vocab.src.yml", "vocab.trg.yml",
                                              "target.a.yml",      "source.b.yml",  "decoder.yml",
                                              "vocab.c.yml",       "vocab.yml",     "a.spm"};
    static struct bytes pieces;
    char folder[256];
    rapt_model *model = small_model(&marian_configs[1], 1),
               *tied = small_model(&marian_configs[0], 1);
    const rapt_config *c = rapt_model_config(model);
    folder_make(folder, "marian-named");
    write_folder(folder, model, F32, NULL, NULL);
    write_vocabulary(folder, "target.a.yml", c->source_vocab);
    write_vocabulary(folder, "source.b.yml", c->target_vocab);
    write_vocabulary(folder, "vocab.c.yml", c->target_vocab);
    folder_refused(folder, "more than two vocabularies");
    folder_text(folder, "decoder.yml",
                "relative-paths: true\nmodels:\n  - model.intgemm.bin\nvocabs:\n"
                "  - target.a.yml\n  - ./source.b.yml\nbeam-size: 6\nnormalize: 1\n");
    folder_is(folder, model);
    folder_without_memory(folder);
    folder_text(folder, "decoder.yml", "vocabs:\n  - source.b.yml\n  - target.a.yml\n");
    folder_refused(folder, "source.b.yml has 7 names, the model's table 8");
    folder_text(folder, "decoder.yml", "vocabs:\n  - target.a.yml\n  - none.yml\n");
    folder_refused(folder, "none.yml is not in its folder");
    folder_text(folder, "decoder.yml", "vocabs:\n  - vocab.c.yml\n  - a/\n");
    folder_refused(folder, "a/ is not in its folder");
    folder_text(folder, "decoder.yml", "vocabs:\n  - a\n  - b\n  - c\n");
    folder_refused(folder, "a is not in its folder");
    folder_text(folder, "decoder.yml",
                "vocabs:\n  - target.a.yml\n  - source.b.yml\n  - vocab.c.yml\n");
    folder_refused(folder, "decoder.yml: vocabs has more than two files");
    put_pieces(&pieces, c->source_vocab + 1, 0);
    folder_write(folder, "a.spm", &pieces);
    folder_text(folder, "decoder.yml", "vocabs:\n  - a.spm\n  - source.b.yml\n");
    folder_refused(folder, "a.spm has 9 pieces, the model's table 8");
    put_pieces(&pieces, c->source_vocab, 0);
    folder_write(folder, "a.spm", &pieces);
    folder_is(folder, model);
    folder_text(folder, "decoder.yml", "vocabs: {a: b}\n");
    folder_refused(folder, "decoder.yml");
    write_folder(folder, tied, F32, NULL, NULL);
    folder_text(folder, "decoder.yml", "vocabs:\n  - vocab.yml\n  - vocab.yml\n");
    folder_is(folder, tied);
    folder_remove(folder, named_files, COUNT(named_files));
    rapt_model_free(model);
    rapt_model_free(tied);
}

/* Every option that says what is computed: at this value the model is the same, or it is refused,
   and the message names the option. */
static void test_options(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool held;
    } all[] = {
        {"type: transformer", true},
        {"type: multi-transformer", false},
        {"type: amun", false},
        {"transformer-ffn-activation: relu", true},
        {"transformer-ffn-activation: gelu", false}, /* x / (1 + e^(-1.702 x)) */
        {"transformer-ffn-depth: 2", true},
        {"transformer-ffn-depth: 1", false},
        {"transformer-decoder-ffn-depth: 0", true},
        {"transformer-decoder-ffn-depth: 3", false},
        {"transformer-decoder-dim-ffn: 0", true},
        {"transformer-decoder-dim-ffn: 32", true},
        {"transformer-decoder-dim-ffn: 64", false},
        {"transformer-decoder-autoreg: rnn", true},
        {"transformer-decoder-autoreg: average-attention", false},
        {"dec-cell: ssru", true},
        {"dec-cell: lstm", false},
        {"transformer-preprocess: \"\"", true},
        {"transformer-preprocess: d", true}, /* dropout, in training only */
        {"transformer-preprocess: n", false},
        {"transformer-preprocess: h", false},
        {"transformer-postprocess: an", true},
        {"transformer-postprocess: dhn", false},
        {"transformer-postprocess: dan", true},
        {"transformer-postprocess-top: \"\"", true},
        {"transformer-postprocess-top: n", false},
        {"transformer-postprocess-emb: d", true},
        {"transformer-postprocess-emb: \"\"", true},
        {"transformer-postprocess-emb: n", false},
        {"transformer-no-projection: true", false},
        {"transformer-no-projection: TRUE", false},
        {"transformer-no-projection: False", true},
        {"transformer-no-projection: \"False\"", false}, /* a text */
        {"tied-embeddings-all: True", true},
        {"transformer-no-bias: true", false},
        {"transformer-no-affine: true", false},
        {"transformer-rnn-projection: true", false},
        {"transformer-pool: true", false},
        {"transformer-attention-mask: alibi", false},
        {"transformer-train-position-embeddings: true", false},
        {"transformer-train-positions: true", false},
        {"transformer-disable-position-embeddings: true", false},
        {"transformer-tied-layers:\n  - 1\n  - 1", false},
        {"transformer-depth-scaling: true", true},       /* of the first weights */
        {"transformer-guided-alignment-layer: 2", true}, /* the last one */
        {"transformer-dim-aan: 4096", true},             /* of average-attention */
        {"transformer-aan-depth: 3", true},
        {"input-types:\n  - sequence\n  - class", false},
        {"layer-normalization: true", false},
        {"right-left: true", false},
        {"lemma-dim-emb: 8", false},
        {"factors-dim-emb: 8", false},
        {"ulr: true", false},
        {"enc-cell: lstm", true}, /* of recurrent encoders */
        {"label-smoothing: 0.1", true},
    };
    char folder[256], name[80];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-options");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, model, F32, all[i].line, NULL);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(all[i].line, ":"), all[i].line);
        if (all[i].held)
            folder_is(folder, model);
        else
            folder_refused(folder, name);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_named_vocabularies), cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
