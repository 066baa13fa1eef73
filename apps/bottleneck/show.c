/* show.c - text output: a table of BLEU by length and two attention maps; the same as JSON. */
#include "bottleneck.h"
#include <stdlib.h>
#include <string.h>

void example_make(struct example *example, const char *about, const struct clause *clause,
                  struct translator *translator)
{
    const struct language *language = translator->training->language;
    *example = (struct example){.about = about};
    french_append(language, &example->sentence, clause);
    size_t columns = (size_t)example->sentence.source.count + 1;
    example->weights = xcalloc(MAX_TARGET * columns, sizeof(float));
    translator_translate(translator, &example->sentence, 1, &example->out,
                         &(struct seen){.weights = example->weights});
}

void example_free(struct example *example)
{
    free(example->weights);
}

/* The words of a sentence and the end token. */
static rapt_text *names_of(const struct vocabulary *vocabulary, const struct words *words)
{
    rapt_text *list = xcalloc((size_t)words->count + 1, sizeof *list);
    for (int i = 0; i <= words->count; i++) {
        int token = i < words->count ? words->tokens[i] : RAPT_TOKEN_END;
        list[i] = (rapt_text){vocabulary->words[token], strlen(vocabulary->words[token])};
    }
    return list;
}

struct heatmap example_map(const struct example *example, const struct language *language)
{
    return (struct heatmap){example->out.count + 1, example->sentence.source.count + 1,
                            names_of(&language->target, &example->out),
                            names_of(&language->source, &example->sentence.source),
                            example->weights};
}

void example_map_free(struct heatmap *map)
{
    free((void *)(uintptr_t)map->row_names);
    free((void *)(uintptr_t)map->column_names);
}

static void print_table(const struct report *report)
{
    enum { LABEL = 32 };
    const int max_words = report->training->max_words;
    printf("BLEU by English sentence length; * longer than any training sentence (%d words)\n\n",
           max_words);
    printf("%-8s", "words");
    for (int k = 0; k < KINDS; k++) printf("%16s", report->curves[k].name);
    putchar('\n');
    for (int i = 0; i < POINTS; i++) {
        int length = point_length(report->training, i);
        printf("%5d%s", length, length > max_words ? " * " : "   ");
        for (int k = 0; k < KINDS; k++) printf("%16.1f", report->curves[k].at[i].bleu);
        putchar('\n');
    }
    printf("\n%-*s", LABEL, "parameters");
    for (int k = 0; k < KINDS; k++) printf("%16zu", report->curves[k].parameters);
    printf("\n%-*s", LABEL, "BLEU up to half that length");
    for (int k = 0; k < KINDS; k++) printf("%16.1f", report->curves[k].in_range.bleu);
    printf("\nBLEU of %2d to %2d words          ", max_words + 1, max_words * 5 / 4);
    for (int k = 0; k < KINDS; k++) printf("%16.1f", report->curves[k].beyond.bleu);
    printf("\n%-*s", LABEL, "retained (ratio of the two)");
    for (int k = 0; k < KINDS; k++) printf("%16.2f", retained(&report->curves[k]));
    printf("\n\n");
}

void report_print(const struct report *report)
{
    print_table(report);
    puts("Attention weights of each French word. Shades are relative to the largest\n"
         "weight of the row, or to twice that of equal weights if that is more.\n");
    for (int i = 0; i < EXAMPLES; i++) {
        const struct example *example = &report->examples[i];
        struct heatmap map = example_map(example, report->training->language);
        printf("%s\n\n", example->about);
        heatmap_print(stdout, &map,
                      (struct heatmap_style){.width = terminal_columns(stdout),
                                             .color = heatmap_color("auto")});
        putchar('\n');
        example_map_free(&map);
    }
    printf("The claim %s: just beyond the training lengths the fixed vector\n"
           "retains less than 0.5 of its BLEU on short sentences, attention at least 0.9.\n"
           "%.1f seconds.\n",
           claim_holds(report) ? "holds" : "does NOT hold", report->seconds);
}

static json_t *list(const struct vocabulary *vocabulary, const struct words *words)
{
    json_t *all = json_array();
    for (int i = 0; i < words->count; i++)
        json_array_append_new(all, json_string(vocabulary->words[words->tokens[i]]));
    return all;
}

static json_t *describe_curve(const struct report *report, int kind)
{
    const struct curve *curve = &report->curves[kind];
    json_t *points = json_array();
    for (int i = 0; i < POINTS; i++)
        json_array_append_new(points, json_pack("{s:i, s:f, s:f}", "words",
                                                point_length(report->training, i), "bleu",
                                                curve->at[i].bleu, "exact", curve->at[i].exact));
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:o}", "name", curve->name, "parameters",
                     (json_int_t)curve->parameters, "bleu_short", curve->in_range.bleu,
                     "bleu_beyond", curve->beyond.bleu, "retained", retained(curve), "points",
                     points);
}

void report_json(const struct report *report)
{
    json_t *models = json_array(), *examples = json_array();
    for (int k = 0; k < KINDS; k++) json_array_append_new(models, describe_curve(report, k));
    for (int i = 0; i < EXAMPLES; i++) {
        const struct example *one = &report->examples[i];
        const struct language *language = report->training->language;
        json_array_append_new(examples,
                              json_pack("{s:s, s:o, s:o, s:o}", "about", one->about, "english",
                                        list(&language->source, &one->sentence.source), "french",
                                        list(&language->target, &one->out), "weights",
                                        number_rows(one->weights, one->out.count + 1,
                                                    one->sentence.source.count + 1)));
    }
    print_json(json_pack("{s:i, s:o, s:o, s:b, s:f}", "trained_to_words",
                         report->training->max_words, "models", models, "examples", examples,
                         "claim", claim_holds(report), "seconds", report->seconds));
}
