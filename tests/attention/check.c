/* check.c - invalid problems and arguments return RAPT_BAD_ARGUMENT with a message that names the
   field, and nothing is written. */
#include "trial.h"

#include <limits.h>

static const rapt_attention good = {.size = sizeof good,
                                    .batch = 2,
                                    .heads = 4,
                                    .key_heads = 2,
                                    .queries = 3,
                                    .keys = 5,
                                    .key_width = 8,
                                    .value_width = 6,
                                    .q = {96, 24, 8},
                                    .k = {80, 40, 8},
                                    .v = {60, 30, 6},
                                    .out = {72, 18, 6}};

static void refuse(const rapt_attention *a, const char *field)
{
    rapt_message why = {""};
    float x[400] = {0}, out[400];
    int chosen[24];
    memset(out, 0x55, sizeof out);
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rapt_attention_check(a, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_workspace(a), 0);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = x, .chosen = chosen};
    const rapt_gradients d = {.size = sizeof d, .q = out, .k = out, .v = out};
    why.text[0] = 0;
    assert_int_equal(rapt_attention_forward(a, x, x, x, out, &saved, x, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rapt_attention_backward(a, x, x, x, x, &saved, x, NULL, &d, x, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_weights(a, x, x, &saved, 0, 0, 0, 1, out, x, NULL),
                     RAPT_BAD_ARGUMENT);
    for (int i = 0; i < 400; i++) assert_memory_equal(out + i, "UUUU", 4);
}

static void sizes(void **state)
{
    (void)state;
    const struct {
        ptrdiff_t offset;
        int value;
        const char *name;
    } wrong[] = {
        {offsetof(rapt_attention, batch), -1, "batch"},
        {offsetof(rapt_attention, heads), 0, "heads"},
        {offsetof(rapt_attention, heads), -4, "heads"},
        {offsetof(rapt_attention, heads), 5, "key_heads"},
        {offsetof(rapt_attention, key_heads), 3, "key_heads"},
        {offsetof(rapt_attention, key_heads), 8, "key_heads"},
        {offsetof(rapt_attention, key_heads), -2, "key_heads"},
        {offsetof(rapt_attention, queries), -1, "queries"},
        {offsetof(rapt_attention, queries), INT_MAX, "queries"},
        {offsetof(rapt_attention, keys), INT_MIN, "keys"},
        {offsetof(rapt_attention, keys), INT_MAX, "keys"},
        {offsetof(rapt_attention, key_width), 0, "key_width"},
        {offsetof(rapt_attention, key_width), INT_MAX, "key_width"},
        {offsetof(rapt_attention, value_width), -6, "value_width"},
        {offsetof(rapt_attention, threads), -1, "threads"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rapt_attention a = good;
        memcpy((char *)&a + wrong[i].offset, &wrong[i].value, sizeof(int));
        refuse(&a, wrong[i].name);
    }
    assert_int_equal(rapt_attention_check(&good, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_check(NULL, NULL), RAPT_BAD_ARGUMENT);
}

static void numbers(void **state)
{
    (void)state;
    const float shares[] = {-0.1f, 1, 2, NAN, INFINITY}, scales[] = {NAN, 2.4e38f, -INFINITY};
    for (int i = 0; i < 5; i++) {
        rapt_attention a = good;
        a.dropout = shares[i];
        refuse(&a, "dropout");
    }
    for (int i = 0; i < 3; i++) {
        rapt_attention a = good;
        a.scale = scales[i];
        refuse(&a, "scale");
    }
    rapt_attention a = good;
    a.score = RAPT_SCORE_COUNT;
    refuse(&a, "score");
    a.score = (rapt_score)-1;
    refuse(&a, "score");
}

static void masks(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.mask.causal = 1;
    refuse(&a, "causal_alignment");
    a.mask.causal_alignment = (rapt_causal_alignment)3;
    refuse(&a, "causal_alignment");
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a = good;
    a.mask.window = 1;
    refuse(&a, "causal_alignment");
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    a.mask.before = -1;
    refuse(&a, "before");
    a.mask.before = INT_MAX, a.mask.after = INT_MIN;
    refuse(&a, "after");
    a.mask.after = INT_MAX;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a = good;
    a.mask.key_counts = (const int[]){5, 6};
    refuse(&a, "key_counts[1]");
    a.mask.key_counts = (const int[]){-1, 0};
    refuse(&a, "key_counts[0]");
}

static const float some[4000];

/* Returns a problem that has every array, whatever the score. */
static rapt_attention rich(rapt_score score)
{
    rapt_attention a = good;
    a.score = score;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.radius = 2;
    a.parameters = (rapt_attention_parameters){
        .hidden = 5, .positions = 5, .channels = 2, .filter_width = 3, .center_hidden = 3};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) a.parameters.array[i] = some;
    return a;
}

struct need { /* an invalid value, and the name of its field in the message */
    rapt_score score;
    rapt_locality locality;
    size_t offset;
    int number;
    const char *name;
};
#define AT(field) offsetof(rapt_attention, field)

static const struct need needs[] = {
    {RAPT_SCORE_ADDITIVE, 0, AT(parameters.hidden), -1, "parameters.hidden"},
    {RAPT_SCORE_ADDITIVE, 0, AT(parameters.hidden), 1 << 17, "parameters.hidden"},
    {RAPT_SCORE_LOCATION, 0, AT(parameters.positions), 4, "parameters.positions"},
    {RAPT_SCORE_LOCATION_AWARE, 0, AT(parameters.channels), -2, "parameters.channels"},
    {RAPT_SCORE_LOCATION_AWARE, 0, AT(parameters.filter_width), 4, "parameters.filter_width"},
    {RAPT_SCORE_LOCATION_AWARE, 0, AT(parameters.filter_width), -3, "parameters.filter_width"},
    {RAPT_SCORE_DOT, RAPT_LOCALITY_LOCAL_P, AT(parameters.center_hidden), -1,
     "parameters.center_hidden"},
    {RAPT_SCORE_DOT, 0, AT(query_width), 9, "query_width"},
    {RAPT_SCORE_COSINE, 0, AT(query_width), 7, "query_width"},
    {RAPT_SCORE_GENERAL, 0, AT(query_width), -1, "query_width"},
    {RAPT_SCORE_DOT, 0, AT(locality), RAPT_LOCALITY_COUNT, "locality"},
    {RAPT_SCORE_DOT, 0, AT(normalizer), RAPT_NORMALIZER_COUNT, "normalizer"},
    {RAPT_SCORE_DOT, 0, AT(relative.rotary), 3, "relative.rotary"},
    {RAPT_SCORE_ADDITIVE, 0, AT(relative.rotary), 1, "relative.rotary"},
    {RAPT_SCORE_DOT, 0, AT(relative.rotary_scaling), 4, "relative.rotary_scaling"},
};

static void needed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        rapt_attention a = rich(needs[i].score);
        a.locality = needs[i].locality;
        assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
        memcpy((char *)&a + needs[i].offset, &needs[i].number, sizeof(int));
        refuse(&a, needs[i].name);
    }
}

