/* marian_export.c - tests the export of random models to Marian. Read back, the configuration, the
   tokens and, bit for bit, the parameters are equal; in 8 bits, the parameters are those after
   rounding. Anything that Marian does not support is refused by the name of its field. */
#include "import/folder.h"

static const char *const files[] = {"model.bin", "vocab.spm", "vocab.src.spm", "vocab.trg.spm"};

static void test_both_ways(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < COUNT(marian_configs); i++) {
        rapt_message why = {""};
        rapt_model *model = pieces_model(&marian_configs[i], (uint64_t)i + 2, 0);
        folder_make(folder, "marian-export");
        if (rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, &why)) fail_msg("%s", why.text);
        folder_is(folder, model);
        rapt_model *read = folder_import(folder);
        static const char *const keys[] = {"rapt.tokenizer", "rapt.source_tokenizer",
                                           "rapt.target_tokenizer"};
        for (int k = 0; k < COUNT(keys); k++) {
            const char *own = rapt_model_metadata(model, keys[k]),
                       *other = rapt_model_metadata(read, keys[k]);
            assert_int_equal(own != NULL, other != NULL);
            if (own) assert_string_equal(own, other);
        }
        rapt_model_free(read);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

/* Returns configuration i with sizes that the 8-bit engine can multiply. */
static rapt_config narrow_config(int i)
{
    rapt_config c = marian_configs[i];
    c.target_vocab = 16, c.width = 16, c.ffn_width = 32;
    if (c.tie == RAPT_TIE_ALL) c.source_vocab = c.target_vocab;
    return c;
}

/* Every element is within half a quantization step, 1/127 of the largest element. Exporting again
   changes nothing. */
