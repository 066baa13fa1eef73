/* evaluate.c - toy_translate evaluate: BLEU, chrF and exact matches of a model or of a file of
   translations on sentence pairs, with confidence intervals and a comparison with another
   system. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include "kit/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Translates the source sentences of pairs and scores the translations against the targets. "
    "With --hypotheses, scores translations from a file:\n"
    "  bleu         BLEU, cased; --tokenize splits words, by default as sacreBLEU\n"
    "  bleu_lc_tok  BLEU, lower case, split at spaces: for tokenized text\n"
    "  chrf         chrF2\n"
    "  exact        translations equal to the target, in %\n\n"
    "Target tokens and tokens per second count the tokens of the translations, including end "
    "tokens. The interval after BLEU and chrF contains 95 % of --bootstrap resamples of the "
    "sentences. --versus and --versus-model compare with another system on the same sentences by a "
    "paired bootstrap test: p is the probability of a difference at least this large if both "
    "systems were equally good.\n\n"
    "--noise prints a table with the scores of the same pairs with one kind of noise at a time, "
    "added to all pairs or, with a rate such as caps=.5, to a share of them. Tags enclose whole "
    "sentences. changed is the number of pairs that differ from the original.\n\n"
    "The tokenizers of --tokenize are sacreBLEU's, with the same results. 13a separates words at "
    "spaces and western punctuation, intl at all punctuation of Unicode, zh also around every "
    "Chinese character, char around every character, and none only at spaces. A score is "
    "comparable only with scores of the same tokenizer, which the signature names. Scripts without "
    "spaces need zh (Chinese) or char (Japanese, Thai and others).";

static const char examples[] =
    "  toy_translate evaluate -m m.safetensors --data test.tsv --output test.out\n"
    "  toy_translate evaluate --hypotheses test.out --data test.tsv\n"
    "  toy_translate evaluate -m new.safetensors --versus test.out --data test.tsv";

/* ---- --noise: scores of the pairs with each kind of noise ---- */

struct noise_score {
    const char *name;
    size_t changed; /* number of pairs that the noise changed */
    struct score score;
};
struct noise_scores {
    struct noise noise;      /* the kinds */
    rapt_bleu_tokens tokens; /* set before the first sentence, like noise */
    struct noise_score rows[NOISE_KINDS + 1];
    int count; /* number of rows; the first is that of the pairs without noise */
};

/* Translates the pairs with one kind of noise, or as they are if kind is NOISE_KINDS. */
static int score_kind(struct noise_scores *scores, int kind, rapt_translator *translator,
                      const struct pairs *pairs, uint64_t seed)
{
    struct noise noise = {{0}};
    struct pairs noisy = {0};
    struct noise_score *row = &scores->rows[scores->count++];
    if (kind < NOISE_KINDS) noise.rates[kind] = scores->noise.rates[kind];
    row->name = kind < NOISE_KINDS ? noise_name(kind) : "none";
    row->changed = noise_pairs(&noisy, pairs, &noise, seed);
    row->score.tokens = scores->tokens;
    int code = score_pairs(&row->score, translator, &noisy, NULL);
    pairs_free(&noisy);
    return code;
}

static int noise_score(struct noise_scores *scores, const struct search *search,
                       const struct pairs *pairs, uint64_t seed)
{
    rapt_translator *translator = NULL;
    int code = search_open(search, "evaluate", &translator);
    if (code == EXIT_OK) code = score_kind(scores, NOISE_KINDS, translator, pairs, seed);
    for (int kind = 0; kind < NOISE_KINDS && code == EXIT_OK; kind++)
        if (scores->noise.rates[kind] > 0) code = score_kind(scores, kind, translator, pairs, seed);
    search_close(translator);
    return code;
}

static void noise_print(const struct noise_scores *scores)
{
    if (scores->count == 0) return;
    printf("\nnoise               changed    bleu    chrf   exact\n");
    for (int i = 0; i < scores->count; i++) {
        const struct noise_score *row = &scores->rows[i];
        printf("%-18s %8zu  %6.2f  %6.2f  %6.2f\n", row->name, row->changed,
               score_bleu(row->score.sums), score_chrf(row->score.sums), score_exact(&row->score));
    }
}

static json_t *noise_json(const struct noise_scores *scores)
{
    json_t *object = json_object();
    for (int i = 0; i < scores->count; i++) {
        const struct noise_score *row = &scores->rows[i];
        put_member(object, row->name,
                   json_pack("{s:I, s:o, s:o, s:o}", "changed", (json_int_t)row->changed, "bleu",
                             number(score_bleu(row->score.sums)), "chrf",
                             number(score_chrf(row->score.sums)), "exact",
                             number(score_exact(&row->score))));
    }
    return object;
}

