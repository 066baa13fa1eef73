/* logits.c - prints the logits of a model. `logits MODEL` reads lines of source ids, a tab, and
   target ids, separated by spaces, and prints for each line the logits of all target tokens, one
   token after the other. */
#include <rapt/rapt.h>

#include <stdio.h>
#include <stdlib.h>

enum { TOKENS = 512, LINE = 1 << 14 };

static int fail(const char *what)
{
    fprintf(stderr, "logits: %s\n", what);
    return 1;
}

/* Reads ids up to a tab or the end of the line. Returns their number, and sets *at to the rest. */
static int read_ids(char **at, int32_t ids[TOKENS])
{
    int count = 0;
    while (**at && **at != '\t' && **at != '\n' && count < TOKENS)
        ids[count++] = (int32_t)strtol(*at, at, 10);
    if (**at == '\t') ++*at;
    return count;
}

static int print_logits(rapt_session *session, char *line, int vocab)
{
    int32_t from[TOKENS], to[TOKENS];
    int sources[2] = {0, read_ids(&line, from)}, targets[2] = {0, read_ids(&line, to)};
    const rapt_tokens source = {.batch = 1, .ids = from, .starts = sources},
                      target = {.batch = 1, .ids = to, .starts = targets};
    const float *states, *logits;
    rapt_message why;
    if (rapt_encode(session, &source, &states, &why)) return fail(why.text);
    if (rapt_decode(session, &target, &logits, &why)) return fail(why.text);
    for (int i = 0; i < targets[1] * vocab; i++) printf("%.9g ", (double)logits[i]);
    return putchar('\n') == EOF;
}

int main(int count, char **arguments)
{
    static char line[LINE];
    rapt_limits limits = {.size = sizeof limits, .batch = 1};
    rapt_model *model;
    rapt_session *session;
    rapt_message why;
    int status = 0;
    if (count != 2) return fail("usage: logits MODEL");
    if (rapt_model_import(&model, arguments[1], NULL, &why)) return fail(why.text);
    const int positions = rapt_model_config(model)->positions;
    limits.source_tokens = limits.target_length = limits.target_tokens =
        positions < TOKENS ? positions : TOKENS;
    if (rapt_session_create(&session, model, &limits, NULL, &why)) return fail(why.text);
    while (status == 0 && fgets(line, sizeof line, stdin))
        status = print_logits(session, line, rapt_model_config(model)->target_vocab);
    rapt_session_free(session);
    rapt_model_free(model);
    return status;
}
