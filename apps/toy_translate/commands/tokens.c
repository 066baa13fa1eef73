/* tokens.c - toy_translate tokenize, detokenize and vocab. Tokens are printed with U+2581 for a
   space and <0xNN> for a byte that is not text. */
#include "commands.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 4096 };

struct tokens {
    const char *model;
    bool target, ids, json;
    struct vocabulary vocabulary;
    const rapt_tokenizer *tokenizer;
    struct lines lines;
    bool wrong;
};

/* Returns the token as it is printed. The caller frees it. */
static char *token_text(rapt_text token)
{
    char *text = xcalloc(6 * token.size + 1, 1), *to = text;
    for (size_t at = 0; at < token.size;) {
        size_t good = rapt_utf8_valid((rapt_text){token.bytes + at, token.size - at});
        for (size_t i = 0; i < good; i++, at++) {
            unsigned char c = (unsigned char)token.bytes[at];
            to += c == ' '                ? sprintf(to, "\xE2\x96\x81")
                  : c < 0x20 || c == 0x7F ? sprintf(to, "<0x%02X>", c)
                                          : sprintf(to, "%c", c);
        }
        if (at == token.size) break;
        to += sprintf(to, "<0x%02X>", (unsigned char)token.bytes[at++]);
    }
    return text;
}

static char *name_of(const rapt_tokenizer *tokenizer, int32_t id)
{
    static const struct {
        int which;
        const char *name;
    } specials[] = {{RAPT_TOKEN_PAD, "<pad>"},
                    {RAPT_TOKEN_BEGIN, "<s>"},
                    {RAPT_TOKEN_END, "</s>"},
                    {RAPT_TOKEN_UNKNOWN, "<unk>"}};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (rapt_tokenizer_special(tokenizer, specials[i].which) == id)
            return xasprintf("%s", specials[i].name);
    return token_text(rapt_tokenizer_name(tokenizer, id));
}

static int open_model(struct tokens *t, const char *command)
{
    if (t->model == NULL) return usage_error("%s: --model is missing", command);
    rapt_model *model = NULL;
    int code = model_open(&model, t->model, NULL);
    if (code == EXIT_OK) code = vocabulary_load(&t->vocabulary, model);
    rapt_model_free(model);
    t->tokenizer = t->target ? t->vocabulary.target : t->vocabulary.source;
    return code;
}

static void print_tokens(const struct tokens *t, rapt_text text)
{
    size_t bound = rapt_tokenizer_bound(t->tokenizer, text.size), count = 0;
    int32_t *ids = xcalloc(bound, sizeof *ids);
    rapt_tokenizer_encode(t->tokenizer, text, ids, NULL, bound, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        char *name = t->ids ? xasprintf("%d", (int)ids[i]) : name_of(t->tokenizer, ids[i]);
        printf("%s%s", i > 0 ? " " : "", name);
        free(name);
    }
    putchar('\n');
    free(ids);
}

/* Reads the ids in a line, which are separated by spaces. Returns NULL if a word is not an id of
   the vocabulary. The caller frees the result. */
static int32_t *read_ids(const struct tokens *t, rapt_text line, size_t *count)
{
    int32_t *ids = xcalloc(line.size / 2 + 1, sizeof *ids);
    *count = 0;
    for (size_t at = 0; at < line.size; at++) {
        long long id = 0;
        size_t from = at;
        if (line.bytes[at] == ' ') continue;
        for (; at < line.size && line.bytes[at] >= '0' && line.bytes[at] <= '9'; at++)
            if (id <= INT_MAX) id = 10 * id + (line.bytes[at] - '0');
        bool word = at == from || (at < line.size && line.bytes[at] != ' ');
        if (word || id >= rapt_tokenizer_vocab(t->tokenizer)) {
            free(ids);
            return NULL;
        }
        ids[(*count)++] = (int32_t)id;
    }
    return ids;
}