static void noise_free(struct noise_scores *scores)
{
    for (int i = 0; i < scores->count; i++) score_free(&scores->rows[i].score);
}

/* ---- scores of one or two systems ---- */

struct evaluation {
    struct search search;
    struct pair_files files;
    const char *noise; /* kinds, or NULL */
    const char *hypotheses, *output, *versus, *versus_model, *tokenize;
    bool json;
    int resamples;
    uint64_t seed;
    struct pairs pairs;
    struct score score, other;
    struct noise_scores noisy;
};

static bool compares(const struct evaluation *e)
{
    return e->versus != NULL || e->versus_model != NULL;
}

static struct bootstrap_corpus corpus_of(const struct score *score,
                                         double (*value)(const long long *sums))
{
    return (struct bootstrap_corpus){score->sentences, SCORE_COUNTS, score->counts, value};
}

/* Computes n-gram precisions in %. The first order without a match counts half a match, the next a
   quarter, and so on: smoothing "exp" (Chen and Cherry 2014, method 3). */
static void precisions_of(const long long *sums, double precisions[4])
{
    double smooth = 1;
    for (int n = 0; n < 4; n++) {
        double total = (double)sums[4 + n], matches = (double)sums[n];
        if (sums[n] == 0) smooth *= 2;
        precisions[n] = sums[4 + n] == 0 ? 0 : 100 * (sums[n] > 0 ? matches : 1 / smooth) / total;
    }
}

static double brevity(const long long *sums)
{
    if (sums[8] >= sums[9]) return 1;
    return sums[8] > 0 ? exp(1 - (double)sums[9] / (double)sums[8]) : 0;
}

/* Returns sacreBLEU's description of how BLEU was computed. The caller frees it. */
static char *signature_of(const struct evaluation *e)
{
    return xasprintf("nrefs:1|case:mixed|eff:no|tok:%s|smooth:exp|version:rapt-%s", e->tokenize,
                     rapt_version());
}

static void print_value(const char *name, const struct evaluation *e,
                        double (*value)(const long long *sums))
{
    struct bootstrap_corpus corpus = corpus_of(&e->score, value);
    printf("%-12s %.2f", name, value(e->score.sums));
    if (e->resamples > 0) {
        struct bootstrap_interval i = bootstrap_interval(&corpus, e->resamples, e->seed);
        printf("  [%.2f, %.2f]", i.low, i.high);
    }
    putchar('\n');
}

static void print_versus(const char *name, const struct evaluation *e,
                         double (*value)(const long long *sums))
{
    struct bootstrap_corpus a = corpus_of(&e->score, value), b = corpus_of(&e->other, value);
    double ours = value(e->score.sums), theirs = value(e->other.sums);
    printf("%-12s %.2f  %+.2f", name, theirs, ours - theirs);
    if (e->resamples > 0) printf("  p = %.4f", bootstrap_p(&a, &b, e->resamples, e->seed));
    putchar('\n');
}

static void print_evaluation(const struct evaluation *e)
{
    const struct score *score = &e->score;
    const long long *sums = score->sums;
    double p[4];
    precisions_of(sums, p);
    printf("sentences    %zu\n", score->sentences);
    print_value("bleu", e, score_bleu);
    printf("bleu_lc_tok  %.2f\n", rapt_bleu_score(&score->lowered));
    print_value("chrf", e, score_chrf);
    printf("exact        %.2f %%\n", score_exact(score));
    if (score->seconds > 0)
        printf("tokens/s     %.0f\n", (double)score->target_tokens / score->seconds);
    printf("precisions   %.1f/%.1f/%.1f/%.1f\n", p[0], p[1], p[2], p[3]);
    printf("brevity      %.3f  (%lld words, references %lld)\n", brevity(sums), sums[8], sums[9]);
    char *signature = signature_of(e);
    printf("signature    %s\n", signature);
    free(signature);
    noise_print(&e->noisy);
    if (!compares(e)) return;
    printf("\nversus %s\n", e->versus != NULL ? e->versus : e->versus_model);
    print_versus("bleu", e, score_bleu);
    print_versus("chrf", e, score_chrf);
}

static void describe_value(json_t *object, const char *name, const struct evaluation *e,
                           double (*value)(const long long *sums))
{
    struct bootstrap_corpus corpus = corpus_of(&e->score, value);
    if (e->resamples == 0) return;
    struct bootstrap_interval i = bootstrap_interval(&corpus, e->resamples, e->seed);
    char *key = xasprintf("%s_interval", name);
    put_member(object, key, json_pack("[o, o]", number(i.low), number(i.high)));
    free(key);
}

