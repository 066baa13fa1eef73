/* files.c - writes files of every format that the library writes into a folder, and what it reads
   of files that others wrote. suite.sh runs it on two machines, which must write the same bytes:
   numbers in files are little-endian on machines that are not, and computations give the same bits.
   Arguments: the folder, which must be empty, and the folder of other people's files, which may be
   missing. */
#include "model/small.h"
#include "text/spm_models.h"
#include "translate/small_text.h"

#include <sys/stat.h>

static const char *out, *data;
static int written;

static const char *out_path(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", out, name);
    written++;
    return path;
}

static void must(rapt_status status, const rapt_message *why, const char *what)
{
    if (!status) return;
    printf("files: %s: %s\n", what, why->text);
    exit(1);
}

static void write_text(const char *name, const char *text)
{
    rapt_message why = {""};
    must(rapt_file_write(out_path(name), text, strlen(text), &why), &why, name);
}

/* ---- our own formats ---- */

static void write_model(const rapt_model *model, const char *name)
{
    rapt_message why = {""};
    char path[64];
    const rapt_save_options packed = {.size = sizeof packed, .packed = 1};
    const rapt_metadata note = {"note", "\xC3\xA9\n"};
    snprintf(path, sizeof path, "%s.rapt", name);
    must(rapt_model_save(model, out_path(path), &note, 1, &why), &why, name);
    snprintf(path, sizeof path, "%s.packed.rapt", name);
    must(rapt_model_save_with(model, out_path(path), &packed, &note, 1, &why), &why, name);
    rapt_model *read = NULL;
    snprintf(path, sizeof path, "%s/%s.packed.rapt", out, name);
    must(rapt_model_load(&read, path, NULL, &why), &why, name);
    small_same_models(model, read);
    rapt_model_free(read);
}

/* Trains a model for two steps and writes the checkpoint. */
static void write_checkpoint(rapt_model *model, const char *name)
{
    rapt_message why = {""};
    rapt_trainer *trainer = NULL;
    rapt_train_options options;
    rapt_report report = {.size = sizeof report};
    struct small_batch source, target;
    char path[64];
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 3, .source_tokens = 20, .target_tokens = 20, .threads = 1};
    const rapt_config *c = rapt_model_config(model);
    rapt_train_options_default(&options, sizeof options);
    options.products =
        RAPT_PRODUCTS_BUILTIN; /* a machine without vectors measures which are faster */
    small_fill(&source, c->source_vocab, (const int[]){9, 4, 7}, 3, 1);
    small_fill(&target, c->target_vocab, (const int[]){5, 3, 8}, 3, 2);
    must(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why), &why, name);
    for (int step = 0; step < 2; step++) {
        must(rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, &why), &why,
             name);
        must(rapt_train_step(trainer, &report, &why), &why, name);
    }
    snprintf(path, sizeof path, "%s.checkpoint", name);
    must(rapt_trainer_save(trainer, out_path(path), NULL, 0, &why), &why, name);
    must(rapt_trainer_load(trainer, out_path(path), &why), &why, name);
    rapt_trainer_free(trainer);
}

static void write_own(void)
{
    char name[64];
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *model = small_model(&small_configs[i], 3);
        snprintf(name, sizeof name, "model-%d", i);
        write_model(model, name);
        if (small_configs[i].kind == RAPT_KIND_ENCODER_DECODER) write_checkpoint(model, name);
        rapt_model_free(model);
    }
}

static void write_tokenizer(const rapt_tokenizer *tokenizer, const char *name)
{
    size_t size = 0;
    rapt_message why = {""};
    must(rapt_tokenizer_write(tokenizer, NULL, 0, &size, &why), &why, name);
    char *text = malloc(size);
    must(rapt_tokenizer_write(tokenizer, text, size, &size, &why), &why, name);
    write_text(name, text);
    free(text);
}

/* Writes tokenizers, the ids of some texts, and a shortlist. */
static void write_texts(void)
{
    static struct craft crafted;
    rapt_message why = {""};
    char name[64];
    for (size_t i = 0; i < CRAFTED_MODELS; i++) {
        rapt_tokenizer *tokenizer = NULL;
        craft_model(&crafted, i);
        must(rapt_tokenizer_load_memory(&tokenizer, crafted.bytes, crafted.size, NULL, &why), &why,
             "a crafted model");
        snprintf(name, sizeof name, "pieces-%d.txt", (int)i);
        write_tokenizer(tokenizer, name);
        rapt_tokenizer_free(tokenizer);
    }
    const rapt_lexical_pair pairs[] = {{5, 6, 0.5f}, {5, 7, 0.25f}, {9, 6, 1}, {270, 3, 0.1f}};
    rapt_tokenizer *learned = small_tokenizer();
    rapt_shortlist *list = NULL;
    write_tokenizer(learned, "bytes.txt");
    must(rapt_shortlist_create(&list, pairs, COUNT(pairs), 4, 2, learned, learned, NULL, &why),
         &why, "a shortlist");
    must(rapt_shortlist_write(list, out_path("lex.bin"), &why), &why, "a shortlist");
    rapt_shortlist_free(list);
    rapt_tokenizer_free(learned);
}

/* ---- the formats of others ---- */

