/* state.c - tests the state of the training loop in a checkpoint: reading gives what was written; a
   field that is missing, has another type or is out of range is refused by name and value; random
   bytes. */
#include "training/state_text.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

static const struct state good = {.epoch = 3,
                                  .position = 17,
                                  .step = 57,
                                  .best = 2.5,
                                  .since = 1,
                                  .bad = 2,
                                  .seconds = 12.25,
                                  .loss = 1234.5,
                                  .tokens = 999,
                                  .data = 0x0123456789abcdef};

/* The JSON of a field, and part of the expected message (NULL: accepted). */
static const struct {
    const char *name, *value, *says;
} cases[] = {
    {"epoch", "0", "epoch is 0"},
    {"epoch", "-1", "epoch is -1"},
    {"epoch", "1000000001", "epoch is 1000000001"},
    {"epoch", "9223372036854775807", "epoch is 9223372036854775807"},
    {"epoch", "3.0", "epoch is 3.0"},
    {"epoch", "\"3\"", "epoch is \"3\""},
    {"epoch", "42", "too small for epoch 42"},
    {"position", "-1", "position is -1"},
    {"position", "-9223372036854775808", "position is -9223372036854775808"},
    {"position", "1000000001", "position is 1000000001"},
    {"position", "56", "too small for epoch 3 and position 56"},
    {"position", "null", "position is null"},
    {"position", "[1]", "position is [1]"},
    {"step", "-57", "step is -57"},
    {"step", "1000000000000001", "step is 1000000000000001"},
    {"step", "18", "step is 18, too small"},
    {"step", "true", "step is true"},
    {"best", "-0.5", "best is -0.5"},
    {"best", "1e301", "best is 1e301"},
    {"best", "\"nan\"", "best is \"nan\""},
    {"best", "null", NULL},
    {"best", "0", NULL},
    {"since", "-1", "since is -1"},
    {"since", "3", "since is 3, but epoch is 3"},
    {"since", "1000000001", "since is 1000000001"},
    {"since", "1.5", "since is 1.5"},
    {"bad", "-1", "bad is -1"},
    {"bad", "10", "bad is 10"},
    {"bad", "{}", "bad is {}"},
    {"seconds", "-1", "seconds is -1"},
    {"seconds", "1e13", "seconds is 1e13"},
    {"seconds", "null", "seconds is null"},
    {"loss", "-1e-9", "loss is -1"},
    {"loss", "1e302", "loss is 1e302"},
    {"loss", "null", "loss is null"},
    {"tokens", "-1", "tokens is -1"},
    {"tokens", "1000000000000000001", "tokens is 1000000000000000001"},
    {"tokens", "1e3", "tokens is 1"},
    {"data", "\"123456789abcdef\"", "data is missing or not a hash"},
    {"data", "\"0x23456789abcdef\"", "data is missing or not a hash"},
    {"data", "\" 123456789abcdef\"", "data is missing or not a hash"},
    {"data", "81985529216486895", "data is missing or not a hash"},
    {"options", "7", "options is missing"},
    {"options", "null", "options is missing"},
};

static bool same(const struct state *a, const struct state *b)
{
    return a->epoch == b->epoch && a->position == b->position && a->step == b->step &&
           a->best == b->best && a->since == b->since && a->bad == b->bad &&
           a->seconds == b->seconds && a->loss == b->loss && a->tokens == b->tokens &&
           a->data == b->data;
}

static void test_round_trip(void **unused)
{
    (void)unused;
    struct state first = good, read;
    for (int i = 0; i < 2; i++) {
        struct state_reason why = {""};
        char *options = NULL, *text = state_text(&first, "layers 1 seed 7");
        if (!state_parse(&read, &options, text, strlen(text), &why)) fail_msg("%s", why.text);
        assert_true(same(&first, &read));
        assert_string_equal(options, "layers 1 seed 7");
        free(options);
        free(text);
        first.best = (double)INFINITY;
    }
}

/* Expects that the text is refused for this reason and nothing is changed, or that it is read (says
   is NULL). */
static void judge(const char *text, size_t size, const char *says)
{
    struct state state = {.epoch = 77};
    struct state_reason why = {""};
    char *options = NULL,
         *copy =
             malloc(size ? size : 1); /* not terminated, so that sanitizers see reads beyond it */
    assert_non_null(copy);
    memcpy(copy, text, size);
    bool read = state_parse(&state, &options, copy, size, &why);
    if (read != (says == NULL)) fail_msg("%.*s: \"%s\"", (int)size, text, why.text);
    if (says && !strstr(why.text, says)) fail_msg("\"%s\" does not say %s", why.text, says);
    if (says) assert_true(state.epoch == 77 && state.step == 0 && options == NULL);
    free(options);
    free(copy);
}

/* Judges the text with a field replaced, or removed if value is NULL. */
static void judge_with(const char *name, const char *value, const char *says)
{
    char *text = state_text(&good, "seed 7");
    json_t *object = json_loads(text, 0, NULL);
    if (value)
        json_object_set_new(object, name, json_loads(value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(object, name);
    char *changed = json_dumps(object, JSON_COMPACT);
    judge(changed, strlen(changed), says);
    free(changed);
    free(text);
    json_decref(object);
}

static void test_fields(void **unused)
{
    (void)unused;
    char *text = state_text(&good, "seed 7");
    json_t *object = json_loads(text, 0, NULL), *value;
    const char *name;
    int fields = 0;
    for (int i = 0; i < COUNT(cases); i++) judge_with(cases[i].name, cases[i].value, cases[i].says);
    json_object_foreach(object, name, value)
    {
        int rows = 0;
        for (int i = 0; i < COUNT(cases); i++) rows += strcmp(cases[i].name, name) == 0;
        if (rows < 2) fail_msg("%s has no rows in the table", name);
        judge_with(name, NULL, name);
        fields++;
    }
    assert_int_equal(fields, 11);
    json_decref(object);
    free(text);
}

static void test_texts(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"", "{", "[]", "7", "null", "\"state\"", "{}"};
    char *text = state_text(&good, "seed 7");
    for (int i = 0; i < COUNT(texts); i++) judge(texts[i], strlen(texts[i]), "");
    for (size_t size = 0; size < strlen(text); size++) judge(text, size, "");
    judge("{\"epoch\":1,\"epoch\":1}", 21, "not a JSON object");
    judge(text, strlen(text) + 1, "not a JSON object"); /* a NUL after it */
    free(text);
}

/* With one byte changed, the text is refused with a reason or read within the ranges. */
static void test_flipped(void **unused)
{
    (void)unused;
    char *text = state_text(&good, "seed 7");
    size_t size = strlen(text);
    uint32_t x = 1;
    for (int i = 0; i < 20000; i++) {
        x = x * 1664525 + 1013904223;
        size_t at = (x >> 8) % size;
        char kept = text[at];
        text[at] = (char)(x >> 24 ^ (unsigned)i);
        struct state state = {.epoch = 77};
        struct state_reason why = {""};
        char *options = NULL;
        if (state_parse(&state, &options, text, size, &why))
            assert_true(state.epoch >= 1 && state.position >= 0 && state.since < state.epoch &&
                        state.bad >= 0 && state.bad < BAD_BATCHES && state.loss >= 0);
        else
            assert_true(why.text[0] && state.epoch == 77 && !options);
        free(options);
        text[at] = kept;
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_flipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