static json_t *describe_versus(const struct evaluation *e, double (*value)(const long long *sums))
{
    struct bootstrap_corpus a = corpus_of(&e->score, value), b = corpus_of(&e->other, value);
    double theirs = value(e->other.sums);
    json_t *object = json_pack("{s:o, s:o}", "score", number(theirs), "difference",
                               number(value(e->score.sums) - theirs));
    if (e->resamples > 0)
        put_member(object, "p", number(bootstrap_p(&a, &b, e->resamples, e->seed)));
    return object;
}

static json_t *evaluation_json(const struct evaluation *e)
{
    const struct score *score = &e->score;
    const long long *sums = score->sums;
    double p[4];
    precisions_of(sums, p);
    json_t *object =
        json_pack("{s:I, s:o, s:o, s:o, s:o}", "sentences", (json_int_t)score->sentences, "bleu",
                  number(score_bleu(sums)), "bleu_lc_tok", number(rapt_bleu_score(&score->lowered)),
                  "chrf", number(score_chrf(sums)), "exact", number(score_exact(score)));
    if (score->seconds > 0) {
        json_t *more =
            json_pack("{s:I, s:o, s:o, s:i}", "target_tokens", (json_int_t)score->target_tokens,
                      "seconds", number(score->seconds), "tokens_per_second",
                      number((double)score->target_tokens / score->seconds), "threads",
                      threads_used(e->search.threads));
        if (json_object_update(object, more) != 0) exit(failed("out of memory"));
        json_decref(more);
    }
    describe_value(object, "bleu", e, score_bleu);
    describe_value(object, "chrf", e, score_chrf);
    put_member(object, "precisions",
               json_pack("[o, o, o, o]", number(p[0]), number(p[1]), number(p[2]), number(p[3])));
    put_member(object, "brevity_penalty", number(brevity(sums)));
    char *signature = signature_of(e);
    put_member(object, "signature", json_string(signature));
    free(signature);
    if (e->noisy.count > 0) put_member(object, "noise", noise_json(&e->noisy));
    if (compares(e))
        put_member(object, "versus",
                   json_pack("{s:o, s:o}", "bleu", describe_versus(e, score_bleu), "chrf",
                             describe_versus(e, score_chrf)));
    return object;
}

/* Scores a file that has one translation per line of the pairs' file, including the lines of
   skipped pairs. */
static int score_file(struct score *score, const char *path, const struct pairs *pairs)
{
    char *bytes = NULL;
    size_t size = 0, at = 0, line = 0, next = 0;
    int code = file_read(path, &bytes, &size);
    if (code == EXIT_OK) code = text_check(path, bytes, size);
    if (code == EXIT_OK && size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) at = 3;
    while (code == EXIT_OK && at < size) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - bytes) - at : size - at;
        rapt_text text = {bytes + at, length};
        at += length + 1;
        line++;
        if (text.size > 0 && text.bytes[text.size - 1] == '\r') text.size--;
        if (next == pairs->count || pairs->line[next] != line) continue;
        code = score_add(score, text, pairs->target[next++]);
    }
    free(bytes);
    if (code != EXIT_OK) return code;
    if (line == pairs->lines) return EXIT_OK;
    return failed("%s has %zu lines, but %s has %zu", path, line, pairs->name, pairs->lines);
}

/* Translates the pairs, scores the result, and writes it to `output` unless that is NULL. */
static int score_model(struct evaluation *e, const char *model, const char *output,
                       struct score *score)
{
    struct search search = e->search;
    rapt_translator *translator = NULL;
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = output != NULL ? open_memstream(&bytes, &size) : NULL;
    search.model = model;
    int code = output != NULL && file == NULL ? failed("out of memory") : EXIT_OK;
    if (code == EXIT_OK) code = search_open(&search, "evaluate", &translator);
    if (code == EXIT_OK) search_report(&search, translator);
    if (code == EXIT_OK) code = score_pairs(score, translator, &e->pairs, file);
    if (code == EXIT_OK)
        raw_report(&score->raw, rapt_translator_source(translator), model,
                   "the scores are meaningless");
    bool whole = file == NULL || !ferror(file);
    if (file != NULL) whole = fclose(file) == 0 && whole;
    if (code == EXIT_OK && !whole) code = failed("%s: out of memory", output);
    if (code == EXIT_OK && output != NULL) code = file_write(output, bytes, size);
    free(bytes);
    search_close(translator);
    return code;
}

static rapt_bleu_tokens tokens_of(const char *word)
{
    static const struct {
        const char *word;
        rapt_bleu_tokens tokens;
    } all[] = {{"13a", RAPT_BLEU_TOKENS_13A},
               {"zh", RAPT_BLEU_TOKENS_ZH},
               {"intl", RAPT_BLEU_TOKENS_INTL},
               {"char", RAPT_BLEU_TOKENS_CHAR}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(word, all[i].word) == 0) return all[i].tokens;
    return RAPT_BLEU_TOKENS_NONE;
}

