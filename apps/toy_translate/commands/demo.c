/* demo.c - toy_translate demo: draws a corpus from a grammar, trains a translator in a minute, and
   tests it. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include "corpus/corpus.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CORPUS_SEED = 1, TRAIN_PAIRS = 60000, HELDOUT_PAIRS = 1000, VALID_PAIRS = 100, BEAM = 1 };
static const struct recipe recipe_demo = {
    .preset = "tiny",
    .layers = 2,
    .width = 128,
    .heads = 4,
    .ffn_width = 256,
    .vocab = 1200,
    .dropout = 0,
    .smoothing = 0.05,
    .hard = {.monotonic_noise = HARD_NOISE},
    .rate = 0.003,
    .warmup = 150,
    .schedule = "linear",
    .batch_tokens = 1024,
    .steps = 1500,
    .valid_steps = 50,
    .enough = 0.06,
    .average = 1,
    .seed = 1,
};

/* German negates after the verb, so the attention of this sentence is not monotonic. */
#define ATTENDED "cats do not like dogs"

static const char purpose[] =
    "Trains a small translator on English-German sentence pairs from a built-in grammar, "
    "translates held-out sentences, and prints the cross-attention weights of one of them. This "
    "takes about a minute on two cores. Training ends when the validation loss has been below "
    "--enough twice, or after --steps steps; the clock has no influence, so the result is the same "
    "on every machine. Progress shows perplexities per target token: ppl is that of the training "
    "pairs, smoothed over the last steps, and valid that of 100 validation pairs.\n\n"
    "--json prints {\"exact\", \"heldout\", \"train_pairs\", \"steps\", \"seconds\", \"threads\"}, "
    "where exact is the percentage of held-out sentences whose translation equals that of the "
    "grammar.";

static const char examples[] = "  toy_translate demo\n"
                               "  toy_translate demo --score additive --out additive.safetensors";

struct demo {
    struct recipe recipe;
    const char *write_corpus;
    corpus_grammar *grammar;
    struct corpus corpus;
    struct data data;
    struct pairs heldout;
    rapt_translator *translator;
    struct score score;
    int lock;                 /* of training/outputs.c; -1 means none */
    long long steps;          /* number of steps made */
    char *folder, *temporary; /* temporary folder and path of the model, unless it is kept */
    double start;
};

static void add_all(struct pairs *pairs, const struct corpus_pair *from, size_t count)
{
    pairs->name = "corpus";
    for (size_t i = 0; i < count; i++) {
        rapt_text source = {from[i].source, strlen(from[i].source)};
        rapt_text target = {from[i].target, strlen(from[i].target)};
        pairs_add(pairs, source, target, i + 1);
    }
}

static int read_train(struct demo *demo)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    bool whole = file != NULL && corpus_write(file, demo->corpus.train, demo->corpus.train_count);
    if (file != NULL && fclose(file) != 0) whole = false;
    if (whole) return data_over(&demo->data, "corpus", bytes, size, VALID_PAIRS);
    free(bytes);
    return failed("corpus: out of memory");
}

static int make_corpus(struct demo *demo)
{
    char why[CORPUS_TEXT] = "";
    demo->grammar = corpus_grammar_create(corpus_bytes, corpus_bytes_count, why);
    if (demo->grammar == NULL) return failed("grammar: %s", why);
    if (!corpus_draw(&demo->corpus, demo->grammar, CORPUS_SEED, TRAIN_PAIRS, HELDOUT_PAIRS, why))
        return failed("corpus: %s", why);
    add_all(&demo->heldout, demo->corpus.heldout, demo->corpus.heldout_count);
    return read_train(demo);
}

static int write_corpus(const struct demo *demo)
{
    const struct corpus *corpus = &demo->corpus;
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    bool whole = file != NULL && corpus_write(file, corpus->train, corpus->train_count) &&
                 corpus_write(file, corpus->heldout, corpus->heldout_count);
    if (file != NULL && fclose(file) != 0) whole = false;
    int code = whole ? file_write(demo->write_corpus, bytes, size)
                     : failed("%s: out of memory", demo->write_corpus);
    free(bytes);
    if (code != EXIT_OK) return code;
    print_message(
        "%s: %zu pairs; the demo does not train on the last %zu, but train chooses its own "
        "validation pairs",
        demo->write_corpus, corpus->train_count + corpus->heldout_count, corpus->heldout_count);
    return EXIT_OK;
}

