/* attend.c - toy_translate attend: translates a sentence and shows attention weights as text, as a
   figure, or as JSON. */
#include "commands.h"
#include "kit/svg.h"
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Translates SENTENCE and prints attention weights as a heat map, with one row per word of the "
    "translation and one column per word of the sentence. Shades are relative to the largest "
    "weight of the row, or to twice the uniform weight if that is larger. Weights are summed over "
    "the tokens of an attended word and averaged over those of an attending word. A question mark "
    "precedes a word that did not occur in training.\n\n"
    "A row holds the weights of the step that produced its word. With --self encoder, rows and "
    "columns are the words of the sentence. With --self decoder, rows are the words of the "
    "translation and columns are the words before them. Without --layer and --head, the heads that "
    "align words are shown if the model has an alignment_layer (info prints it; models trained "
    "with --guided-alignment, and those of Marian and CTranslate2, have one). Otherwise the mean "
    "over layers and heads is shown.";

static const char examples[] =
    "  toy_translate attend -m m.safetensors cats do not like dogs\n"
    "  toy_translate attend -m m.safetensors --self encoder --layer 1 --head 2 a dog\n"
    "  toy_translate attend -m m.safetensors a dog --target \"ein Hund\" --svg dog.svg";

static json_t *words_json(const struct words *words)
{
    json_t *list = json_array();
    for (int i = 0; i < words->count; i++) {
        char *word = printable(words->texts[i]);
        put_item(list, json_string(word));
        free(word);
    }
    return list;
}

static json_t *attention_json(const struct attention *attention)
{
    json_t *rows = number_rows(attention->grid, attention->target.count, attention->source.count);
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "translation", attention->text, "source",
                     words_json(&attention->source), "target", words_json(&attention->target),
                     "weights", rows, "unseen",
                     unseen_json(&attention->seen, &attention->source, attention->unseen));
}

struct options {
    struct search search;
    struct attention_choice choice;
    const char *self, *color, *svg;
    bool numbers, json, open; /* `open` means that neither --layer nor --head is given */
};

static int check_text(const char *what, const char *bytes)
{
    rapt_text text = {bytes, strlen(bytes)};
    size_t bad = rapt_utf8_valid(text);
    if (bad < text.size) return failed("the %s: byte %zu is not valid UTF-8", what, bad + 1);
    return text.size > 0 ? EXIT_OK : usage_error("attend: the %s is empty", what);
}

/* Here, layers and heads are counted from 1, and 0 means the mean of all. */
static int check_choice(const struct options *o, const rapt_translator *translator)
{
    rapt_config config = *rapt_model_config(rapt_translator_model(translator));
    int layers =
        o->choice.which == RAPT_WEIGHTS_ENCODER ? config.encoder_layers : config.decoder_layers;
    if (o->choice.layer > layers)
        return usage_error("attend: --layer %d: the model has layers 1 to %d", o->choice.layer,
                           layers);
    if (o->choice.head > config.heads)
        return usage_error("attend: --head %d: the model has heads 1 to %d", o->choice.head,
                           config.heads);
    int code = check_text("sentence", o->choice.sentence);
    return code == EXIT_OK && o->choice.target != NULL ? check_text("translation", o->choice.target)
                                                       : code;
}

static int widest(const rapt_text *names, int count)
{
    int columns = 1;
    for (int i = 0; i < count; i++) {
        char *text = printable(names[i]);
        int width = text_columns((rapt_text){text, strlen(text)});
        columns = width > columns ? width : columns;
        free(text);
    }
    return columns;
}

static int draw_attention(const struct options *o, const struct attention *attention)
{
    enum { CELL_SIDE = 30, LETTER = 8, TITLE = 40 };
    struct svg svg;
    struct heatmap map = attention_map(attention);
    double left = 30 + LETTER * widest(map.row_names, map.rows);
    double top = TITLE + 20 + 0.75 * LETTER * widest(map.column_names, map.columns);
    double width = left + CELL_SIDE * map.columns + 60, height = top + CELL_SIDE * map.rows + 20;
    char *title = xasprintf("%s: %s", o->choice.sentence, attention->text);
    char *clean = printable((rapt_text){title, strlen(title)});
    double needed = 40 + 7.5 * text_columns((rapt_text){clean, strlen(clean)});
    int code = svg_open(&svg, o->svg, width > needed ? width : needed, height, clean);
    if (code == EXIT_OK) {
        svg_text(&svg, 20, 28, 14, SVG_LEFT, "#222222", "%s", clean);
        shade_map(&svg, left, top, CELL_SIDE, map.rows, map.columns, map.row_names,
                  map.column_names, map.weights);
        code = svg_close(&svg);
    }
    free(clean);
    free(title);
    return code;
}

