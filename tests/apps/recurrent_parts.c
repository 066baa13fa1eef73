/* recurrent_parts.c - tests what recurrent encoder-decoders consist of and learn: one step of each
   cell, against difference quotients and with gates that are open or closed; and the small
   languages: translations and alignments of known sentences, and properties of every sentence
   drawn. */
#include "quotient.h"
#include "recurrent/recurrent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "recurrent_parts";

/* ---- cells ---- */

enum { ROWS = 2, HIDDEN = 5, STATE = ROWS * HIDDEN, WIDE = 4 * STATE, PARAMS = 1000 };

/* The inputs of a step, and what it saves for the backward pass. */
struct step {
    struct cell cell;
    float x[WIDE], h[STATE], c[STATE], next_h[STATE], next_c[STATE], dnext_h[STATE], dnext_c[STATE];
    float gates[WIDE], inner[WIDE];
};

static void forward(struct step *s)
{
    cell_forward(&s->cell, ROWS, s->x, (struct cell_state){s->h, s->c},
                 (struct cell_state){s->next_h, s->next_c}, (struct cell_tape){s->gates, s->inner});
}

static double dot(void *argument, double *magnitude)
{
    struct step *s = argument;
    double sum = 0;
    forward(s);
    *magnitude = 0;
    for (int i = 0; i < STATE; i++) {
        double h = (double)s->next_h[i] * (double)s->dnext_h[i];
        double c = (double)s->next_c[i] * (double)s->dnext_c[i];
        sum += h + c;
        *magnitude += fabs(h) + fabs(c);
    }
    return sum;
}

static void compare(struct step *s, float *number, float gradient)
{
    double quotient;
    if (!is_slope(dot, s, number, 0x1p-6F, (double)gradient, &quotient))
        fail_msg("%s: gradient %g, quotient %g", cell_names[s->cell.kind], (double)gradient,
                 quotient);
}

static void create(struct step *s, enum cell_kind kind, struct params *params)
{
    struct random random = random_from(1, 1);
    *s = (struct step){0};
    params_create(params, PARAMS);
    cell_create(&s->cell, kind, params, &random, 1, HIDDEN);
    float *all[] = {s->h, s->dnext_h, s->c, s->dnext_c};
    for (int i = 0; i < s->cell.gates * STATE; i++) s->x[i] = random_normal(&random);
    for (int k = 0; k < (kind == CELL_LSTM ? 4 : 2); k++)
        for (int i = 0; i < STATE; i++) all[k][i] = random_normal(&random);
}

static void test_gradients(void **state)
{
    (void)state;
    for (int kind = 0; kind < CELLS; kind++) {
        struct params params;
        struct step s;
        float dx[WIDE] = {0}, dh[STATE] = {0}, dc[STATE] = {0};
        create(&s, (enum cell_kind)kind, &params);
        forward(&s);
        cell_backward(&s.cell, ROWS, (struct cell_state){s.h, s.c},
                      (struct cell_state){s.next_h, s.next_c},
                      (struct cell_state){s.dnext_h, s.dnext_c}, dx, (struct cell_state){dh, dc},
                      (struct cell_tape){s.gates, s.inner});
        for (int i = 0; i < s.cell.gates * STATE; i++) compare(&s, s.x + i, dx[i]);
        for (int i = 0; i < STATE; i++) compare(&s, s.h + i, dh[i]);
        for (int i = 0; kind == CELL_LSTM && i < STATE; i++) compare(&s, s.c + i, dc[i]);
        for (int i = 0; i < s.cell.gates * HIDDEN * HIDDEN; i++)
            compare(&s, s.cell.state.weight + i, s.cell.state.dweight[i]);
        params_free(&params);
    }
}

/* Sets the input of one gate in all rows. */
static void drive(struct step *s, int gate, float x)
{
    for (int i = 0; i < s->cell.gates * STATE; i++)
        if (i / HIDDEN % s->cell.gates == gate) s->x[i] = x;
}

/* An update gate of 1 keeps the state, whatever the input; a gate of 0 discards it. */
static void test_update_gate(void **state)
{
    struct params params;
    struct step s;
    (void)state;
    create(&s, CELL_GRU, &params);
    drive(&s, 1, 60);
    forward(&s);
    for (int i = 0; i < STATE; i++)
        assert_true(fabs((double)(s.next_h[i] - s.h[i])) <= 2 * ROUNDING);
    drive(&s, 0, -60);
    drive(&s, 1, -60);
    drive(&s, 2, -60);
    forward(&s);
    for (int i = 0; i < STATE; i++) assert_true(fabs((double)s.next_h[i] + 1) <= ROUNDING);
    params_free(&params);
}

/* The memory stays as long as it is neither forgotten nor written. The output is its tanh while the
   output gate is open, else 0. */