static void test_narrow(void **state)
{
    (void)state;
    char folder[256];
    const rapt_config c = narrow_config(0);
    rapt_model *model = pieces_model(&c, 5, 0), *read, *again;
    folder_make(folder, "marian-narrow");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
    read = folder_import(folder);
    assert_int_equal(rapt_model_export(read, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
    again = folder_import(folder);
    int changed = 0;
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        float *x = malloc(3 * size * sizeof *x), *y = x + size, *z = y + size, max = 0;
        assert_int_equal(rapt_model_read(model, i, x, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, i, y, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(again, i, z, NULL), RAPT_OK);
        for (size_t j = 0; j < size; j++) max = fmaxf(max, fabsf(x[j]));
        for (size_t j = 0; j < size; j++) {
            assert_true(fabsf(x[j] - y[j]) <= 0.5001f * max / 127);
            assert_true(fabsf(z[j] - y[j]) <= 1e-6f * max);
            changed += x[j] != y[j];
        }
        free(x);
    }
    assert_true(changed > 1000);
    rapt_model_free(model);
    rapt_model_free(read);
    rapt_model_free(again);
    folder_remove(folder, files, COUNT(files));
}

static void test_memory(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "export-memory-BERGAMOT");
    const rapt_config c = narrow_config(1);
    export_without_memory(&c, 0, RAPT_EXPORT_BERGAMOT, folder);
    folder_remove(folder, files, COUNT(files));
}

static void test_refusals(void **state)
{
    (void)state;
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_config c = marian_configs[1];                                                         \
        c.field = value;                                                                           \
        export_refused(&c, 0, RAPT_EXPORT_MARIAN, #field);                                         \
    } while (0)
    REFUSE(activation, RAPT_ACTIVATION_GELU);
    REFUSE(activation, RAPT_ACTIVATION_GELU_TANH);
    REFUSE(position, RAPT_POSITION_INTERLEAVED);
    REFUSE(first_position, 1);
    REFUSE(decoder_start, RAPT_DECODER_START_BEGIN);
    REFUSE(norm_epsilon, 1e-5f);
    REFUSE(key_heads, 2);
    REFUSE(ffn_width, 0);
    REFUSE(ffn_gated, 1);
    REFUSE(head_width, 3);
    REFUSE(plain_embedding, 1);
    REFUSE(no_source_end, 1);
    REFUSE(self_score, RAPT_SCORE_COSINE);
    REFUSE(cross_normalizer, RAPT_NORMALIZER_ARGMAX);
    REFUSE(rotary, RAPT_ROTARY_PAIRS);
    REFUSE(rotary_scaling, RAPT_ROTARY_SCALING_YARN);
    REFUSE(query_key_norm, 1);
    REFUSE(output_gate, RAPT_OUTPUT_GATE_HEAD);
    REFUSE(differential, 1);
    REFUSE(forget_gate, 1);
    REFUSE(relative_bias, RAPT_RELATIVE_BIAS_TRANSFORMER_XL);
    REFUSE(decoder_recurrence, RAPT_RECURRENCE_GATED_DELTA);
    REFUSE(talking_heads, 1);
    REFUSE(monotonic, RAPT_CROSS_MONOTONIC_HARD);
#undef REFUSE
#define REFUSE(field, value, says)                                                                 \
    do {                                                                                           \
        rapt_config c = narrow_config(1);                                                          \
        c.field = value;                                                                           \
        export_refused(&c, 0, RAPT_EXPORT_BERGAMOT, says);                                         \
    } while (0)
    REFUSE(target_vocab, 7, "target_vocab must be a multiple of 8, such as 16 or 8, not 7");
    REFUSE(width, 8, "width must be a multiple of 16, such as 32 or 16, not 8");
    REFUSE(ffn_width, 40, "ffn_width must be a multiple of 16, such as 32 or 48, not 40");
#undef REFUSE
    rapt_config c = narrow_config(1);
    c.ffn_width = 40;
    c.activation = RAPT_ACTIVATION_GELU;
    c.self_score = RAPT_SCORE_COSINE;
    export_refused(&c, 0, RAPT_EXPORT_BERGAMOT,
                   "cannot export this model to 8-bit Marian: activation must be relu or silu; "
                   "self_score must be left at its default; "
                   "ffn_width must be a multiple of 16, such as 32 or 48, not 40");
    char folder[TEMPORARY], missing[TEMPORARY];
    rapt_message why = {""};
    rapt_model *plain = small_model(&marian_configs[0], 1);
    assert_non_null(temporary_folder(folder));
    assert_int_equal(rapt_model_export(plain, RAPT_EXPORT_MARIAN, folder, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt.source_tokenizer"));
    assert_int_equal(rapt_model_export(plain, (rapt_export)99, folder, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
    rapt_model_free(plain);
    plain = pieces_model(&marian_configs[0], 1, 0);
    assert_int_equal(rapt_model_export(plain, RAPT_EXPORT_MARIAN, temporary_missing(missing), &why),
                     RAPT_NO_FILE);
    rapt_model_free(plain);
}

/* ---- scales and alphas ---- */

static void read_file(const char *folder, struct bytes *b)
{
    char path[600];
    snprintf(path, sizeof path, "%s/model.bin", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    b->size = fread(b->data, 1, sizeof b->data, file);
    assert_true(feof(file) && b->size > 0);
    fclose(file);
}

/* Returns the model with other metadata. */
static rapt_model *with_scales(const rapt_model *model, const char *text)
{
    static char bytes[1 << 18];
    size_t size;
    const rapt_metadata pair = {"rapt.scales", text};
    rapt_model *other = NULL;
    assert_int_equal(rapt_model_save_memory(model, bytes, sizeof bytes, &size, &pair, 1, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&other, bytes, size, NULL, NULL, NULL), RAPT_OK);
    return other;
}

/* Copies the scales with alpha n + 0.5 in line n, and adds an alpha for "none". */
static void put_alphas(const char *scales, char *text, size_t capacity)
{
    size_t at = 0;
    for (int n = 1; *scales; n++) {
        char name[160], scale[64];
        int first, rows, used;
        assert_int_equal(
            sscanf(scales, "%159s %d %d %63s 0\n%n", name, &first, &rows, scale, &used), 4);
        scales += used;
        at += (size_t)snprintf(text + at, capacity - at, "%s %d %d %s %d.5\n", name, first, rows,
                               scale, n);
    }
    snprintf(text + at, capacity - at, "none 0 1 0 99.5\n");
}

/* An 8-bit file that is imported and exported is the same, alphas included. The scale of a row
   makes integers of its elements. */
static void test_scales(void **state)
{
    (void)state;
    static struct bytes first, second;
    static char text[1 << 14];
    char folder[256];
    for (int i = 0; i < COUNT(marian_configs); i++) {
        folder_make(folder, "marian-scales");
        const rapt_config c = narrow_config(i);
        rapt_model *model = pieces_model(&c, (uint64_t)i + 31, 0);
        assert_int_equal(rapt_model_export(model, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
        read_file(folder, &first);
        rapt_model *read = folder_import(folder);
        rapt_message why = {""};
        if (rapt_model_export(read, RAPT_EXPORT_BERGAMOT, folder, &why)) fail_msg("%s", why.text);
        read_file(folder, &second);
        assert_int_equal(second.size, first.size);
        assert_memory_equal(second.data, first.data, first.size);
        put_alphas(rapt_model_metadata(read, "rapt.scales"), text, sizeof text);
        rapt_model *noted = with_scales(read, text);
        assert_int_equal(rapt_model_export(noted, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
        read_file(folder, &first);
        assert_true(first.size > second.size);
        rapt_model *again = folder_import(folder);
        assert_int_equal(rapt_model_export(again, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
        read_file(folder, &second);
        assert_int_equal(second.size, first.size);
        assert_memory_equal(second.data, first.data, first.size);
        assert_non_null(strstr(rapt_model_metadata(again, "rapt.scales"), "none 0 1 0 99.5\n"));
        rapt_model_free(again);
        rapt_model_free(noted);
        rapt_model_free(read);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

static void test_rows(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "marian-rows");
    const rapt_config narrow = narrow_config(0);
    rapt_model *model = pieces_model(&narrow, 5, 0);
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
    rapt_model *read = folder_import(folder);
    int scaled = 0;
    for (int i = 0; i < rapt_model_tensors(read); i++) {
        rapt_tensor t = rapt_model_tensor(read, i);
        float *x = malloc(small_size(read, i) * sizeof *x),
              *scales = malloc(2 * (size_t)t.rows * sizeof *scales), *alphas = scales + t.rows;
        assert_int_equal(rapt_model_read(read, i, x, NULL), RAPT_OK);
        assert_int_equal(rapt_model_scales(read, i, scales, alphas, NULL), RAPT_OK);
        for (int r = 0; r < t.rows; r++)
            for (int c = 0; c < t.columns && scales[r] > 0; c++) {
                double q = (double)x[r * t.columns + c] * (double)scales[r];
                assert_true(fabs(q - round(q)) < 1e-4 && fabs(q) < 127.5);
                scaled++;
            }
        assert_true(alphas[0] == 0);
        assert_true((scales[0] > 0) == (t.rows > 1));
        assert_int_equal(rapt_model_scales(model, i, scales, NULL, NULL), RAPT_OK);
        assert_true(scales[0] == 0);
        rapt_message why = {""};
        assert_int_equal(rapt_model_scales(model, -1, scales, NULL, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "index is -1"));
        assert_int_equal(rapt_model_scales(model, rapt_model_tensors(model), scales, NULL, NULL),
                         RAPT_BAD_ARGUMENT);
        free(x);
        free(scales);
    }
    assert_true(scaled > 1000);
    static const char *const bad[] = {"x",
                                      "x 0 1 2",
                                      "x 0 1 2 3",
                                      "x 0 1 -2 3\n",
                                      "x 0 1 2 3 4\n",
                                      "embedding.weight 16 1 2 3\n",
                                      "x 0 y 2 3\n",
                                      "\n"};
    for (int i = 0; i < COUNT(bad); i++) {
        rapt_model *damaged = with_scales(read, bad[i]);
        rapt_message why = {""};
        float scales[64];
        assert_int_equal(rapt_model_scales(damaged, rapt_model_find(damaged, "embedding.weight"),
                                           scales, NULL, &why),
                         RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, "line 1"));
        rapt_model_free(damaged);
    }
    rapt_model_free(read);
    rapt_model_free(model);
    folder_remove(folder, files, COUNT(files));
}

/* The layer whose first head gives the alignments, by its number or as "last". */
static void test_alignment_layer(void **state)
{
    (void)state;
    static struct bytes file;
    char folder[256];
    for (int layer = 0; layer < 2; layer++) {
        rapt_config c = marian_configs[1];
        c.alignment_layer = layer;
        rapt_model *model = pieces_model(&c, 5, 0);
        folder_make(folder, "marian-layer");
        assert_int_equal(rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, NULL), RAPT_OK);
        read_file(folder, &file);
        const char *wanted =
            layer ? "guided-alignment-layer: 1\n" : "guided-alignment-layer: last\n";
        size_t size = strlen(wanted), at = 0;
        while (at + size <= file.size && memcmp(file.data + at, wanted, size) != 0) at++;
        assert_true(at + size <= file.size);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

/* A file whose number of tensors is the code of '{', at the offset where the JSON of a safetensors
   file begins. */
static void test_count(void **state)
{
    (void)state;
    static struct bytes file;
    char folder[256];
    rapt_config c = marian_configs[1];
    c.tie = RAPT_TIE_ALL, c.source_vocab = c.target_vocab, c.encoder_layers = 4;
    rapt_model *model = pieces_model(&c, 5, 0);
    folder_make(folder, "marian-count");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, NULL), RAPT_OK);
    read_file(folder, &file);
    assert_int_equal(file.data[8], '{');
    folder_is(folder, model);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),       cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_scales),          cmocka_unit_test(test_rows),
        cmocka_unit_test(test_memory),          cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_alignment_layer), cmocka_unit_test(test_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
