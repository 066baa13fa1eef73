/* containers.c - tests one model in every container: MarianMT written by torch.save in both formats
   and in shards of safetensors and torch.save, and Marian in npz. All are imported bit for bit. The
   containers are written here. */
#include "import/folder.h"

#include <jansson.h>

enum { TENSORS = 128, NAME = 100, CAPACITY = 1 << 20 };

struct tensor {
    char name[NAME];
    int rank, type; /* type: Marian's code */
    size_t shape[2], size;
    const char *data;
};
struct tensors {
    char *bytes; /* the file that they were read from */
    int count;
    struct tensor all[TENSORS];
};

/* ---- bytes of files ---- */

struct out {
    size_t size;
    char data[CAPACITY];
};

static void out_bytes(struct out *o, const void *data, size_t size)
{
    assert_true(size <= sizeof o->data - o->size);
    memcpy(o->data + o->size, data, size);
    o->size += size;
}

static void out_text(struct out *o, const char *text)
{
    out_bytes(o, text, strlen(text));
}

static void out_number(struct out *o, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) out_bytes(o, &(char){(char)(number >> 8 * i)}, 1);
}

static void out_write(const struct out *o, const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(o->data, 1, o->size, file), o->size);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = calloc(1, CAPACITY);
    assert_true(fread(bytes, 1, CAPACITY, file) < CAPACITY);
    fclose(file);
    return bytes;
}

static uint64_t number_at(const char *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = size; i-- > 0;) number = number << 8 | (unsigned char)bytes[i];
    return number;
}

static void remove_file(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* ---- reading what was exported ---- */

static struct tensors *read_safetensors(const char *folder)
{
    struct tensors *t = calloc(1, sizeof *t);
    t->bytes = read_file(folder, "model.safetensors");
    size_t header = (size_t)number_at(t->bytes, 8);
    json_t *entries = json_loadb(t->bytes + 8, header, 0, NULL), *entry;
    const char *name;
    json_object_foreach(entries, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) continue;
        const json_t *shape = json_object_get(entry, "shape"),
                     *offsets = json_object_get(entry, "data_offsets");
        struct tensor *one = &t->all[t->count++];
        snprintf(one->name, NAME, "%s", name);
        one->rank = (int)json_array_size(shape);
        for (int d = 0; d < one->rank; d++)
            one->shape[d] = (size_t)json_integer_value(json_array_get(shape, (size_t)d));
        size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
        one->size = (size_t)json_integer_value(json_array_get(offsets, 1)) - begin;
        one->data = t->bytes + 8 + header + begin;
    }
    json_decref(entries);
    return t;
}

static struct tensors *read_marian(const char *folder)
{
    struct tensors *t = calloc(1, sizeof *t);
    t->bytes = read_file(folder, "model.bin");
    t->count = (int)number_at(t->bytes + 8, 8);
    assert_true(t->count < TENSORS);
    const char *at = t->bytes + 16, *names = at + 32 * t->count;
    for (int i = 0; i < t->count; i++, at += 32) {
        struct tensor *one = &t->all[i];
        one->type = (int)number_at(at + 8, 8), one->rank = (int)number_at(at + 16, 8);
        one->size = (size_t)number_at(at + 24, 8);
        snprintf(one->name, NAME, "%s", names);
        names += number_at(at, 8);
    }
    for (int i = 0; i < t->count; i++)
        for (int d = 0; d < t->all[i].rank; d++, names += 4)
            t->all[i].shape[d] = (size_t)number_at(names, 4);
    names += 8 + number_at(names, 8);
    for (int i = 0; i < t->count; names += t->all[i++].size) {
        struct tensor *one = &t->all[i];
        one->data = names;
    }
    return t;
}

static void free_tensors(struct tensors *t)
{
    free(t->bytes);
    free(t);
}

/* ---- a zip file of stored members ---- */

struct zip_writing {
    struct out file, directory;
    int count;
};