#define BY(name) (1u << RAPT_SCORE_##name)
enum { LOCAL_P = 1 << RAPT_SCORE_COUNT, AWARE = BY(LOCATION_AWARE), COVERAGE = BY(COVERAGE) };
enum { TANH = BY(ADDITIVE) | AWARE | COVERAGE, GENERAL = BY(GENERAL) | TANH };

/* The scores and localities that cannot do without an array, in the order of the arrays. */
static const unsigned required[RAPT_ATTENTION_PARAMETER_COUNT] = {
    GENERAL, TANH, 0, TANH, 0, BY(LOCATION), AWARE, AWARE, LOCAL_P, LOCAL_P, 0, 0, 0, COVERAGE};

/* Every array is removed from every score and locality: those that need it are refused. */
static void arrays(void **state)
{
    (void)state;
    enum { ARRAYS = RAPT_ATTENTION_PARAMETER_COUNT };
    for (int n = 0; n < RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * ARRAYS; n++) {
        int i = n % ARRAYS, kind = n / ARRAYS;
        rapt_attention a = rich((rapt_score)(kind / RAPT_LOCALITY_COUNT));
        a.locality = (rapt_locality)(kind % RAPT_LOCALITY_COUNT);
        unsigned by = 1u << a.score | (a.locality == RAPT_LOCALITY_LOCAL_P ? LOCAL_P : 0);
        assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
        a.parameters.array[i] = NULL;
        if (required[i] & by)
            refuse(&a, rapt_attention_parameter_name((rapt_attention_parameter)i));
        else
            assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    }
}