static int show_weights(const struct options *o, const struct attention *attention)
{
    struct heatmap map = attention_map(attention);
    if (o->json) {
        print_json(attention_json(attention));
    } else {
        printf("%s\n\n", attention->text);
        heatmap_print(stdout, &map,
                      (struct heatmap_style){.width = terminal_columns(stdout),
                                             .numbers = o->numbers,
                                             .color = heatmap_color(o->color)});
    }
    return o->svg != NULL ? draw_attention(o, attention) : EXIT_OK;
}

/* Converts the options into a layer and a head, counted from 0, where -1 means the mean of all. If
   `open` is true, selects the heads that the model's alignment_layer and alignment_heads name, if
   it has any. */
static void choose_weights(struct attention_choice *choice, bool open,
                           const rapt_translator *translator, int code)
{
    const rapt_config *c = NULL;
    if (code == EXIT_OK && open && choice->which == RAPT_WEIGHTS_CROSS)
        c = rapt_model_config(rapt_translator_model(translator));
    if (c != NULL && c->alignment_layer > 0)
        choice->layer = c->alignment_layer, choice->head = 1, choice->heads = c->alignment_heads;
    choice->layer = choice->layer > 0 ? choice->layer - 1 : -1;
    choice->head = choice->head > 0 ? choice->head - 1 : -1;
}

static int attend_to(struct options *o)
{
    rapt_translator *translator = NULL;
    struct attention attention = {0};
    int code = search_open(&o->search, "attend", &translator);
    if (code == EXIT_OK) search_report(&o->search, translator);
    if (code == EXIT_OK) code = check_choice(o, translator);
    choose_weights(&o->choice, o->open, translator, code);
    o->choice.model = o->search.model;
    if (code == EXIT_OK) code = attention_make(&attention, translator, &o->choice);
    if (code == EXIT_OK) code = show_weights(o, &attention);
    if (code == EXIT_OK) code = finish_output();
    attention_free(&attention);
    search_close(translator);
    return code;
}

/* Returns the arguments as one text. The caller frees it. */
static char *join_arguments(const struct command *command)
{
    char *text = xasprintf("%s", command->rest[0]);
    for (int i = 1; i < command->rest_count; i++) {
        char *more = xasprintf("%s %s", text, command->rest[i]);
        free(text);
        text = more;
    }
    return text;
}

int command_attend(int argc, char **argv)
{
    struct options o = {
        .search = search_default, .choice = {.which = RAPT_WEIGHTS_CROSS}, .color = "auto"};
    /* clang-format off */
    struct option_row rows[SEARCH_ROWS + 9] = {
        [SEARCH_ROWS] =
        {"Weights", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"self", OPTION_CHOICE, &o.self, "encoder|decoder", "show self-attention instead of cross-attention", 0, 0, 0},
        {"layer", OPTION_INTEGER, &o.choice.layer, "N", "layer, from 1; 0: the mean of all [the model's alignment_layer]", 0, 1024, 0},
        {"head", OPTION_INTEGER, &o.choice.head, "N", "head, from 1; 0: the mean of all [the model's alignment_heads]", 0, 1024, 0},
        {"target", OPTION_TEXT, &o.choice.target, "TEXT", "use this translation instead of the model's own", 0, 0, 0},
        {"numbers", OPTION_FLAG, &o.numbers, "", "print percentages instead of shades", 0, 0, 0},
        {"color", OPTION_CHOICE, &o.color, "auto|always|never", "use colors instead of shades; auto: on a terminal, unless NO_COLOR is set", 0, 0, 0},
        {"svg", OPTION_OUTPUT, &o.svg, "FILE", "write an SVG figure", 0, 0, 0},
        {"json", OPTION_FLAG, &o.json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&o.search, rows);
    struct command command = {.name = "attend",
                              .arguments = "SENTENCE",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows,
                              .min = 1,
                              .max = 1 << 20};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    o.open = !option_given(&command, "layer") && !option_given(&command, "head");
    if (o.self != NULL)
        o.choice.which =
            strcmp(o.self, "encoder") == 0 ? RAPT_WEIGHTS_ENCODER : RAPT_WEIGHTS_DECODER;
    char *sentence = join_arguments(&command);
    o.choice.sentence = sentence;
    code = attend_to(&o);
    free(sentence);
    return code;
}