static rapt_model *foreign_model(void)
{
    static const char *const names[] = {"</s>", "<unk>", "a",        "b", "c", "d", "e", "f",
                                        "g",    "h",     "\xC3\xA9", "i", "j", "k", "l", "m"};
    rapt_text texts[COUNT(names)];
    static char text[1024], file[1 << 17];
    size_t size = 0;
    rapt_message why = {""};
    rapt_tokenizer *tokenizer = NULL;
    const rapt_config c = foreign_config(COUNT(names), 16);
    for (int i = 0; i < COUNT(names); i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    must(rapt_tokenizer_create_list(&tokenizer, texts, COUNT(names), NULL, NULL, &why), &why,
         "a list");
    must(rapt_tokenizer_write(tokenizer, text, sizeof text, &size, &why), &why, "a list");
    rapt_tokenizer_free(tokenizer);
    rapt_model *model = small_model(&c, 14), *read = NULL;
    const rapt_metadata pair = {"rapt.tokenizer", text};
    must(rapt_model_save_memory(model, file, sizeof file, &size, &pair, 1, &why), &why, "a model");
    rapt_model_free(model);
    must(rapt_model_load_memory(&read, file, size, NULL, NULL, &why), &why, "a model");
    return read;
}

static void write_foreign(void)
{
    static const struct {
        rapt_export format;
        const char *name;
    } formats[] = {{RAPT_EXPORT_MARIAN, "marian"},
                   {RAPT_EXPORT_BERGAMOT, "bergamot"},
                   {RAPT_EXPORT_CT2, "ct2"}};
    rapt_message why = {""};
    char name[64], path[1024];
    rapt_model *model = foreign_model();
    for (int i = 0; i < COUNT(formats); i++) {
        snprintf(path, sizeof path, "%s", out_path(formats[i].name));
        if (mkdir(path, 0700)) exit(1);
        must(rapt_model_export(model, formats[i].format, path, &why), &why, formats[i].name);
        rapt_model *read = NULL;
        must(rapt_model_import(&read, path, NULL, &why), &why, formats[i].name);
        snprintf(name, sizeof name, "from-%s", formats[i].name);
        write_model(read, name);
        rapt_model_free(read);
    }
    rapt_model_free(model);
}

/* ---- files that others wrote ---- */

static int report(void *user, const rapt_translation *t)
{
    FILE *file = user;
    uint32_t bits;
    memcpy(&bits, &t->score, sizeof bits);
    fprintf(file, "%08lx %s\n", (unsigned long)bits, t->text);
    return 0;
}

static void read_folder(const char *name, const char *as)
{
    static const rapt_text texts[] = {{"A small bird sings.", 19},
                                      {"\xD8\xA7 \xD8\xAF \xD9\x85", 8}};
    char path[1024], own[64];
    rapt_message why = {""};
    rapt_model *model = NULL;
    rapt_translator *translator = NULL;
    snprintf(path, sizeof path, "%s/models/%s", data, name);
    if (access(path, R_OK)) {
        printf("skipped: cross: files of others: %s is missing\n", path);
        return;
    }
    must(rapt_model_import(&model, path, NULL, &why), &why, name);
    write_model(model, as);
    const rapt_translator_options options = {.size = sizeof options, .beams = 2, .threads = 1};
    must(rapt_translator_create(&translator, model, NULL, NULL, &options, NULL, &why), &why, name);
    snprintf(own, sizeof own, "%s.txt", as);
    FILE *file = fopen(out_path(own), "wb");
    must(rapt_translate_many(translator, texts, COUNT(texts), 1, report, file, &why), &why, name);
    fclose(file);
    rapt_translator_free(translator);
    rapt_model_free(model);
}

static void read_pieces(const char *name, const char *as, const char *list)
{
    char path[1024];
    rapt_message why = {""};
    rapt_tokenizer *tokenizer = NULL;
    snprintf(path, sizeof path, "%s/models/%s", data, name);
    if (access(path, R_OK)) {
        printf("skipped: cross: files of others: %s is missing\n", path);
        return;
    }
    must(rapt_tokenizer_load(&tokenizer, path, NULL, &why), &why, name);
    write_tokenizer(tokenizer, as);
    if (list) {
        rapt_shortlist *shortlist = NULL;
        snprintf(path, sizeof path, "%s/models/%s", data, list);
        must(rapt_shortlist_load(&shortlist, path, tokenizer, tokenizer, NULL, &why), &why, list);
        snprintf(path, sizeof path, "%s.lex", as);
        must(rapt_shortlist_write(shortlist, out_path(path), &why), &why, list);
        rapt_shortlist_free(shortlist);
    }
    rapt_tokenizer_free(tokenizer);
}

static void read_others(void)
{
    read_folder("ct2-aren/aren-transliteration", "ct2-f32");
    read_folder("ct2-aren/aren-transliteration-i16", "ct2-i16");
    read_folder("ct2-aren/aren-transliteration-i8", "ct2-i8");
    read_folder("firefox-tiny-enpt", "marian-i8");
    read_pieces("bergamot/ende/vocab.deen.spm", "deen.txt", "bergamot/ende/lex.50.50.ende.s2t.bin");
    read_pieces("bergamot/encs/vocab.csen.spm", "csen.txt", NULL);
    read_pieces("sentencepiece/joeynmt_sp200.model", "joey.txt", NULL);
    read_pieces("sentencepiece/test_ja_model.model", "ja.txt", NULL);
    read_pieces("sentencepiece/test_model.model", "test.txt", NULL);
}

int main(int count, char **words)
{
    if (count != 3) return 2;
    out = words[1], data = words[2];
    write_own();
    write_texts();
    write_foreign();
    read_others();
    printf("files: %d written\n", written);
    return 0;
}