/* Whatever needs positions needs mask.causal_alignment. */
static void causal_alignments(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.locality = RAPT_LOCALITY_LOCAL_M, a.radius = 1;
    refuse(&a, "causal_alignment");
    a = good, a.relative.slopes = some;
    refuse(&a, "causal_alignment");
    a = good, a.relative.table = some, a.relative.buckets = 8, a.relative.distance = 16;
    refuse(&a, "causal_alignment");
    a = good, a.relative.rotary = RAPT_ROTARY_PAIRS;
    refuse(&a, "causal_alignment");
    a = good, a.relative.slopes = some, a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.query_starts = (const int[]){0, 1, 2}, a.queries = INT_MAX;
    refuse(&a, "queries + keys");
}

static void ranges(void **state)
{
    (void)state;
    const float negative[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        rapt_attention a = rich(RAPT_SCORE_DOT);
        a.cap = negative[i];
        refuse(&a, "finite and 0 or more");
        a = rich(RAPT_SCORE_DOT), a.normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX,
        a.temperature = negative[i];
        refuse(&a, "temperature");
        a = rich(RAPT_SCORE_DOT), a.locality = RAPT_LOCALITY_LOCAL_M, a.radius = negative[i];
        refuse(&a, "finite and above 0");
        a = rich(RAPT_SCORE_DOT), a.relative.rotary = RAPT_ROTARY_PAIRS;
        a.relative.rotary_base = negative[i];
        refuse(&a, "rotary_base");
    }
    rapt_attention a = rich(RAPT_SCORE_DOT);
    a.locality = RAPT_LOCALITY_LOCAL_P, a.radius = 0;
    refuse(&a, "radius");
    a = rich(RAPT_SCORE_DOT), a.relative.rotary = RAPT_ROTARY_HALVES, a.relative.rotary_width = 7;
    refuse(&a, "rotary_width");
    a.relative.rotary_width = 10;
    refuse(&a, "rotary_width");
    a = rich(RAPT_SCORE_DOT), a.relative.table = some, a.relative.distance = 100;
    refuse(&a, "relative.buckets");
    a.relative.buckets = 5, a.relative.bidirectional = 1;
    refuse(&a, "relative.buckets");
    a.relative.buckets = 8, a.relative.distance = 2;
    refuse(&a, "relative.distance is 2; it must be more than 2");
    a.relative.distance = 3;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
}

static void hard(void **state)
{
    (void)state;
    const rapt_normalizer hard[] = {RAPT_NORMALIZER_ARGMAX, RAPT_NORMALIZER_SAMPLE,
                                    RAPT_NORMALIZER_STRAIGHT_THROUGH};
    for (int i = 0; i < 3; i++) {
        rapt_attention a = rich(RAPT_SCORE_DOT);
        a.normalizer = hard[i];
        assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
        a.dropout = 0.1f;
        refuse(&a, "dropout");
    }
}

static rapt_status backward(const rapt_attention *a, const rapt_reinforce *reinforce,
                            const rapt_gradients *d, rapt_message *why)
{
    float x[400] = {0}, lse[24] = {0};
    int chosen[24] = {0};
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse, .chosen = chosen};
    void *s = make_workspace(a);
    rapt_status status = rapt_attention_backward(a, x, x, x, x, &saved, x, reinforce, d, s, why);
    free(s);
    return status;
}

