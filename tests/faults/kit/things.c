/* things.c - old and new versions of models with a tokenizer, checkpoints and plain bytes. Their
   folder is in memory if such a file system exists. The loss of power is tested separately. */
#define _GNU_SOURCE

#include "things.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const thing_names[THINGS] = {"model", "checkpoint", "bytes"};
char folder[256], path[288];

static rapt_model *models[VERSIONS];
static rapt_trainer *trainers[VERSIONS];
static char *tokenizer_text;
static struct bytes contents[THINGS][VERSIONS];

static const rapt_text texts[] = {{"a red dog and a blue cat", 24}, {"ein roter Hund", 14}};
enum { VOCAB = 262, PLAIN = 150000 };

static void make_tokenizer(void)
{
    rapt_tokenizer *tokenizer = NULL;
    size_t size = 0;
    assert_int_equal(rapt_tokenizer_learn(&tokenizer, texts, 2, VOCAB, NULL, NULL), RAPT_OK);
    rapt_tokenizer_write(tokenizer, NULL, 0, &size, NULL);
    tokenizer_text = malloc(size);
    assert_non_null(tokenizer_text);
    assert_int_equal(rapt_tokenizer_write(tokenizer, tokenizer_text, size, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(tokenizer);
}

/* Creates a model and a trainer that has taken a step. */
static void make(enum version version)
{
    const rapt_config config = {.size = sizeof config,
                                .source_vocab = VOCAB,
                                .target_vocab = VOCAB,
                                .positions = 20,
                                .width = 8,
                                .heads = 2,
                                .ffn_width = 8,
                                .encoder_layers = 1,
                                .decoder_layers = 1,
                                .tie = RAPT_TIE_ALL};
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 4, .target_tokens = 4, .threads = 1};
    const int32_t ids[] = {1, 5, 6, 2};
    const int starts[] = {0, 4};
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts};
    rapt_train_options options;
    rapt_report report = {.size = sizeof report};
    rapt_train_options_default(&options, sizeof options);
    options.steps = 10;
    assert_int_equal(rapt_model_create(&models[version], &config, version + 1, NULL, NULL), 0);
    assert_int_equal(
        rapt_trainer_create(&trainers[version], models[version], &options, &limits, NULL, NULL), 0);
    assert_int_equal(rapt_train_gradient(trainers[version], &tokens, &tokens, &report, NULL), 0);
    assert_int_equal(rapt_train_step(trainers[version], &report, NULL), 0);
}

int things_create(void **state)
{
    (void)state;
    const char *wanted = getenv("TMPDIR"), *other = wanted && *wanted ? wanted : "/tmp";
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : other;
    snprintf(folder, sizeof folder, "%s/rapt-faults-XXXXXX", base);
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/m", folder);
    make_tokenizer();
    for (enum version v = OLD; v < VERSIONS; v++) {
        make(v);
        for (enum thing t = MODEL; t < THINGS; t++) {
            rapt_message why = {""};
            if (thing_save(t, v, &why) != RAPT_OK) fail_msg("%s", why.text);
            contents[t][v] = bytes_of(path);
            assert_true(contents[t][v].size > 1000);
        }
    }
    clear_folder();
    return 0;
}

int things_free(void **state)
{
    (void)state;
    for (enum version v = OLD; v < VERSIONS; v++) {
        rapt_trainer_free(trainers[v]);
        rapt_model_free(models[v]);
        for (enum thing t = MODEL; t < THINGS; t++) free(contents[t][v].data);
    }
    free(tokenizer_text);
    clear_folder();
    return rmdir(folder);
}

rapt_status thing_save(enum thing thing, enum version version, rapt_message *why)
{
    static char plain[VERSIONS][PLAIN];
    const rapt_metadata metadata[] = {{"rapt.tokenizer", tokenizer_text}, {"state", "\"\\"}};
    if (thing == MODEL) return rapt_model_save(models[version], path, metadata, 1, why);
    if (thing == CHECKPOINT) return rapt_trainer_save(trainers[version], path, metadata, 2, why);
    memset(plain[version], (int)version + 1, PLAIN);
    return rapt_file_write(path, plain[version], PLAIN - 1000 * version, why);
}

rapt_status thing_load(enum thing thing, rapt_message *why)
{
    rapt_translator *translator = NULL;
    rapt_model *model = NULL;
    rapt_status status;
    if (thing == CHECKPOINT) {
        status = rapt_model_load(&model, path, NULL, why);
        assert_true((status == RAPT_OK) == (model != NULL));
        if (status == RAPT_OK) status = rapt_trainer_load(trainers[NEW], path, why);
        rapt_model_free(model);
        return status;
    }
    status = rapt_translator_load(&translator, path, NULL, NULL, why);
    assert_true((status == RAPT_OK) == (translator != NULL));
    rapt_translator_free(translator);
    return status;
}

const struct bytes *thing_bytes(enum thing thing, enum version version)
{
    return &contents[thing][version];
}

struct bytes bytes_of(const char *file)
{
    struct bytes bytes = {0};
    struct stat about;
    FILE *opened = fopen(file, "rb");
    if (!opened) return bytes;
    assert_int_equal(fstat(fileno(opened), &about), 0);
    bytes.size = (size_t)about.st_size;
    bytes.data = malloc(bytes.size + 1);
    assert_non_null(bytes.data);
    assert_int_equal(fread(bytes.data, 1, bytes.size, opened), bytes.size);
    fclose(opened);
    return bytes;
}

bool path_has(const struct bytes *wanted)
{
    struct bytes found = bytes_of(path);
    bool same = found.data && found.size == wanted->size &&
                memcmp(found.data, wanted->data, found.size) == 0;
    free(found.data);
    return same;
}

void put(const struct bytes *bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    assert_int_equal(fclose(file), 0);
}

static int each_entry(const char *of, bool removes)
{
    int count = 0;
    DIR *list = opendir(of);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (removes) unlinkat(dirfd(list), entry->d_name, 0);
        count++;
    }
    closedir(list);
    return count;
}

void clear_folder(void)
{
    each_entry(folder, true);
}

int entries(const char *of)
{
    return each_entry(of, false);
}
