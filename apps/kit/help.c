/* help.c - --help and --version of programs, and suggestions for unknown names. */
#include "kit/program.h"
#include <commit.h> /* KIT_COMMIT: "" unless built from a repository */
#include <math.h>
#include <rapt/base.h>
#include <stdlib.h>
#include <string.h>

/* ---- suggestions for an unknown name: the nearest name by edit distance with transpositions
   (Damerau 1964; optimal string alignment), or a common synonym ---- */

enum { LONGEST = 40, FAR = LONGEST };

static int min3(int a, int b, int c)
{
    int less = a < b ? a : b;
    return less < c ? less : c;
}

/* Returns the smallest number of insertions, deletions, replacements and swaps of neighbors that
   turn a into b, or FAR if a text is too long. */
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

/* Replaces *best with `name` if that is nearer to what was typed. The distance must be at most 2
   edits and less than half the length of the name. */
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

/* ---- --help, from the table of a command: usage, purpose, options in groups with their defaults
   in brackets, each list of values once, and examples, in at most HELP_COLUMNS columns ---- */

enum {
    LEFT = 26,  /* column where the help of an option begins */
    INLINE = 24 /* longest list of values printed beside an option */
};

void print_wrapped(const char *text, int at, int left)
{
    while (*text) {
        int indent = at <= left ? (int)strspn(text, " ") : 0;
        int word = (int)strcspn(text + indent, " \n");
        if (at > left && at + 1 + word > HELP_COLUMNS) {
            putchar('\n');
            at = 0;
        } else if (at > left) {
            putchar(' ');
            at++;
        }
        if (at < left + indent) at += printf("%*s", left + indent - at, "");
        at += printf("%.*s", word, text + indent);
        text += indent + word;
        if (*text == '\n') {
            putchar('\n');
            at = 0;
            if (text[1] == '\n') putchar('\n'), text++;
        }
        if (*text) text++;
    }
    putchar('\n');
}

/* Returns true if several rows have this list of values. */
static bool is_shared(const struct command *command, const struct option_row *row)
{
    int count = 0;
    for (int i = 0; i < command->count; i++) {
        const struct option_row *other = &command->rows[i];
        count += other->kind == OPTION_CHOICE && strcmp(other->argument, row->argument) == 0;
    }
    return count > 1;
}

char *option_list_name(const struct command *command, const struct option_row *row)
{
    if (row->kind != OPTION_CHOICE) return NULL;
    if (strlen(row->argument) <= INLINE && !is_shared(command, row)) return NULL;
    const char *dash = strrchr(row->name, '-');
    char *name = xasprintf("%s", dash != NULL ? dash + 1 : row->name);
    for (char *at = name; *at; at++)
        if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
    return name;
}

char *option_usage(const struct command *command, const struct option_row *row)
{
    char *list = option_list_name(command, row), letter = option_letter(row->name);
    const char *argument = list != NULL ? list : row->argument;
    char *usage = xasprintf("%s%.*s%s--%s%s%s", letter ? "-" : "", letter != 0, &letter,
                            letter ? ", " : "", row->name, *argument ? " " : "", argument);
    free(list);
    return usage;
}

char *option_default(const struct option_row *row)
{
    const char *text = NULL;
    switch (row->kind) {
    case OPTION_INTEGER:
        if (*(int *)row->value != 0 && *(int *)row->value >= row->min)
            return xasprintf(" [%d]", *(int *)row->value);
        break;
    case OPTION_REAL:
    case OPTION_MINUTES:
        if (fabs(*(double *)row->value) > 0 && *(double *)row->value >= row->min)
            return xasprintf(" [%g]", *(double *)row->value);
        break;
    case OPTION_SEED:
        return xasprintf(" [%llu]", (unsigned long long)*(uint64_t *)row->value);
    case OPTION_INPUT:
    case OPTION_OUTPUT:
    case OPTION_MADE:
    case OPTION_TEXT:
    case OPTION_CHOICE:
        text = *(const char *const *)row->value;
        if (text != NULL && *text) return xasprintf(" [%s]", text);
        break;
    case OPTION_GROUP:
    case OPTION_FLAG:
        break;
    }
    return xasprintf("%s", "");
}

static void print_option(const char *usage, const char *help)
{
    int at = printf("  %s", usage);
    if (at >= LEFT) {
        putchar('\n');
        at = 0;
    }
    print_wrapped(help, at, LEFT);
}

static void print_row(const struct command *command, const struct option_row *row)
{
    char *usage = option_usage(command, row), *standard = option_default(row);
    char *help = xasprintf("%s%s", row->help, standard);
    print_option(usage, help);
    free(help);
    free(standard);
    free(usage);
}

bool option_begins_list(const struct command *command, int index)
{
    const struct option_row *row = &command->rows[index];
    char *name = option_list_name(command, row);
    bool first = name != NULL;
    free(name);
    for (int i = 0; i < index && first; i++)
        first = command->rows[i].kind != OPTION_CHOICE ||
                strcmp(command->rows[i].argument, row->argument) != 0;
    return first;
}

/* Prints "SCORE: dot, cosine, ..." if this row is the first with its list. */
static void print_list(const struct command *command, int index, bool *any)
{
    if (!option_begins_list(command, index)) return;
    char *name = option_list_name(command, &command->rows[index]);
    char *values = choices_text(command->rows[index].argument);
    if (!*any) puts("\nValues");
    *any = true;
    print_option(name, values);
    free(values);
    free(name);
}

int print_help(const struct command *command)
{
    bool any = false;
    printf("usage: %s%s%s [OPTION]...%s%s\n\n", program_name, *command->name ? " " : "",
           command->name, *command->arguments ? " " : "", command->arguments);
    print_wrapped(command->purpose, 0, 0);
    if (command->count > 0 && command->rows[0].kind != OPTION_GROUP) puts("\nOptions");
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind == OPTION_GROUP)
            printf("\n%s\n", command->rows[i].name);
        else
            print_row(command, &command->rows[i]);
    puts("\nAbout");
    print_option("-h, --help", "show this help");
    print_option("-V, --version", "show the versions of program and library");
    for (int i = 0; i < command->count; i++) print_list(command, i, &any);
    if (command->examples != NULL) printf("\nExamples\n%s\n", command->examples);
    return finish_output();
}

/* ---- --version: program and library, how they were built, and what they run on ---- */

int print_version(void)
{
    const int threads = threads_used(0);
    printf("%s %d.%d.%d\n", program_name, RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR,
           RAPT_VERSION_PATCH);
    printf("library rapt %s, %s (8 bits: %s), %s, %d %s\n", rapt_version(),
           rapt_isa_name(rapt_isa_used()), rapt_isa_int8(), KIT_OPENMP, threads,
           threads == 1 ? "thread" : "threads");
    if (*KIT_COMMIT) printf("commit %s\n", KIT_COMMIT);
    return finish_output();
}