/* Gradients of missing arrays are refused, and a sample without a reward. */
static void absent(void **state)
{
    (void)state;
    float to[4000] = {0};
    rapt_message why = {""};
    for (int i = -3; i <= RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        rapt_gradients d = {.size = sizeof d};
        *(i == -3 ? &d.bias : i == -2 ? &d.slopes : i == -1 ? &d.table : &d.parameters[i]) = to;
        assert_int_equal(backward(&good, NULL, &d, &why), RAPT_BAD_ARGUMENT);
        const char *name =
            i < 0 ? NULL : rapt_attention_parameter_name((rapt_attention_parameter)i);
        if (name) assert_non_null(strstr(why.text, name));
        rapt_attention a = rich(RAPT_SCORE_DOT);
        if (name) assert_int_equal(backward(&a, NULL, &d, NULL), RAPT_OK);
    }
    for (int i = 0; i < 4000; i++) assert_true(to[i] == 0);
    rapt_attention a = rich(RAPT_SCORE_DOT);
    a.normalizer = RAPT_NORMALIZER_SAMPLE;
    const rapt_gradients d = {.size = sizeof d, .q = to};
    rapt_reinforce reinforce = {.size = sizeof reinforce};
    assert_int_equal(backward(&a, NULL, &d, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "reinforce.reward is NULL");
    assert_int_equal(backward(&a, &reinforce, &d, NULL), RAPT_BAD_ARGUMENT);
    reinforce.reward = some;
    assert_int_equal(backward(&a, &reinforce, &d, NULL), RAPT_OK);
    reinforce.entropy = NAN;
    assert_int_equal(backward(&a, &reinforce, &d, NULL), RAPT_BAD_ARGUMENT);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(rapt_score_name(RAPT_SCORE_COVERAGE), "coverage");
    assert_string_equal(rapt_locality_name(RAPT_LOCALITY_LOCAL_P), "local-p");
    assert_string_equal(rapt_normalizer_name(RAPT_NORMALIZER_STRAIGHT_THROUGH), "straight-through");
    assert_null(rapt_locality_name(RAPT_LOCALITY_COUNT));
    assert_null(rapt_normalizer_name(RAPT_NORMALIZER_COUNT));
    assert_null(rapt_locality_name((rapt_locality)-1));
}

static void ragged(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.query_starts = (const int[]){1, 2, 3};
    refuse(&a, "query_starts[0] is 1; it must be 0");
    a.query_starts = (const int[]){0, 3, 2};
    refuse(&a, "query_starts[2] is 2, less than query_starts[1], which is 3");
    a.query_starts = (const int[]){0, 4, 5};
    refuse(&a, "query_starts");
    a.query_starts = (const int[]){0, 3, 3};
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.key_starts = (const int[]){0, 5, 11};
    refuse(&a, "key_starts");
    a.key_starts = (const int[]){0, 2, 4};
    a.mask.key_counts = (const int[]){2, 3};
    refuse(&a, "key_counts");
}

static void strides(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.out.row = 0;
    refuse(&a, "out.row");
    a = good, a.out.head = 0;
    refuse(&a, "out.head");
    a = good, a.out.batch = 0;
    refuse(&a, "out.batch");
}

/* Each required array, struct or workspace is missing in turn and must be named. */
static void pointers(void **state)
{
    (void)state;
    rapt_attention a = good;
    float x[400] = {0}, to[400], lse[24] = {0};
    void *s = make_workspace(&a);
    const char *const names[] = {"q",    "k",   "v", "out",   "workspace",
                                 "dout", "lse", "",  "saved", "grad"};
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    const rapt_attention_saved empty = {.size = sizeof empty};
    const rapt_gradients d = {.size = sizeof d, .q = to, .k = to, .v = to};
    for (int i = 0; i < 10; i++) { /* index of the missing one; 7: none */
        const float *q = i == 0 ? NULL : x, *k = i == 1 ? NULL : x, *v = i == 2 ? NULL : x;
        float *out = i == 3 ? NULL : x;
        rapt_message why = {""};
        rapt_status status =
            rapt_attention_forward(&a, q, k, v, out, NULL, i == 4 ? NULL : s, &why);
        assert_int_equal(status, i < 5 ? RAPT_BAD_ARGUMENT : RAPT_OK);
        if (i < 5) assert_non_null(strstr(why.text, names[i]));
        status = rapt_attention_backward(&a, q, k, v, out,
                                         i == 6   ? &empty
                                         : i == 8 ? NULL
                                                  : &saved,
                                         i == 5 ? NULL : x, NULL, i == 9 ? NULL : &d,
                                         i == 4 ? NULL : s, &why);
        assert_int_equal(status, i == 7 ? RAPT_OK : RAPT_BAD_ARGUMENT);
        if (i != 7 && !strstr(why.text, names[i])) fail_msg("%s: %s", names[i], why.text);
    }
    free(s);
}

/* A hard normalizer needs an array for its choices, in forward, too. */
static void choices(void **state)
{
    (void)state;
    rapt_attention a = good;
    float x[400] = {0}, to[400], lse[24] = {0};
    rapt_message why = {""};
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    a.normalizer = RAPT_NORMALIZER_ARGMAX;
    void *s = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, x, x, x, to, &saved, s, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "saved.chosen is NULL, but argmax needs it");
    assert_int_equal(rapt_attention_forward(&a, x, x, x, to, NULL, s, &why), RAPT_BAD_ARGUMENT);
    free(s);
}

