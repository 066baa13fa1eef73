/* main.c - attention_tour: one sentence, every attention. */
#include "tour.h"
#include <stdlib.h>
#include <string.h>

const char program_name[] = "attention_tour";

static const char purpose[] =
    "One sentence attends to itself in every way: each score, soft and hard, over all keys and\n"
    "over near ones. Shows who looks at whom, and checks in numbers that soft weights are a\n"
    "convex combination, that hard ones are not differentiable and how they are trained\n"
    "nevertheless, and that masks mask. Ends with 1 if one of these is not so.";

/* "a|b|c" from a function that names one after the other. */
static char *names_of(const char *(*name)(int))
{
    char *all = join("%s", name(0));
    for (int i = 1; name(i) != NULL; i++) {
        char *longer = join("%s|%s", all, name(i));
        free(all);
        all = longer;
    }
    return all;
}

static const char *score_at(int i)
{
    return rapt_score_name(i);
}

static const char *reach_at(int i)
{
    return rapt_reach_name(i);
}

static const char *weighing_at(int i)
{
    return rapt_weighing_name(i);
}

static int find(const char *(*name)(int), const char *wanted)
{
    int i = 0;
    while (wanted != NULL && name(i) != NULL && strcmp(name(i), wanted) != 0) i++;
    return wanted == NULL ? -1 : i;
}

static void print_kinds(const struct sentence *s, struct choice only, uint64_t seed)
{
    for (int score = 0; rapt_score_name(score) != NULL; score++)
        for (int reach = 0; rapt_reach_name(reach) != NULL; reach++)
            for (int weighing = 0; rapt_weighing_name(weighing) != NULL; weighing++) {
                struct result r;
                if ((only.score >= 0 && only.score != score) ||
                    (only.reach >= 0 && only.reach != reach) ||
                    (only.weighing >= 0 && only.weighing != weighing))
                    continue;
                problem_make(&r, s, (struct variant){score, reach, weighing}, seed);
                attend(&r, s->query, s->key, s->value);
                print_json(json_pack(
                    "{s:s,s:s,s:s,s:o,s:o}", "score", rapt_score_name(score), "reach",
                    rapt_reach_name(reach), "weighing", rapt_weighing_name(weighing), "weights",
                    number_rows(r.weights, WORDS, WORDS), "out", number_rows(r.out, WORDS, 2)));
            }
}

static int print_claims(const struct claim claims[CLAIMS], bool json)
{
    int broken = 0;
    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *c = &claims[i];
        broken += !claim_holds(c);
        if (json)
            print_json(json_pack("{s:s,s:s,s:o,s:f,s:b,s:i,s:b}", "claim", c->name, "says", c->says,
                                 "figure", number(c->figure), c->above ? "least" : "most", c->bound,
                                 "above", c->above, "kinds", c->variants, "holds", claim_holds(c)));
    }
    if (json)
        print_json(json_pack("{s:b,s:i,s:i}", "done", true, "claims", CLAIMS, "broken", broken));
    else
        terminal_claims(claims);
    return broken > 0 ? failed("%d of %d claims do not hold", broken, CLAIMS) : EXIT_FINE;
}

static int run(struct choice choice, uint64_t seed, bool json, const char *path)
{
    struct sentence sentence;
    struct claim claims[CLAIMS];
    sentence_make(&sentence);
    if (json)
        print_kinds(&sentence, choice, seed);
    else
        terminal_show(&sentence, choice, seed);
    claims_find(claims, &sentence, seed);
    int broken = print_claims(claims, json);
    int code = path != NULL ? page_draw(path, &sentence, seed) : EXIT_FINE;
    if (code == EXIT_FINE) code = finish_output();
    return code == EXIT_FINE ? broken : code;
}

int main(int argc, char **argv)
{
    const char *score = NULL, *reach = NULL, *weighing = NULL, *path = NULL;
    char *names[3] = {names_of(score_at), names_of(reach_at), names_of(weighing_at)};
    uint64_t seed = 1;
    bool json = false;
    struct option_row rows[] = {
        {"score", OPTION_CHOICE, &score, names[0], "show this score only", 0, 0, 0},
        {"reach", OPTION_CHOICE, &reach, names[1], "which keys are seen", 0, 0, 0},
        {"weighing", OPTION_CHOICE, &weighing, names[2], "how scores become weights", 0, 0, 0},
        {"seed", OPTION_SEED, &seed, "N", "of draws", 0, 0, 0},
        {"svg", OPTION_TEXT, &path, "FILE", "draw all on one page", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print JSON objects, one a line", 0, 0, 0},
    };
    struct command command = {.name = "",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) {
        struct choice choice = {find(score_at, score), find(reach_at, reach),
                                find(weighing_at, weighing)};
        code = run(choice, seed, json, path);
    }
    for (int i = 0; i < 3; i++) free(names[i]);
    return code;
}