static void print_decoded(struct tokens *t, rapt_text line, size_t number)
{
    size_t count = 0, size = 0;
    int32_t *ids = read_ids(t, line, &count);
    if (ids == NULL) {
        print_message(
            "standard input:%zu: not a list of token ids below %d; the line is left empty", number,
            rapt_tokenizer_vocab(t->tokenizer));
        t->wrong = true;
        putchar('\n');
        return;
    }
    rapt_tokenizer_decode(t->tokenizer, ids, count, NULL, 0, &size, NULL);
    char *bytes = xcalloc(size, 1);
    rapt_tokenizer_decode(t->tokenizer, ids, count, bytes, size, &size, NULL);
    fwrite(bytes, 1, size, stdout);
    putchar('\n');
    free(bytes);
    free(ids);
}

static int each_line(struct tokens *t, bool back)
{
    size_t count, number = 0;
    int code = EXIT_OK;
    lines_open(&t->lines, STDIN_FILENO);
    while (code == EXIT_OK && (count = lines_next(&t->lines, WINDOW)) > 0) {
        if (!t->lines.begun) code = text_check("standard input", t->lines.bytes, t->lines.size);
        for (size_t i = 0; i < count && code == EXIT_OK; i++)
            if (back)
                print_decoded(t, lines_get(&t->lines, i), ++number);
            else
                print_tokens(t, lines_get(&t->lines, i));
        if (finish_output() != EXIT_OK) code = EXIT_FAILED;
    }
    lines_close(&t->lines);
    if (t->lines.error != 0)
        return failed("cannot read standard input: %s",
                      unpack_error(&t->lines.source, t->lines.error));
    return code == EXIT_OK && t->wrong ? EXIT_FAILED : code;
}

static int print_vocabulary(const struct tokens *t)
{
    for (int32_t id = 0; id < rapt_tokenizer_vocab(t->tokenizer); id++) {
        char *name = name_of(t->tokenizer, id);
        if (t->json)
            print_json(json_pack("{s:i, s:s}", "id", (int)id, "token", name));
        else
            printf("%d\t%s\n", (int)id, name);
        free(name);
    }
    return finish_output();
}

enum command_kind { TOKENIZE, DETOKENIZE, VOCAB };

static int run_tokens(enum command_kind kind, const char *name, const char *purpose, int argc,
                      char **argv)
{
    struct tokens t = {0};
    /* clang-format off */
    struct option_row rows[3] = {
        model_row(&t.model),
        {"target", OPTION_FLAG, &t.target, "", "use the target vocabulary, if the model has two", 0, 0, 0},
        kind == TOKENIZE ? (struct option_row){"ids", OPTION_FLAG, &t.ids, "", "print ids instead of tokens", 0, 0, 0}
                         : (struct option_row){"json", OPTION_FLAG, &t.json, "", "print JSON, one object per token", 0, 0, 0},
    };
    /* clang-format on */
    struct command command = {.name = name,
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = kind == DETOKENIZE ? 2 : 3};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (kind != VOCAB && output_is_input())
        return usage_error("%s: standard input and standard output are the same file", name);
    code = open_model(&t, name);
    if (code == EXIT_OK)
        code = kind == VOCAB ? print_vocabulary(&t) : each_line(&t, kind != TOKENIZE);
    vocabulary_free(&t.vocabulary);
    return code;
}

int command_tokenize(int argc, char **argv)
{
    return run_tokens(TOKENIZE, "tokenize",
                      "Prints the tokens of each line of standard input, separated by spaces. A "
                      "space inside a token is shown as U+2581, a byte that is not text as <0xNN>.",
                      argc, argv);
}

int command_detokenize(int argc, char **argv)
{
    return run_tokens(
        DETOKENIZE, "detokenize",
        "Reads lines of token ids, as tokenize --ids prints them, and prints their text.", argc,
        argv);
}

int command_vocab(int argc, char **argv)
{
    return run_tokens(VOCAB, "vocab",
                      "Prints the vocabulary of a model: on each line an id, a tab and the token.",
                      argc, argv);
}
