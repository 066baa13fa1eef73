/* left.c - callbacks that leave a call by longjmp. Nothing leaks once the object is freed, and
   until then it works as before. */
#include "translate/small_text.h"

#include <setjmp.h>

struct memory {
    size_t bytes;
    int live;
};

static void *take(void *user, size_t bytes)
{
    struct memory *m = user;
    m->bytes += bytes, m->live++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give_back(void *user, void *memory, size_t bytes)
{
    struct memory *m = user;
    m->bytes -= bytes, m->live--;
    free(memory);
}

enum way { TRANSLATION, TOKEN, LOGITS, STOP, SCORE, NESTED, WAYS };

/* Callbacks count their calls and leave the call at the one that is wanted. */
struct leaving {
    jmp_buf back;
    enum way way;
    int calls, leave_at; /* 0: never */
    uint64_t hash;       /* of the translations received */
    rapt_translator *translator;
};

static void maybe_leave(struct leaving *l, enum way way)
{
    if (l->way == way && ++l->calls == l->leave_at) longjmp(l->back, 1);
}

static const rapt_text lines[] = {{"the cat sees the dog", 20},
                                  {"a bird sings", 12},
                                  {"dogs and cats sleep", 19},
                                  {"the bird sees a cat", 19}};

static int inner(void *user, const rapt_translation *translation)
{
    (void)translation;
    maybe_leave(user, NESTED);
    return 0;
}

static int on_translation(void *user, const rapt_translation *t)
{
    struct leaving *l = user;
    for (size_t i = 0; i < t->size; i++)
        l->hash = (l->hash ^ (unsigned char)t->text[i]) * 0x100000001B3u;
    maybe_leave(l, TRANSLATION);
    if (l->way == NESTED)
        assert_int_equal(rapt_translate_many(l->translator, lines, 2, 0, inner, l, NULL), RAPT_OK);
    return 0;
}

static int on_token(void *user, int source, int32_t id, float log_probability)
{
    (void)source, (void)id, (void)log_probability;
    maybe_leave(user, TOKEN);
    return 0;
}

static void on_logits(void *user, int source, const int32_t *ids, int count, float *logits, int n)
{
    (void)source, (void)ids, (void)count, (void)logits, (void)n;
    maybe_leave(user, LOGITS);
}

static int on_stop(void *user)
{
    maybe_leave(user, STOP);
    return 0;
}

static int on_score(void *user, const rapt_text_score *score)
{
    (void)score;
    maybe_leave(user, SCORE);
    return 0;
}

/* Translates and scores the lines. Returns whether a callback has left the call. */
static bool work(struct leaving *l)
{
    const rapt_translate_call call = {.size = sizeof call,
                                      .alignments = 1,
                                      .prefixes =
                                          (const rapt_text[]){{"the", 3}, {0}, {"a", 1}, {0}},
                                      .token = on_token,
                                      .logits = on_logits,
                                      .stop = on_stop};
    l->calls = 0, l->hash = 0xCBF29CE484222325u;
    if (setjmp(l->back)) return true;
    assert_int_equal(rapt_translate_many_with(l->translator, lines, COUNT(lines), &call,
                                              on_translation, l, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_translator_score(l->translator, lines, lines, COUNT(lines), on_score, l, NULL),
        RAPT_OK);
    return false;
}

/* Returns a shortlist of one likely token for each source token and the first of the vocabulary. */
static rapt_shortlist *shortlist_of(const rapt_tokenizer *tokenizer)
{
    static rapt_lexical_pair pairs[SMALL_VOCAB];
    rapt_shortlist *shortlist = NULL;
    rapt_message why = {""};
    for (int i = 0; i < SMALL_VOCAB; i++)
        pairs[i] = (rapt_lexical_pair){i, SMALL_VOCAB - 1 - i, 0.5f};
    if (rapt_shortlist_create(&shortlist, pairs, SMALL_VOCAB, 150, 1, tokenizer, tokenizer, NULL,
                              &why))
        fail_msg("%s", why.text);
    return shortlist;
}

struct scene {
    struct memory memory;
    rapt_allocator allocator;
    char path[256];
    rapt_model *model;
    rapt_tokenizer *tokenizer;
    rapt_shortlist *shortlist;
};

static void scene_create(struct scene *s)
{
    s->memory = (struct memory){0};
    s->allocator = (rapt_allocator){take, give_back, &s->memory};
    small_path(s->path, "left");
    small_translator_file(s->path, 24, 3);
    assert_int_equal(rapt_model_load(&s->model, s->path, NULL, NULL), RAPT_OK);
    s->tokenizer = small_tokenizer();
    s->shortlist = shortlist_of(s->tokenizer);
}

static void scene_free(struct scene *s)
{
    rapt_shortlist_free(s->shortlist);
    rapt_tokenizer_free(s->tokenizer);
    rapt_model_free(s->model);
    unlink(s->path);
}

static rapt_translator *translator_of(struct scene *s, bool listed)
{
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 2, .nbest = 2, .batch = 2, .threads = 2};
    rapt_translator *t = NULL;
    assert_int_equal(
        rapt_translator_create(&t, s->model, s->tokenizer, NULL, &options, &s->allocator, NULL),
        RAPT_OK);
    if (listed) assert_int_equal(rapt_translator_set_shortlist(t, s->shortlist, NULL), RAPT_OK);
    return t;
}

/* Leaves calls of one translator at several calls of one kind of callback. Between them, and
   afterwards, it translates as it did before. */
static void leave_by(struct scene *s, enum way way, bool listed)
{
    static struct leaving l;
    l = (struct leaving){.way = way, .translator = translator_of(s, listed)};
    assert_false(work(&l));
    const int all = l.calls;
    const uint64_t wanted = l.hash;
    assert_true(all >= 2);
    const int places[] = {1, 2, all / 2 + 1, all};
    for (int i = 0; i < COUNT(places); i++) {
        const int before = s->memory.live;
        l.leave_at = places[i];
        assert_true(work(&l));
        assert_true(s->memory.live > before); /* or there is nothing to test */
        l.leave_at = 0;
        assert_false(work(&l));
        assert_true(l.hash == wanted && l.calls == all);
    }
    rapt_translator_free(l.translator);
    assert_true(s->memory.live == 0 && s->memory.bytes == 0);
}

static void test_translators(void **state)
{
    (void)state;
    struct scene s;
    scene_create(&s);
    for (int way = 0; way < WAYS; way++)
        for (int listed = 0; listed < 2; listed++) leave_by(&s, (enum way)way, listed);
    scene_free(&s);
}

/* Generates with a shortlist. Returns whether a callback has left the call. */
static bool search(struct leaving *l, rapt_session *session, const rapt_shortlist *shortlist)
{
    enum { LENGTH = 12 };
    static const int32_t source_ids[] = {5, 80, 9, 270, 30};
    static const int starts[] = {0, 3, 5};
    static int32_t ids[2 * LENGTH];
    int counts[2];
    const rapt_tokens source = {.batch = 2, .ids = source_ids, .starts = starts};
    const rapt_generate_outputs out = {.size = sizeof out, .ids = ids, .counts = counts};
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, 1, 2);
    o.beams = 2, o.shortlist = shortlist, o.user = l;
    o.token = on_token, o.logits = on_logits, o.stop = on_stop;
    l->calls = 0;
    if (setjmp(l->back)) return true;
    assert_int_equal(rapt_generate(session, &source, &o, &out, NULL), RAPT_OK);
    l->hash = 0xCBF29CE484222325u;
    for (int i = 0; i < 2 * LENGTH; i++)
        if (i % LENGTH < counts[i / LENGTH])
            l->hash = (l->hash ^ (uint64_t)ids[i]) * 0x100000001B3u;
    return false;
}

static void test_sessions(void **state)
{
    (void)state;
    static struct leaving l;
    struct scene s;
    scene_create(&s);
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 2, .beams = 2, .source_tokens = 9, .target_length = 12};
    for (int way = TOKEN; way <= STOP; way++) {
        rapt_session *session = NULL;
        assert_int_equal(rapt_session_create(&session, s.model, &limits, &s.allocator, NULL),
                         RAPT_OK);
        l = (struct leaving){.way = (enum way)way};
        assert_false(search(&l, session, s.shortlist));
        const int all = l.calls, live = s.memory.live;
        const uint64_t wanted = l.hash;
        for (l.leave_at = 1; l.leave_at <= all; l.leave_at++) {
            assert_true(search(&l, session, s.shortlist));
            assert_true(s.memory.live > live);
        }
        assert_false(search(&l, session, s.shortlist));
        assert_true(l.hash == wanted && s.memory.live == live);
        l.leave_at = 1;
        assert_true(search(&l, session, s.shortlist));
        rapt_session_free(session);
        assert_true(s.memory.live == 0 && s.memory.bytes == 0);
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translators),
        cmocka_unit_test(test_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
