/* import.c - a folder of another project, made from the input:

       each file: one byte that selects its name, its size as u32 little-endian, its bytes

   If one of them is a package of Argos, that is imported instead of the folder. It must be refused
   with a reason or be imported, in memory bounded by its size. An imported model must survive being
   saved to memory and loaded, and its export must succeed or be refused with a reason. No file may
   stay open. */
#define _GNU_SOURCE
#include "fuzz.h"
#include "temporary.h"

#include <fcntl.h>
#include <rapt/rapt.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"model.bin",
                                    "config.json",
                                    "vocab.json",
                                    "source.spm",
                                    "target.spm",
                                    "model.safetensors",
                                    "vocab.spm",
                                    "shared_vocabulary.json",
                                    "source_vocabulary.txt",
                                    "target_vocabulary.txt",
                                    "model.npz",
                                    "pytorch_model.bin",
                                    "vocab.src.yml",
                                    "vocab.trg.yml",
                                    "target_vocab.json",
                                    "model.safetensors.index.json",
                                    "a.safetensors",
                                    "tokenizer.json",
                                    "merges.txt",
                                    "spiece.model",
                                    "sentencepiece.bpe.model",
                                    "vocab.txt",
                                    "vocab.yml.zst",
                                    "package.argosmodel",
                                    "vocabulary.json"};
enum { NAMES = sizeof names / sizeof *names, LARGEST = 1 << 17 };

/* ---- the folder; empty between inputs ---- */

static const char *folder(void)
{
    static char path[TEMPORARY];
    if (path[0] == 0) require(temporary_folder(path) != NULL, "a folder");
    return path;
}

static void remove_folder(void)
{
    rmdir(folder());
}

static const char *path_of(const char *name)
{
    static char path[TEMPORARY + 64];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return path;
}

static void write_files(struct feed *in)
{
    static bool registered;
    if (!registered) atexit(remove_folder);
    registered = true;
    while (in->left > 5) {
        const char *name = names[take_byte(in) % NAMES];
        size_t size = 0;
        for (int i = 0; i < 4; i++) size |= (size_t)take_byte(in) << 8 * i;
        if (size > in->left) size = in->left;
        int file = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        require(file >= 0 && write(file, in->at, size) == (ssize_t)size, "a written file");
        close(file);
        in->at += size, in->left -= size;
    }
}

static void remove_files(const char *in)
{
    static const char *const others[] = {"generation_config.json",
                                         "tokenizer_config.json",
                                         "vocab.yml",
                                         "vocab.trg.spm",
                                         "vocab.src.spm",
                                         "target_vocabulary.json",
                                         "source_vocabulary.json",
                                         "model.ende.intgemm.alphas.bin",
                                         "vocab.ende.spm",
                                         "srcvocab.ende.spm",
                                         "trgvocab.ende.spm",
                                         "config.yml",
                                         "metadata.json"};
    char path[TEMPORARY + 64];
    for (size_t i = 0; i < NAMES + sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", in, i < NAMES ? names[i] : others[i - NAMES]);
        unlink(path);
    }
}

/* ---- the imported model ---- */

static void check_exports(const rapt_model *model)
{
    char to[TEMPORARY + 8];
    snprintf(to, sizeof to, "%s/to", folder());
    require(mkdir(to, 0700) == 0, "a folder for exports");
    const rapt_export_options options = {
        .size = sizeof options, .source_language = "en", .target_language = "de"};
    for (rapt_export format = RAPT_EXPORT_MARIAN; format <= RAPT_EXPORT_FIREFOX; format++) {
        rapt_message why = {""};
        rapt_status status = rapt_model_export_with(model, format, to, &options, &why);
        require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]),
                "written, or refused with a reason");
        rapt_model *again = NULL;
        if (status == RAPT_OK && rapt_model_import(&again, to, NULL, &why) != RAPT_OK)
            require(false, why.text);
        rapt_model_free(again);
        remove_files(to);
    }
    require(rmdir(to) == 0, "exports leave nothing else");
}

static void check_model(const rapt_model *model)
{
    size_t size;
    rapt_message why = {""};
    rapt_model *again = NULL;
    require(rapt_model_save_memory(model, NULL, 0, &size, NULL, 0, &why) == RAPT_OK, why.text);
    char *bytes = malloc(size);
    require(rapt_model_save_memory(model, bytes, size, &size, NULL, 0, &why) == RAPT_OK, why.text);
    require(rapt_model_load_memory(&again, bytes, size, NULL, NULL, &why) == RAPT_OK, why.text);
    rapt_model_free(again);
    free(bytes);
    check_exports(model);
}

/* Returns whether a model was imported or refused for its values, which are read once its shapes
   and configuration agree. Then it has memory of its own: up to 8 elements per byte, if they
   inflate, each padded to at most 16 floats; and sinusoids. */
static bool may_agree(const rapt_message *why)
{
    enum { CAUSES = 4 };
    static const char *const causes[CAUSES] = {"not finite", "is tied to", "cannot be read",
                                               "must be positive"};
    bool found = !why->text[0];
    for (int i = 0; i < CAUSES; i++) found = found || strstr(why->text, causes[i]);
    return found;
}
enum { PER_BYTE = 8 * 16 * sizeof(float), AGREED = 1 << 23 };

int fuzz_import(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct counted counted = counted_by(input_hash(bytes, size), 400);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    rapt_model *model = NULL;
    if (size > LARGEST) return 0;
    write_files(&in);
    int before = open("/dev/null", O_RDONLY);
    const char *package = path_of("package.argosmodel"),
               *path = access(package, F_OK) == 0 ? package : folder();
    rapt_status status = rapt_model_import(&model, path, &allocator, &why);
    int after = dup(before);
    require(after == before + 1, "no file stays open");
    close(after), close(before);
    require((status == RAPT_OK) == (model != NULL), "a model, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY || status == RAPT_BAD_FILE ||
                status == RAPT_NO_FILE,
            "status");
    size_t most = memory_limit(size);
    if (may_agree(&why)) most += AGREED + PER_BYTE * size;
    require(counted.max <= most, "memory bounded by the files");
    counted.fail_at = -1;
    if (model) check_model(model);
    rapt_model_free(model);
    require(counted.now == 0, "all memory is given back");
    remove_files(folder());
    return 0;
}