/* Gradients of rows that repeat and of a missing bias are refused. */
static void gradients(void **state)
{
    (void)state;
    rapt_attention a = good;
    float to[400] = {0};
    rapt_message why = {""};
    rapt_gradients d = {.size = sizeof d, .q = to, .k = to, .v = to, .bias = to};
    assert_int_equal(backward(&a, NULL, &d, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "bias"));
    d.bias = NULL, a.k.batch = 0;
    assert_int_equal(backward(&a, NULL, &d, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "gradients.k"));
    d.k = NULL;
    assert_int_equal(backward(&a, NULL, &d, NULL), RAPT_OK);
}

/* Structs of programs compiled against other versions, and sizes that were never set. */
static void versions(void **state)
{
    (void)state;
    struct {
        rapt_attention a;
        uint64_t later;
    } b = {.a = good};
    refuse(&(rapt_attention){0}, "set size to sizeof(rapt_attention)");
    b.a.size = offsetof(rapt_attention, mask); /* shorter: without masks */
    b.a.mask.causal = 1;
    assert_int_equal(rapt_attention_check(&b.a, NULL), RAPT_OK);
    b.a = good, b.a.size = sizeof b;
    assert_int_equal(rapt_attention_check(&b.a, NULL), RAPT_OK);
    b.later = 1;
    refuse(&b.a, "rapt_attention");
    rapt_attention a = good;
    a.mask.reserved[3] = 1;
    refuse(&a, "mask.reserved");
    a = good, a.relative.reserved[0] = 1;
    refuse(&a, "relative.reserved");
    a = good, a.parameters.reserved[2] = 1;
    refuse(&a, "parameters.reserved");
    a = good, a.parameters.array[RAPT_ATTENTION_PARAMETER_COUNT] = some;
    refuse(&a, "parameters.array");
    assert_int_equal(rapt_attention_init(NULL, sizeof a, 1, 1, 1, 1, 1), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_init(&a, 0, 1, 1, 1, 1, 1), RAPT_BAD_ARGUMENT);
    memset(&b, 0x55, sizeof b);
    assert_int_equal(rapt_attention_init(&b.a, offsetof(rapt_attention, mask), 1, 2, 3, 4, 5),
                     RAPT_OK);
    assert_int_equal(b.a.mask.causal, 0x55555555); /* does not write past the caller's struct */
    assert_int_equal(rapt_attention_init(&b.a, sizeof b, 1, 2, 3, 4, 5), RAPT_OK);
    assert_true(b.a.size == sizeof b && b.later == 0 && b.a.mask.causal == 0);
    assert_int_equal(rapt_attention_check(&b.a, NULL), RAPT_OK);
}

/* Empty problems are valid and need no arrays. */
static void empty(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        rapt_attention a;
        rapt_attention_init(&a, sizeof a, i == 0 ? 0 : 2, 2, i == 1 ? 0 : 3, i == 2 ? 0 : 3, 4);
        float out[48], lse[12];
        void *s = make_workspace(&a);
        for (int j = 0; j < 48; j++) out[j] = NAN;
        assert_int_equal(rapt_attention_forward(
                             &a, out, i == 2 ? NULL : out, i == 2 ? NULL : out, i == 2 ? out : NULL,
                             &(rapt_attention_saved){.size = sizeof(rapt_attention_saved),
                                                     .lse = i == 2 ? lse : NULL},
                             s, NULL),
                         i == 2 || i == 0 || i == 1 ? RAPT_OK : RAPT_BAD_ARGUMENT);
        for (int j = 0; i == 2 && j < 48; j++) assert_true(out[j] == 0);
        for (int j = 0; i == 2 && j < 12; j++) assert_true(lse[j] == -INFINITY);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(masks),
        cmocka_unit_test(ragged),
        cmocka_unit_test(strides),
        cmocka_unit_test(pointers),
        cmocka_unit_test(empty),
        cmocka_unit_test(needed),
        cmocka_unit_test(causal_alignments),
        cmocka_unit_test(ranges),
        cmocka_unit_test(hard),
        cmocka_unit_test(absent),
        cmocka_unit_test(names),
        cmocka_unit_test(choices),
        cmocka_unit_test(arrays),
        cmocka_unit_test(gradients),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
