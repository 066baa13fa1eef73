/* marian.c - tests models of Marian written here from random models, with every option that is
   supported, in float and in 8 bits: the parameters are imported bit for bit. Anything unsupported
   is refused by name. */
#include "import/marian_craft.h"

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
        {"transformer-guided-alignment-layer: 3", "alignment_layer is 3, but decoder_layers is 2"},
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
    folder_refused(folder, "tensor Wemb is missing");
    write_folder(folder, model, F32, NULL, "special:model.yml");
    folder_refused(folder, "special:model.yml is missing");
    write_folder(folder, model, F32, NULL, NULL);
    folder_text(folder, "source.bpe", "#version: 0.2\na b\n");
    folder_refused(folder, "source.bpe: subword-nmt's BPE codes are not supported");
    snprintf(path, sizeof path, "%s/source.bpe", folder);
    unlink(path);
    write_vocabulary(folder, "vocab.2.yml", 9);
    folder_refused(folder, "nor `vocabs:` in a decoder.yml shows which one is the target's");
    write_vocabulary(folder, "vocab.3.yml", 9);
    folder_refused(folder, "more than two vocabularies");
    char own[300];
    snprintf(path, sizeof path, "%s/vocab.yml", folder);
    snprintf(own, sizeof own, "%s/vocab.intgemm.yml", folder); /* that of model.intgemm.bin */
    assert_int_equal(rename(path, own), 0);
    folder_is(folder, model);
    assert_int_equal(rename(own, path), 0);
    const char *const more[] = {"vocab.2.yml", "vocab.3.yml", "vocab.yml"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, more[i]);
        unlink(path);
    }
    folder_refused(folder, "no vocabulary");
    folder_text(folder, "second.npz", "x");
    folder_refused(folder, "more than one model, second.npz and model.intgemm.bin; give the path");
    snprintf(path, sizeof path, "%s/second.npz", folder);
    unlink(path);
    folder_remove(folder, files, COUNT(files));
    assert_int_equal(rapt_model_import(&read, folder, NULL, &why), RAPT_NO_FILE);
    rapt_model_free(model);
}

/* decoder.yml tells the source's vocabulary from the target's, whatever their names. Only files in
   the folder are used. */
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
                "  - C:\\models\\target.a.yml\n  - ./source.b.yml\nbeam-size: 6\nnormalize: 1\n");
    folder_is(folder, model);
    folder_without_memory(folder);
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
    folder_refused(folder, "a.spm has 9 pieces, but the model's table has 8 rows");
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

/* Every option of the architecture, with a value that leaves the model the same, or is refused with
   a message that names the option. */
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
        {"transformer-no-projection: \"False\"", false}, /* a string */
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
        {"transformer-depth-scaling: true", true},       /* size of the first weights */
        {"transformer-guided-alignment-layer: 2", true}, /* the last layer */
        {"transformer-dim-aan: 4096", true},             /* used by average-attention only */
        {"transformer-aan-depth: 3", true},
        {"input-types:\n  - sequence\n  - class", false},
        {"layer-normalization: true", false},
        {"right-left: true", false},
        {"lemma-dim-emb: 8", false},
        {"factors-dim-emb: 8", false},
        {"ulr: true", false},
        {"enc-cell: lstm", true}, /* used by recurrent encoders only */
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
