/* suggest.c - suggests what was probably meant by an unknown name: the nearest one by edit distance
   with transpositions (Damerau 1964; optimal string alignment), or a common synonym. */
#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 40, FAR = LONGEST };

static int min3(int a, int b, int c)
{
    int less = a < b ? a : b;
    return less < c ? less : c;
}

/* Returns the number of insertions, deletions, replacements and swaps of neighbors that turn a into
   b, or FAR if a text is too long. */
static int distance(const char *a, const char *b)
{
    int rows[LONGEST + 1][LONGEST + 1];
    int m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST || n > LONGEST) return FAR;
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            int replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            rows[i][j] = min3(replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && rows[i - 2][j - 2] + 1 < rows[i][j]) rows[i][j] = rows[i - 2][j - 2] + 1;
        }
    return rows[m][n];
}

/* Replaces *best if `name` is nearer to what was typed: at most 2 edits, and fewer than half its
   letters. */
static void consider(const char *name, const char *typed, const char **best, int *nearest)
{
    int edits = distance(typed, name);
    if (edits >= *nearest || edits > 2 || 2 * edits >= (int)strlen(name)) return;
    *best = name;
    *nearest = edits;
}

static const struct {
    const char *typed, *meant;
} synonyms[] = {
    {"lr", "rate"},
    {"learning-rate", "rate"},
    {"label-smoothing", "smoothing"},
    {"d-model", "width"},
    {"embedding", "width"},
    {"hidden", "ffn-width"},
    {"ffn", "ffn-width"},
    {"vocabulary", "vocab"},
    {"vocab-size", "vocab"},
    {"batch-size", "batch-tokens"},
    {"batch", "batch-tokens"},
    {"src", "source"},
    {"tgt", "target"},
    {"reference", "target"},
    {"ref", "target"},
    {"hyp", "hypotheses"},
    {"time", "minutes"},
    {"max-steps", "steps"},
    {"output", "out"},
    {"out", "output"},
    {"continue", "resume"},
    {"overwrite", "force"},
    {"beam-size", "beam"},
    {"n-best", "nbest"},
    {"jobs", "threads"},
    {"train", "data"},
    {"input", "data"},
};

const char *suggest_option(const struct command *command, const char *typed)
{
    const char *best = NULL;
    int nearest = FAR;
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP)
            consider(command->rows[i].name, typed, &best, &nearest);
    for (size_t i = 0; best == NULL && i < sizeof synonyms / sizeof *synonyms; i++) {
        const struct option_row *row = option_find(command, synonyms[i].meant);
        if (row != NULL && strcmp(synonyms[i].typed, typed) == 0) best = row->name;
    }
    return best;
}

char *suggest_choice(const char *choices, const char *typed)
{
    char *best = NULL;
    int nearest = FAR;
    for (const char *at = choices; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        char *name = xasprintf("%.*s", (int)length, at);
        const char *nearer = NULL;
        consider(name, typed, &nearer, &nearest);
        if (nearer != NULL) {
            free(best);
            best = name;
        } else {
            free(name);
        }
        at += length;
    }
    return best;
}