static void zip_add(struct zip_writing *z, const char *name, const void *data, size_t size)
{
    size_t at = z->file.size;
    out_text(&z->file, "PK\3\4");
    out_text(&z->directory, "PK\1\2\x14");
    out_number(&z->directory, 0, 1);
    struct out *const both[] = {&z->file, &z->directory};
    for (int i = 0; i < 2; i++) {
        out_number(both[i], 20, 2);
        out_number(both[i], 0, 6); /* flags, method, time */
        out_number(both[i], 0, 6); /* date, checksum */
        out_number(both[i], size, 4), out_number(both[i], size, 4);
        out_number(both[i], strlen(name), 2);
        out_number(both[i], 0, 2);
        if (i == 1)
            out_number(both[i], 0, 8), out_number(both[i], 0, 2), out_number(both[i], at, 4);
        out_text(both[i], name);
    }
    out_bytes(&z->file, data, size);
    z->count++;
}

static void zip_write(struct zip_writing *z, const char *folder, const char *name)
{
    size_t at = z->file.size;
    out_bytes(&z->file, z->directory.data, z->directory.size);
    out_text(&z->file, "PK\5\6");
    out_number(&z->file, 0, 4);
    out_number(&z->file, (uint64_t)z->count, 2), out_number(&z->file, (uint64_t)z->count, 2);
    out_number(&z->file, z->directory.size, 4), out_number(&z->file, at, 4);
    out_number(&z->file, 0, 2);
    out_write(&z->file, folder, name);
    free(z);
}

/* ---- torch.save ---- */

static void pickle_string(struct out *o, const char *text)
{
    out_text(o, "X"), out_number(o, strlen(text), 4), out_text(o, text);
}

static void pickle_tensor(struct out *o, const struct tensor *t, const char *key)
{
    pickle_string(o, t->name);
    out_text(o, "ctorch._utils\n_rebuild_tensor_v2\n((");
    pickle_string(o, "storage");
    out_text(o, "ctorch\nFloatStorage\n");
    pickle_string(o, key), pickle_string(o, "cpu");
    out_text(o, "J"), out_number(o, t->size / 4, 4);
    out_text(o, "tQK"), out_number(o, 0, 1);
    out_text(o, "(");
    for (int d = 0; d < t->rank; d++) out_text(o, "J"), out_number(o, t->shape[d], 4);
    out_text(o, "t(");
    for (int d = 0; d < t->rank; d++)
        out_text(o, "J"), out_number(o, d + 1 < t->rank ? t->shape[1] : 1, 4);
    out_text(o, "t\x89");
    out_text(o, "ccollections\nOrderedDict\n)RtR");
}

static void write_torch(const struct tensors *t, const char *folder, const char *name, int first,
                        int end)
{
    struct zip_writing *z = calloc(1, sizeof *z);
    static struct out pickle;
    char key[40];
    pickle.size = 0;
    out_text(&pickle, "\x80\2ccollections\nOrderedDict\n)R(");
    for (int i = first; i < end; i++) {
        snprintf(key, sizeof key, "%d", i);
        pickle_tensor(&pickle, &t->all[i], key);
    }
    out_text(&pickle, "u.");
    zip_add(z, "archive/data.pkl", pickle.data, pickle.size);
    for (int i = first; i < end; i++) {
        snprintf(key, sizeof key, "archive/data/%d", i);
        zip_add(z, key, t->all[i].data, t->all[i].size);
    }
    zip_add(z, "archive/version", "3\n", 2);
    zip_write(z, folder, name);
}

/* Writes the format of PyTorch before 1.6: three pickles identify it, then come the state dict, the
   keys and the storages. */
