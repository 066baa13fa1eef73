/* attend.c - toy_translate attend: translates a sentence and prints its cross-attention weights. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Translates SENTENCE and prints the cross-attention weights as a heat map: one row per word of "
    "the translation, one column per word of the sentence; darker is more weight. Tokens are "
    "grouped into words: weights are summed over the tokens of a source word and averaged over "
    "those of a target word. A row holds the weights of the step that emitted its word.";

static const char examples[] = "  toy_translate attend -m m.safetensors \"cats do not like dogs\"";

static json_t *words_json(const struct words *words)
{
    json_t *list = json_array();
    for (int i = 0; i < words->count; i++) {
        char *word = printable(words->texts[i]);
        json_array_append_new(list, json_string(word));
        free(word);
    }
    return list;
}

static json_t *describe(const struct attention *attention)
{
    json_t *rows = number_rows(attention->grid, attention->target.count, attention->source.count);
    return json_pack("{s:s, s:o, s:o, s:o}", "translation", attention->text, "source",
                     words_json(&attention->source), "target", words_json(&attention->target),
                     "weights", rows);
}

static int check(const rapt_translator *translator, int layer, int head, const char *sentence)
{
    rapt_config config = *rapt_model_config(rapt_translator_model(translator));
    if (layer > config.decoder_layers)
        return usage_error("attend: --layer %d: the model has %d", layer, config.decoder_layers);
    if (head > config.heads)
        return usage_error("attend: --head %d: the model has %d", head, config.heads);
    rapt_text text = {sentence, strlen(sentence)};
    size_t bad = rapt_utf8_valid(text);
    if (bad < text.size) return failed("the sentence: byte %zu is not valid UTF-8", bad + 1);
    return text.size > 0 ? EXIT_OK : usage_error("attend: the sentence is empty");
}

static int attend(const struct search *search, const char *sentence, int layer, int head,
                  bool numbers, bool json)
{
    rapt_translator *translator = NULL;
    struct attention attention = {0};
    int code = search_open(search, "attend", &translator);
    if (code == EXIT_OK) code = check(translator, layer, head, sentence);
    if (code == EXIT_OK)
        code = attention_make(&attention, translator, sentence, layer - 1, head - 1);
    if (code == EXIT_OK && json) print_json(describe(&attention));
    if (code == EXIT_OK && !json) {
        printf("%s\n\n", attention.text);
        struct heatmap map = attention_map(&attention);
        heatmap_print(stdout, &map, numbers, terminal_columns(stdout));
    }
    if (code == EXIT_OK) code = finish_output();
    attention_free(&attention);
    rapt_translator_free(translator);
    return code;
}

int command_attend(int argc, char **argv)
{
    struct search search = search_default;
    int layer = 0, head = 0;
    bool numbers = false, json = false;
    /* clang-format off */
    struct option_row rows[SEARCH_ROWS + 5] = {
        [SEARCH_ROWS] =
        {"Weights", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"layer", OPTION_INTEGER, &layer, "N", "decoder layer, from 1; 0: mean of all", 0, 1024, 0},
        {"head", OPTION_INTEGER, &head, "N", "head, from 1; 0: mean of all", 0, 1024, 0},
        {"numbers", OPTION_FLAG, &numbers, "", "numbers in % instead of shades", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&search, rows);
    struct command command = {.name = "attend",
                              .arguments = "SENTENCE",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows,
                              .min = 1,
                              .max = 1};
    int code = options_read(&command, argc, argv);
    return code == GO_ON ? attend(&search, command.rest[0], layer, head, numbers, json) : code;
}