/* Prints a hint if the tokenizer cannot separate words in the script of the targets. */
static void hint_tokenizer(const struct evaluation *e)
{
    const char *better = score_tokenizer(&e->pairs);
    if (better == NULL || strcmp(e->tokenize, "zh") == 0 || strcmp(e->tokenize, "char") == 0)
        return;
    print_message(
        "%s: the targets are written without spaces, so --tokenize %s takes a whole clause "
        "for one word; use --tokenize %s",
        e->pairs.name, e->tokenize, better);
}

static int check_evaluation(const struct evaluation *e)
{
    if (e->hypotheses != NULL && e->search.model != NULL)
        return usage_error("evaluate: --hypotheses and --model cannot be combined");
    if (e->hypotheses != NULL && e->output != NULL)
        return usage_error("evaluate: --output needs --model");
    if (e->hypotheses != NULL && e->noise != NULL)
        return usage_error("evaluate: --noise needs --model");
    if (e->versus != NULL && e->versus_model != NULL)
        return usage_error("evaluate: --versus and --versus-model cannot be combined");
    if (e->hypotheses == NULL && e->search.model == NULL)
        return usage_error("evaluate: give --model or --hypotheses");
    return EXIT_OK;
}

static int evaluate(struct evaluation *e)
{
    int code = pair_files_check(&e->files, "evaluate");
    if (code == EXIT_OK) code = check_evaluation(e);
    if (code == EXIT_OK) code = noise_read(&e->noisy.noise, e->noise, true, "evaluate", "noise");
    if (code == EXIT_OK) code = pairs_read(&e->pairs, &e->files);
    if (code == EXIT_OK) hint_tokenizer(e);
    e->score.tokens = e->other.tokens = e->noisy.tokens = tokens_of(e->tokenize);
    if (code == EXIT_OK && e->hypotheses != NULL)
        code = score_file(&e->score, e->hypotheses, &e->pairs);
    else if (code == EXIT_OK)
        code = score_model(e, e->search.model, e->output, &e->score);
    if (code == EXIT_OK && e->noise != NULL)
        code = noise_score(&e->noisy, &e->search, &e->pairs, e->seed);
    if (code == EXIT_OK && e->versus != NULL) code = score_file(&e->other, e->versus, &e->pairs);
    if (code == EXIT_OK && e->versus_model != NULL)
        code = score_model(e, e->versus_model, NULL, &e->other);
    if (code == EXIT_OK && e->json) print_json(evaluation_json(e));
    if (code == EXIT_OK && !e->json) print_evaluation(e);
    if (code == EXIT_OK) code = finish_output();
    score_free(&e->score);
    score_free(&e->other);
    noise_free(&e->noisy);
    pairs_free(&e->pairs);
    return code;
}

int command_evaluate(int argc, char **argv)
{
    struct evaluation e = {
        .search = search_default, .tokenize = "13a", .resamples = 1000, .seed = 1};
    /* clang-format off */
    const struct option_row data = {"Data", OPTION_GROUP, NULL, "", "", 0, 0, 0};
    struct option_row rows[SEARCH_ROWS + 1 + PAIR_ROWS + 11] = {
        [SEARCH_ROWS + 1 + PAIR_ROWS] =
        {"hypotheses", OPTION_INPUT, &e.hypotheses, "FILE", "score these translations, one per line of the pairs, instead of those of a model", 0, 0, 0},
        {"tokenize", OPTION_CHOICE, &e.tokenize, "13a|zh|intl|char|none", "how bleu splits sentences into words; zh, char: for scripts without spaces", 0, 0, 0},
        {"noise", OPTION_TEXT, &e.noise, "KINDS",
         "also score the pairs with each kind of noise: caps, title, typos, tags, no-end-punctuation, concat or all, as in train --augment", 0, 0, 0},
        {"Comparison", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"bootstrap", OPTION_INTEGER, &e.resamples, "N", "number of resamples for intervals and p-values; 0: none", 0, 1000000, 0},
        {"seed", OPTION_SEED, &e.seed, "N", "random seed of the resamples and the noise", 0, 0, 0},
        {"versus", OPTION_INPUT, &e.versus, "FILE", "compare with these translations of another system", 0, 0, 0},
        {"versus-model", OPTION_INPUT, &e.versus_model, "FILE", "compare with another model", 0, 0, 0},
        {"Output", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"output", OPTION_OUTPUT, &e.output, "FILE", "write the translations, one per line of the pairs; lines of skipped pairs are empty", 0, 0, 0},
        {"json", OPTION_FLAG, &e.json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&e.search, rows);
    rows[SEARCH_ROWS] = data;
    pair_rows(&e.files, rows + SEARCH_ROWS + 1);
    struct command command = {.name = "evaluate",
                              .arguments = "",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    return code == GO_ON ? evaluate(&e) : code;
}