static void write_old_torch(const struct tensors *t, const char *folder, const char *name,
                            int first, int end)
{
    static struct out file;
    char key[40];
    file.size = 0;
    out_bytes(&file, "\x80\2\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.", 15);
    out_bytes(&file, "\x80\2M\xE9\3.\x80\2}", 9);
    pickle_string(&file, "little_endian");
    out_text(&file, "\x88s.\x80\2ccollections\nOrderedDict\n)R(");
    for (int i = first; i < end; i++) {
        snprintf(key, sizeof key, "%d", 94000 + i);
        pickle_tensor(&file, &t->all[i], key);
    }
    out_text(&file, "u.\x80\2](");
    for (int i = first; i < end; i++) {
        snprintf(key, sizeof key, "%d", 94000 + i);
        pickle_string(&file, key);
    }
    out_text(&file, "e.");
    for (int i = first; i < end; i++) {
        out_number(&file, t->all[i].size / 4, 8);
        out_bytes(&file, t->all[i].data, t->all[i].size);
    }
    out_write(&file, folder, name);
}

/* ---- safetensors and an index ---- */

static void write_safetensors(const struct tensors *t, const char *folder, const char *name,
                              int first, int end)
{
    static struct out file, header;
    char text[300];
    size_t at = 0;
    file.size = header.size = 0;
    for (int i = first; i < end; i++) {
        const struct tensor *one = &t->all[i];
        char shape[60];
        snprintf(shape, sizeof shape, one->rank == 2 ? "%zu,%zu" : "%zu", one->shape[0],
                 one->shape[1]);
        snprintf(text, sizeof text,
                 "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                 i > first ? "," : "{", one->name, shape, at, at + one->size);
        out_text(&header, text);
        at += one->size;
    }
    out_text(&header, "}");
    out_number(&file, header.size, 8);
    out_bytes(&file, header.data, header.size);
    for (int i = first; i < end; i++) out_bytes(&file, t->all[i].data, t->all[i].size);
    out_write(&file, folder, name);
}

typedef void write_function(const struct tensors *t, const char *folder, const char *name,
                            int first, int end);

/* Writes three files NAME-0000N-of-00003.END and their index. */
static void write_shards(const struct tensors *t, const char *folder, const char *name,
                         const char *end, write_function *write)
{
    static struct out index;
    char file[100], text[300];
    index.size = 0;
    out_text(&index, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (int s = 0; s < 3; s++) {
        int first = s * t->count / 3, last = (s + 1) * t->count / 3;
        snprintf(file, sizeof file, "%s-%05d-of-00003.%s", name, s + 1, end);
        write(t, folder, file, first, last);
        for (int i = first; i < last; i++) {
            snprintf(text, sizeof text, "%s\"%s\": \"%s\"", i ? ", " : "", t->all[i].name, file);
            out_text(&index, text);
        }
    }
    out_text(&index, "}}");
    snprintf(file, sizeof file, "%s.%s.index.json", name, end);
    out_write(&index, folder, file);
}

/* ---- npz ---- */

static void write_npz(const struct tensors *t, const char *folder, const char *name)
{
    struct zip_writing *z = calloc(1, sizeof *z);
    static struct out array;
    char text[200], member[NAME + 8];
    for (int i = 0; i < t->count; i++) {
        const struct tensor *one = &t->all[i];
        bool special = strcmp(one->name, "special:model.yml") == 0;
        size_t columns = one->shape[one->rank - 1];
        size_t size = special ? strlen(one->data) + 1 : one->shape[0] * columns * 4;
        int used = special || one->rank == 1
                       ? snprintf(text, sizeof text,
                                  "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }",
                                  special ? "|i1" : "<f4", special ? size : columns)
                       : snprintf(text, sizeof text,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }",
                                  one->shape[0], columns);
        for (; (used + 11) % 64; used++) text[used] = ' ';
        text[used++] = '\n';
        array.size = 0;
        out_bytes(&array, "\x93NUMPY\1\0", 8);
        out_number(&array, (uint64_t)used, 2);
        out_bytes(&array, text, (size_t)used);
        out_bytes(&array, one->data, size);
        snprintf(member, sizeof member, "%s.npy", one->name);
        zip_add(z, member, array.data, array.size);
    }
    zip_write(z, folder, name);
}

/* ---- tests ---- */

/* clang-format off */
static const rapt_config of_hf = {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 16,
    .heads = 2, .ffn_width = 24, .encoder_layers = 2, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED,
    .tie = RAPT_TIE_ALL, .output_bias = 1, .decoder_start = RAPT_DECODER_START_PAD};
static const rapt_config of_marian = {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 1024,
    .width = 8, .heads = 2, .ffn_width = 12, .encoder_layers = 1, .decoder_layers = 2,
    .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1, .norm_epsilon = 1e-6f,
    .decoder_start = RAPT_DECODER_START_ZERO};
/* clang-format on */
static const char *const files[] = {"config.json",
                                    "vocab.json",
                                    "source.spm",
                                    "target.spm",
                                    "generation_config.json",
                                    "tokenizer_config.json",
                                    "model.safetensors",
                                    "model.npz",
                                    "vocab.spm"};

static rapt_model *export_to(const char *folder, const rapt_config *c, rapt_export format,
                             int special)
{
    rapt_message why = {""};
    rapt_model *model = pieces_model(c, 4, special);
    if (rapt_model_export(model, format, folder, &why)) fail_msg("%s", why.text);
    rapt_model_free(model);
    return folder_import(folder);
}

static void judge_shards(const struct tensors *t, const char *folder, const rapt_model *model,
                         const char *name, const char *end, write_function *write)
{
    char file[100];
    write_shards(t, folder, name, end, write);
    folder_is(folder, model);
    folder_without_memory(folder);
    snprintf(file, sizeof file, "%s-00002-of-00003.%s", name, end);
    remove_file(folder, file);
    rapt_model *read = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_model_import(&read, folder, NULL, &why), RAPT_NO_FILE);
    if (!strstr(why.text, file)) fail_msg("\"%s\" does not name %s", why.text, file);
    for (int s = 1; s <= 3; s += 2) {
        snprintf(file, sizeof file, "%s-%05d-of-00003.%s", name, s, end);
        remove_file(folder, file);
    }
    snprintf(file, sizeof file, "%s.%s.index.json", name, end);
    remove_file(folder, file);
}

static void test_hf(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "containers-hf");
    rapt_model *model = export_to(folder, &of_hf, RAPT_EXPORT_HF, PIECES_PAD);
    struct tensors *t = read_safetensors(folder);
    remove_file(folder, "model.safetensors");
    write_torch(t, folder, "pytorch_model.bin", 0, t->count);
    folder_is(folder, model);
    folder_without_memory(folder);
    write_old_torch(t, folder, "pytorch_model.bin", 0, t->count);
    folder_is(folder, model);
    folder_without_memory(folder);
    remove_file(folder, "pytorch_model.bin");
    judge_shards(t, folder, model, "model", "safetensors", write_safetensors);
    judge_shards(t, folder, model, "pytorch_model", "bin", write_torch);
    judge_shards(t, folder, model, "pytorch_model", "bin", write_old_torch);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    free_tensors(t);
}

/* Shards named .bin must be files of torch.save; an index as a shard is refused. */
static void test_shards(void **state)
{
    (void)state;
    char folder[256];
    static struct out index;
    folder_make(folder, "containers-shards");
    rapt_model_free(export_to(folder, &of_hf, RAPT_EXPORT_HF, PIECES_PAD));
    remove_file(folder, "model.safetensors");
    out_text(&index, "{\"weight_map\": {\"a\": \"a.bin\"}}");
    out_write(&index, folder, "pytorch_model.bin.index.json");
    out_write(&index, folder, "a.bin");
    folder_refused(folder, "a.bin was not written by torch.save");
    remove_file(folder, "a.bin");
    remove_file(folder, "pytorch_model.bin.index.json");
    folder_remove(folder, files, COUNT(files));
}

static void test_npz(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "containers-npz");
    rapt_model *model = export_to(folder, &of_marian, RAPT_EXPORT_MARIAN, 0);
    struct tensors *t = read_marian(folder);
    remove_file(folder, "model.bin");
    write_npz(t, folder, "model.npz");
    folder_is(folder, model);
    folder_without_memory(folder);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    free_tensors(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hf), cmocka_unit_test(test_shards),
                                       cmocka_unit_test(test_npz)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
