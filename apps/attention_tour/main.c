/* main.c - attention_tour: every score, locality and normalizer on one sentence; options and
 * output. */
#include "tour.h"
#include <stdlib.h>
#include <string.h>

const char program_name[] = "attention_tour";

static const char purpose[] =
    "Computes self-attention of one sentence with every score, locality and normalizer, and "
    "checks properties numerically: softmax outputs are convex combinations of the values, hard "
    "attention has no gradient and how it is trained anyway (straight-through, REINFORCE), and "
    "masks. With --all, or where variants are chosen, prints the weights as heat maps. Exit status "
    "1 if a check fails.";

/* One of the three enumerations: its names, and the selected one; NULL: all. */
struct axis {
    const char *(*name)(int);
    const char *selected;
};

static const char *score_at(int i)
{
    return rapt_score_name((rapt_score)i);
}

static const char *locality_at(int i)
{
    return rapt_locality_name((rapt_locality)i);
}

static const char *normalizer_at(int i)
{
    return rapt_normalizer_name((rapt_normalizer)i);
}

static char *names_of(const struct axis *axis)
{
    char *all = xasprintf("%s", axis->name(0));
    for (int i = 1; axis->name(i) != NULL; i++) {
        char *longer = xasprintf("%s|%s", all, axis->name(i));
        free(all);
        all = longer;
    }
    return all;
}

static int selected_of(const struct axis *axis)
{
    int i = 0;
    while (axis->selected != NULL && strcmp(axis->name(i), axis->selected) != 0) i++;
    return axis->selected == NULL ? -1 : i;
}

static void print_variants(const struct sentence *s, struct choice only, uint64_t seed)
{
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        struct result r;
        if (!is_selected(only, v)) continue;
        problem_make(&r, s, v, seed);
        attend(&r, s->query, s->key, s->value);
        print_json(json_pack(
            "{s:s,s:s,s:s,s:o,s:o}", "score", rapt_score_name(v.score), "locality",
            rapt_locality_name(v.locality), "normalizer", rapt_normalizer_name(v.normalizer),
            "weights", number_rows(r.weights, WORDS, WORDS), "out", number_rows(r.out, WORDS, 2)));
    }
}

static int print_claims(const struct claim claims[CLAIMS], bool json)
{
    int failures = 0;
    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *c = &claims[i];
        failures += !claim_holds(c);
        if (json)
            print_json(json_pack("{s:s,s:s,s:o,s:f,s:b,s:i,s:b}", "claim", c->name, "statement",
                                 c->statement, "figure", number(c->figure),
                                 c->above ? "min" : "max", c->bound, "above", c->above, "variants",
                                 c->variants, "holds", claim_holds(c)));
    }
    if (json)
        print_json(json_pack("{s:b,s:i,s:i}", "done", true, "claims", CLAIMS, "failed", failures));
    else
        terminal_claims(claims);
    return failures > 0 ? failed("%d of %d claims fail", failures, CLAIMS) : EXIT_OK;
}

/* tables: print the weights of the variants chosen. */
static int run(struct choice choice, uint64_t seed, bool tables, bool json, const char *path)
{
    struct sentence sentence;
    struct claim claims[CLAIMS];
    sentence_make(&sentence);
    if (json) print_variants(&sentence, choice, seed);
    claims_find(claims, &sentence, seed);
    int failures = print_claims(claims, json);
    if (!json && tables) {
        putchar('\n');
        terminal_show(&sentence, choice, seed);
    } else if (!json) {
        puts("\n--all prints the weights of every variant, --score additive those of one score.");
    }
    int code = path != NULL ? page_draw(path, &sentence, seed) : EXIT_OK;
    if (code == EXIT_OK) code = finish_output();
    return code == EXIT_OK ? failures : code;
}

int main(int argc, char **argv)
{
    struct axis axes[3] = {{score_at, NULL}, {locality_at, NULL}, {normalizer_at, NULL}};
    char *names[3];
    for (int i = 0; i < 3; i++) names[i] = names_of(&axes[i]);
    const char *path = NULL;
    uint64_t seed = 1;
    bool json = false, all = false;
    struct option_row rows[] = {
        {"score", OPTION_CHOICE, &axes[0].selected, names[0], "only this score", 0, 0, 0},
        {"locality", OPTION_CHOICE, &axes[1].selected, names[1], "only these visible keys", 0, 0,
         0},
        {"normalizer", OPTION_CHOICE, &axes[2].selected, names[2], "only this normalizer", 0, 0, 0},
        {"all", OPTION_FLAG, &all, "", "print the weights of every variant", 0, 0, 0},
        {"seed", OPTION_SEED, &seed, "N", "of random draws", 0, 0, 0},
        {"svg", OPTION_OUTPUT, &path, "FILE", "write a figure", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print JSON objects, one per line", 0, 0, 0},
    };
    struct command command = {.name = "",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) {
        struct choice choice = {selected_of(&axes[0]), selected_of(&axes[1]),
                                selected_of(&axes[2])};
        bool some = choice.score >= 0 || choice.locality >= 0 || choice.normalizer >= 0;
        code = run(choice, seed, all || some, json, path);
    }
    for (int i = 0; i < 3; i++) free(names[i]);
    return code;
}