static int choose_output(struct demo *demo)
{
    if (demo->recipe.out != NULL) {
        demo->recipe.curve = true;
        int code = lock_open(&demo->lock, demo->recipe.out);
        return code == EXIT_OK ? outputs_check(&demo->recipe) : code;
    }
    const char *base = getenv("TMPDIR");
    demo->folder = xasprintf("%s/toy_translate.XXXXXX", base != NULL && *base ? base : "/tmp");
    if (mkdtemp(demo->folder) == NULL) {
        int wrong = errno;
        int code = failed("%s: %s", demo->folder, strerror(wrong));
        free(demo->folder);
        demo->folder = NULL;
        return code;
    }
    demo->recipe.out = demo->temporary = xasprintf("%s/model.safetensors", demo->folder);
    return EXIT_OK;
}

static int load_translator(struct demo *demo)
{
    struct search search = search_default;
    search.model = demo->recipe.out;
    search.beam = BEAM;
    search.threads = demo->recipe.threads;
    return search_open(&search, "demo", &demo->translator);
}

static int show_example(void *user, const rapt_translation *t)
{
    const struct corpus_pair *pair = (const struct corpus_pair *)user + t->sentence;
    char *text = printable((rapt_text){t->text, t->size});
    printf("  %s\n    %s\n", pair->source, text);
    if (strcmp(text, pair->target) != 0) printf("    (grammar: %s)\n", pair->target);
    free(text);
    return 0;
}