static void test_memory(void **state)
{
    struct params params;
    struct step s;
    float memory[STATE];
    (void)state;
    create(&s, CELL_LSTM, &params);
    for (int i = 0; i < STATE; i++) memory[i] = s.c[i];
    for (int step = 0; step < 1000; step++) {
        drive(&s, 0, -60);
        drive(&s, 1, 60);
        drive(&s, 2, step == 999 ? 60 : -60);
        forward(&s);
        for (int i = 0; i < STATE; i++) {
            s.c[i] = s.next_c[i];
            s.h[i] = s.next_h[i];
        }
        if (step == 998) assert_true(fabs((double)s.h[0]) <= ROUNDING);
    }
    for (int i = 0; i < STATE; i++) {
        assert_true(fabs((double)(s.c[i] - memory[i])) <= ROUNDING);
        assert_true(fabs((double)s.h[i] - tanh((double)memory[i])) <= 4 * ROUNDING);
    }
    params_free(&params);
}

/* ---- languages ---- */

/* links: "0 3-12" means word 0, and word 3 with words 1 to 2 */
static void expect(const struct language *language, const struct sentence *sentence,
                   const char *source, const char *target, const char *links)
{
    char text[400], all[400] = "";
    words_spell(&language->source, sentence->source.tokens, sentence->source.count, text,
                sizeof text);
    assert_string_equal(text, source);
    words_spell(&language->target, sentence->target.tokens, sentence->target.count, text,
                sizeof text);
    assert_string_equal(text, target);
    for (int t = 0; t < sentence->target.count; t++) {
        const struct link *link = &sentence->links[t];
        const size_t at = strlen(all);
        if (link->first == link->last)
            snprintf(all + at, sizeof all - at, "%s%d", t > 0 ? " " : "", link->sure);
        else
            snprintf(all + at, sizeof all - at, "%s%d-%d%d", t > 0 ? " " : "", link->sure,
                     link->first, link->last);
    }
    assert_string_equal(all, links);
}

static void test_german(void **state)
{
    static struct language language;
    struct sentence sentence = {0};
    struct german_clause clause = {0, {0, -1, 0}, 1, 0, {0, -1, 1}};
    (void)state;
    german_create(&language);
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "cats do not like dogs", "Katzen mögen keine Hunde", "0 3 2-12 4");
    sentence = (struct sentence){0};
    clause.object.the = 1;
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "cats do not like the dogs", "Katzen mögen die Hunde nicht",
           "0 3 4 5 2-12");
    sentence = (struct sentence){0};
    clause = (struct german_clause){2, {1, 2, 0}, 0, 1, {0, 0, 1}};
    german_append(&language, &sentence, &clause);
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "the old cats see black dogs because the old cats see black dogs",
           "die alten Katzen sehen schwarze Hunde weil die alten Katzen schwarze Hunde sehen",
           "0 1 2 3 4 5 6 7 8 9 11 12 10");
}

static void test_french(void **state)
{
    static struct language language;
    struct sentence sentence = {0};
    struct clause clause = {0, 13, 0, 9, true, 3, 3};
    (void)state;
    french_create(&language);
    french_append(&language, &sentence, &clause);
    expect(&language, &sentence, "the black cow does not pick the gray wolf up",
           "la vache noire ne ramasse pas le loup gris", "0-02 2 1-12 4-34 5 4-34 6-68 8 7-78");
}

/* Every sentence has the requested length and only known words, and its alignments stay within
   it. */
static void test_drawn(void **state)
{
    static struct language languages[2];
    (void)state;
    german_create(&languages[0]);
    french_create(&languages[1]);
    for (int i = 0; i < 2; i++)
        for (int length = MIN_WORDS - 1; length < 30; length++)
            for (int n = 0; n < 20; n++) {
                struct random random = random_from((uint64_t)n, (uint64_t)length);
                struct sentence s;
                languages[i].draw(&languages[i], &s, &random, length);
                assert_int_equal(s.source.count, length);
                assert_true(s.target.count > 0 && s.target.count < 2 * length);
                for (int t = 0; t < length; t++)
                    assert_true(s.source.tokens[t] >= RAPT_TOKEN_SPECIALS &&
                                s.source.tokens[t] < languages[i].source.count);
                for (int t = 0; t < s.target.count; t++) {
                    const struct link *link = &s.links[t];
                    assert_true(s.target.tokens[t] >= RAPT_TOKEN_SPECIALS &&
                                s.target.tokens[t] < languages[i].target.count);
                    assert_true(link->first >= 0 && link->last < length);
                    assert_true(link->first <= link->sure && link->sure <= link->last);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_update_gate),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_german),
        cmocka_unit_test(test_french),    cmocka_unit_test(test_drawn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