static int show_examples(const struct demo *demo)
{
    size_t count;
    const struct corpus_pair *pairs = corpus_showcase(demo->grammar, &count);
    rapt_text *texts = xcalloc(count, sizeof *texts);
    struct corpus_pair *copies = xcalloc(count, sizeof *copies);
    rapt_message why = {""};
    memcpy(copies, pairs, count * sizeof *copies);
    for (size_t i = 0; i < count; i++)
        texts[i] = (rapt_text){pairs[i].source, strlen(pairs[i].source)};
    rapt_status status =
        rapt_translate_many(demo->translator, texts, count, 0, show_example, copies, &why);
    free(texts);
    free(copies);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

/* Returns the largest weight of each word, summed over words: how concentrated a head is. */
static float sureness(const struct attention *attention)
{
    float sum = 0;
    for (int t = 0; t < attention->target.count; t++) {
        float max = 0;
        for (int s = 0; s < attention->source.count; s++) {
            float weight = attention->grid[t * attention->source.count + s];
            max = weight > max ? weight : max;
        }
        sum += max;
    }
    return sum;
}

static int attend_with(const struct demo *demo, int layer, int head, struct attention *attention)
{
    return attention_make(attention, demo->translator,
                          &(struct attention_choice){.sentence = ATTENDED,
                                                     .which = RAPT_WEIGHTS_CROSS,
                                                     .layer = layer,
                                                     .head = head,
                                                     .quiet = true});
}

/* Shows the weights of the most concentrated head of the last layer. */
static int show_attention(const struct demo *demo)
{
    const rapt_config *config = rapt_model_config(rapt_translator_model(demo->translator));
    const int layer = config->decoder_layers - 1;
    struct attention attention = {0};
    int code = EXIT_OK, head = 0;
    float best = -1;
    for (int h = 0; h < config->heads && code == EXIT_OK; h++) {
        code = attend_with(demo, layer, h, &attention);
        if (code == EXIT_OK && sureness(&attention) > best) {
            best = sureness(&attention);
            head = h;
        }
        attention_free(&attention);
    }
    if (code == EXIT_OK) code = attend_with(demo, layer, head, &attention);
    if (code == EXIT_OK) {
        printf("\nCross-attention weights of layer %d, head %d, the sharpest head of the last "
               "layer:\n\n",
               layer + 1, head + 1);
        struct heatmap map = attention_map(&attention);
        heatmap_print(stdout, &map,
                      (struct heatmap_style){.width = terminal_columns(stdout),
                                             .color = heatmap_color("auto")});
    }
    attention_free(&attention);
    return code;
}

static int show_demo(struct demo *demo, double seconds)
{
    printf("\n%.2f %% of %zu held-out sentences are translated exactly as in the corpus.\n\n",
           score_exact(&demo->score), demo->score.sentences);
    int code = show_examples(demo);
    if (code == EXIT_OK) code = show_attention(demo);
    printf("\nTrained on %zu pairs for %lld steps and tested in %.0f s with %d %s.\n",
           demo->data.train.count, demo->steps, seconds, demo->recipe.threads,
           demo->recipe.threads == 1 ? "thread" : "threads");
    return code;
}

static int run_demo(struct demo *demo, bool json)
{
    bool writes = demo->write_corpus != NULL;
    int code = writes && !demo->recipe.force ? file_new(demo->write_corpus) : EXIT_OK;
    if (code == EXIT_OK) code = make_corpus(demo);
    if (code != EXIT_OK || writes) return code == EXIT_OK ? write_corpus(demo) : code;
    code = choose_output(demo);
    if (code == EXIT_OK)
        print_report("Learning German from %zu sentence pairs: at most %d steps, about a minute on "
                     "two cores.",
                     demo->data.train.count, demo->recipe.steps);
    if (code == EXIT_OK) code = learn(&demo->recipe, &demo->data, &demo->steps);
    if (code == EXIT_OK) code = load_translator(demo);
    if (code == EXIT_OK) code = score_pairs(&demo->score, demo->translator, &demo->heldout, NULL);
    if (code != EXIT_OK) return code;
    double seconds = now() - demo->start;
    if (!json) return show_demo(demo, seconds);
    print_json(json_pack(
        "{s:o, s:I, s:I, s:I, s:o, s:i}", "exact", number(score_exact(&demo->score)), "heldout",
        (json_int_t)demo->heldout.count, "train_pairs", (json_int_t)demo->data.train.count, "steps",
        (json_int_t)demo->steps, "seconds", number(seconds), "threads", demo->recipe.threads));
    return EXIT_OK;
}

static void release_demo(struct demo *demo)
{
    lock_close(demo->lock);
    search_close(demo->translator);
    score_free(&demo->score);
    data_close(&demo->data);
    pairs_free(&demo->heldout);
    corpus_free(&demo->corpus);
    corpus_grammar_free(demo->grammar);
    if (demo->temporary != NULL) unlink(demo->temporary);
    if (demo->folder != NULL) rmdir(demo->folder);
    free(demo->temporary);
    free(demo->folder);
}

int command_demo(int argc, char **argv)
{
    struct demo demo = {.recipe = recipe_demo, .lock = -1, .start = now()};
    bool json = false;
    /* clang-format off */
    const struct option_row own[] = {
        {"Demonstration", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"steps", OPTION_INTEGER, &demo.recipe.steps, "N", "maximum number of training steps", 1, 1000000, 0},
        {"enough", OPTION_REAL, &demo.recipe.enough, "L", "stop when the validation loss, the logarithm of the perplexity, has been below L twice; 0: never", 0, 1e6, 0},
        seed_row(&demo.recipe.seed),
        threads_row(&demo.recipe.threads),
        {"out", OPTION_MADE, &demo.recipe.out, "FILE", "keep the model in this file", 0, 0, 0},
        {"force", OPTION_FLAG, &demo.recipe.force, "", "replace an existing model or corpus", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print the results as one JSON object", 0, 0, 0},
        {"write-corpus", OPTION_OUTPUT, &demo.write_corpus, "FILE",
         "only write the sentence pairs, tab-separated", 0, 0, 0},
        {"Model", OPTION_GROUP, NULL, "", "", 0, 0, 0},
    };
    const struct option_row attention = {"Attention", OPTION_GROUP, NULL, "", "", 0, 0, 0};
    /* clang-format on */
    int count = sizeof own / sizeof *own;
    struct option_row rows[sizeof own / sizeof *own + 1 + VARIANT_ROWS];
    memcpy(rows, own, sizeof own);
    count += variant_rows(&demo.recipe.variant, VARIANT_MODEL, rows + count);
    rows[count++] = attention;
    count += variant_rows(&demo.recipe.variant, VARIANT_ATTENTION, rows + count);
    struct command command = {.name = "demo",
                              .arguments = "",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = count};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    demo.recipe.threads = threads_used(demo.recipe.threads);
    code = run_demo(&demo, json);
    release_demo(&demo);
    if (finish_output() != EXIT_OK && code == EXIT_OK) code = EXIT_FAILED;
    return code;
}
