/* laws.c - translation with a model, tokenizers, options, prefixes and a shortlist chosen by the
   input. Each translation has to obey the laws of laws.h. The result must be the same for a text by
   itself as in its batch, with callbacks that change nothing, and with a translator made with the
   options of the call. Tokens must be announced in order with the log-probabilities of the score. A
   call that a callback stops or that lacks memory must leave the translator as it was. */
#include "laws.h"

#include "text/spm_models.h"
#include "translate/small_text.h"

/* ---- the subject ---- */

static rapt_tokenizer *pieces_of(size_t number)
{
    static struct craft crafted;
    static rapt_tokenizer *made[CRAFTED_MODELS];
    if (made[number]) return made[number];
    craft_model(&crafted, number);
    require(rapt_tokenizer_load_memory(&made[number], crafted.bytes, crafted.size, NULL, NULL) ==
                RAPT_OK,
            "a crafted model");
    return made[number];
}

/* Makes a list of names, with or without a SentencePiece model; some special tokens may be missing,
   some rows have no name. */
static rapt_tokenizer *take_list(struct feed *in)
{
    static const char *const all[] = {"</s>",    "<unk>", "<pad>", "<s>", "a",   "b",   "c",
                                      SPACE "a", SPACE,   "ab",    "fi",  "abc", "the", "cat"};
    rapt_text names[COUNT(all) + 4];
    int count = 0, first = take_below(in, COUNT(all)), missing = take_byte(in);
    rapt_tokenizer *tokenizer = NULL;
    rapt_message why = {""};
    for (int i = 0; i < COUNT(all); i++) {
        int which = (first + i) % COUNT(all);
        if (which > 0 && which < 4 && missing >> which & 1) continue;
        names[count++] = (rapt_text){all[which], strlen(all[which])};
    }
    for (int rows = take_flag(in) ? take_below(in, 4) : 0; rows > 0; rows--)
        names[count++] = (rapt_text){NULL, 0};
    int pieces = take_below(in, 2 * CRAFTED_MODELS);
    rapt_status status = rapt_tokenizer_create_list(
        &tokenizer, names, count, pieces < CRAFTED_MODELS ? pieces_of((size_t)pieces) : NULL, NULL,
        &why);
    require(status == RAPT_OK, why.text);
    return tokenizer;
}

/* Returns a tokenizer; *own: it is the caller's to free. */
static rapt_tokenizer *take_tokenizer(struct feed *in, rapt_tokenizer **own)
{
    static rapt_tokenizer *learned;
    int kind = take_below(in, 4);
    if (kind == 0) return pieces_of((size_t)take_below(in, CRAFTED_MODELS));
    if (kind < 3) return *own = take_list(in);
    if (!learned) learned = small_tokenizer();
    return learned;
}

static rapt_text take_text(struct feed *in, char *bytes)
{
    static const char *const parts[] = {"a",
                                        " ",
                                        "b",
                                        "c",
                                        "ab",
                                        "abc",
                                        "  ",
                                        "the",
                                        "cat",
                                        "fi",
                                        "\t",
                                        "\xC3\xA9",
                                        "</s>",
                                        "<unk>",
                                        " a b",
                                        "1/2",
                                        "\xFF",
                                        ".",
                                        "<user>",
                                        "d",
                                        "\n",
                                        "x",
                                        "TM",
                                        SPACE,
                                        "E",
                                        "\xE3\x80\x80",
                                        "\xE6\x97\xA5",
                                        "\xF0\x9F\x98\x80"};
    int count = take_below(in, 12);
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        const char *part = parts[take_below(in, COUNT(parts))];
        memcpy(bytes + size, part, strlen(part));
        size += strlen(part);
    }
    return (rapt_text){size ? bytes : NULL, size};
}

static void take_texts(struct feed *in, struct subject *s)
{
    s->count = 1 + take_below(in, LAW_TEXTS);
    s->has_prefixes = take_flag(in);
    for (int i = 0; i < s->count; i++) {
        s->texts[i] = take_text(in, s->bytes[2 * i]);
        s->prefixes[i] = (rapt_text){NULL, 0};
        if (s->has_prefixes) s->prefixes[i] = take_text(in, s->bytes[2 * i + 1]);
    }
}

/* Takes the options that a call may have, too. */
static void take_options(struct feed *in, rapt_translator_options *o, int beams)
{
    static const float penalties[] = {0, 1, 0.5f, -1, 2}, factors[] = {1, 2, 0.5f, 3.25f, 1e-9f};
    *o = (rapt_translator_options){.size = sizeof *o};
    o->beams = 1 + take_below(in, beams), o->nbest = 1 + take_below(in, o->beams);
    if (take_flag(in)) o->length_penalty = penalties[take_below(in, COUNT(penalties))];
    if (take_flag(in)) o->min_length = take_below(in, LAW_POSITIONS + 2);
    if (take_flag(in)) o->no_repeat_ngram = take_below(in, 4);
    if (take_flag(in)) o->max_length_factor = factors[take_below(in, COUNT(factors))];
    if (take_flag(in)) o->max_length = 1 + take_below(in, LAW_POSITIONS);
}

static void take_shortlist(struct feed *in, struct subject *s)
{
    rapt_lexical_pair pairs[32];
    rapt_message why = {""};
    int count = take_below(in, COUNT(pairs)), first = take_below(in, 12);
    for (int i = 0; i < count; i++)
        pairs[i] =
            (rapt_lexical_pair){take_byte(in) % s->config.source_vocab,
                                take_byte(in) % s->config.target_vocab, (float)take_byte(in) / 255};
    require(rapt_shortlist_create(&s->shortlist, pairs, (size_t)count, first, 1 + take_below(in, 5),
                                  s->source, s->target, NULL, &why) == RAPT_OK,
            why.text);
}

/* Creates the model of a subject whose tokenizers are known. Returns NULL if its configuration was
   refused. */
static rapt_model *take_translating_model(struct feed *in, struct subject *s)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    rapt_config *c = &s->config;
    *c = take_config(in);
    if (c->kind != RAPT_KIND_ENCODER_DECODER) return NULL;
    c->source_vocab = rapt_tokenizer_vocab(s->source);
    c->target_vocab = rapt_tokenizer_vocab(s->target);
    c->positions = 2 + take_below(in, LAW_POSITIONS - 1);
    c->decoder_start = (rapt_decoder_start)take_below(in, 4);
    if (take_flag(in)) c->no_source_end = 1;
    if (take_flag(in)) c->alignment_layer = take_below(in, 3);
    if (take_flag(in)) c->decoder_recurrence = (rapt_recurrence)take_below(in, 6);
    if (take_flag(in)) take_monotonic(in, c);
    rapt_status status = rapt_model_create(&model, c, take_byte(in), NULL, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    if (model) small_shake(model, take_byte(in), take_flag(in) ? 1.5f : 0.3f);
    return model;
}

/* ---- a call ---- */

static int receive(void *user, const rapt_translation *t)
{
    struct run *r = user;
    const size_t i = r->offset + t->sentence, at = t->sentence * LAW_BEAMS + (size_t)t->rank;
    require(i < (size_t)r->s->count && t->rank >= 0 && t->rank < law_options(r->s)->nbest,
            "a text and a rank");
    require(at >= r->last, "translations in order");
    r->last = at + 1;
    law_check(r->s, i, t);
    struct seen *seen = &r->seen[i][t->rank];
    law_keep(t, seen);
    if (t->rank) require(!(seen->score > seen[-1].score), "the best comes first");
    return ++r->translations == r->stop_at_translation;
}

static int announce(void *user, int source, int32_t id, float log_probability)
{
    struct run *r = user;
    struct law_ids *heard = &r->heard[r->offset + (size_t)source];
    require(source >= 0 && r->offset + (size_t)source < (size_t)r->s->count,
            "the number of a text");
    require(heard->count < LAW_POSITIONS, "a number of tokens");
    heard->ids[heard->count++] = id;
    r->sums[r->offset + (size_t)source] += (double)log_probability;
    return ++r->tokens == r->stop_at_token;
}

static void look(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    struct run *r = user;
    (void)ids, (void)logits;
    require(source >= 0 && r->offset + (size_t)source < (size_t)r->s->count,
            "the number of a text");
    require(vocab == r->s->config.target_vocab && count >= 0, "the logits of a step");
}

static int poll(void *user)
{
    struct run *r = user;
    return ++r->steps == r->stop_at_step;
}

/* Which callbacks a call has, in addition to that for translations; MEND: it searches again. */
enum { ANNOUNCE = 1, LOOK = 2, POLL = 4, MEND = 8 };

/* Translates `count` texts from text `offset` on. */
static rapt_status translate(rapt_translator *t, struct run *r, size_t count, int callbacks)
{
    const struct subject *s = r->s;
    rapt_message why = {""};
    const rapt_translate_call call = {.size = sizeof call,
                                      .alignments = s->alignments,
                                      .options = s->has_own ? &s->own : NULL,
                                      .prefixes = s->has_prefixes ? s->prefixes + r->offset : NULL,
                                      .token = callbacks & ANNOUNCE ? announce : NULL,
                                      .logits = callbacks & LOOK ? look : NULL,
                                      .stop = callbacks & POLL ? poll : NULL,
                                      .mend = callbacks & MEND};
    rapt_status status =
        rapt_translate_many_with(t, s->texts + r->offset, count, &call, receive, r, &why);
    require(!status == !why.text[0], "a reason, or none");
    return status;
}

static void same(const struct run *a, const struct run *b, size_t begin, size_t end,
                 const char *what)
{
    for (size_t i = begin; i < end; i++)
        for (int rank = 0; rank < LAW_BEAMS; rank++)
            require(a->seen[i][rank].there == b->seen[i][rank].there &&
                        a->seen[i][rank].hash == b->seen[i][rank].hash,
                    what);
}

/* Runs a whole call and compares it with another. */
static void check_again(rapt_translator *t, const struct run *whole, int callbacks,
                        const char *what)
{
    static struct run r;
    r = (struct run){.s = whole->s};
    require(translate(t, &r, (size_t)r.s->count, callbacks) == RAPT_OK, "the same call again");
    same(&r, whole, 0, (size_t)r.s->count, what);
}

/* Searches again where a translation has a fault. Nothing changes if it has none or if nothing
   better is found. */
static void check_mended(rapt_translator *t, const struct run *whole)
{
    static struct run r;
    r = (struct run){.s = whole->s};
    require(translate(t, &r, (size_t)r.s->count, MEND) == RAPT_OK, "a call that mends");
    for (size_t i = 0; i < (size_t)r.s->count; i++) {
        const int faults = r.seen[i][0].faults;
        require(whole->seen[i][0].faults == 0, "faults that were not asked for");
        if (!faults || faults & RAPT_FAULT_REMAINS)
            same(&r, whole, i, i + 1, "a translation that is not mended");
        else
            require(r.seen[i][0].hash != whole->seen[i][0].hash, "a translation that is mended");
    }
}

static void check_alone(rapt_translator *t, const struct run *whole)
{
    static struct run r;
    for (size_t i = 0; i < (size_t)whole->s->count; i++) {
        r = (struct run){.s = whole->s, .offset = i};
        require(translate(t, &r, 1, 0) == RAPT_OK, "a text by itself");
        same(&r, whole, i, i + 1, "a text by itself");
    }
}

/* Checks what the callbacks were told about the best translation of a text. */
static void check_announced(const struct run *r, size_t i)
{
    const struct seen *best = &r->seen[i][0];
    const struct law_ids *heard = &r->heard[i];
    const float penalty = law_options(r->s)->length_penalty;
    struct law_ids prefix;
    law_prefix(r->s, i, &prefix);
    if (!best->there || best->status || best->count == 0) return;
    const int fresh = best->count - prefix.count;
    const bool silenced = r->stop_at_token && r->tokens >= r->stop_at_token;
    require(heard->count == fresh + best->ended || (silenced && heard->count < fresh + best->ended),
            "a token announced, its end included");
    for (int k = 0; k < heard->count; k++)
        require(heard->ids[k] == (k < fresh ? best->ids[prefix.count + k]
                                            : rapt_tokenizer_special(r->s->target, RAPT_TOKEN_END)),
                "the tokens of the translation, and its end");
    if (silenced) return;
    const int counted = r->s->made.search_rules == RAPT_SEARCH_RULES_CT2 ? best->count : fresh;
    const double length = counted + best->ended;
    if (length == 0) return;
    const double score = r->sums[i] / pow(length, (double)penalty);
    require(fabs(score - (double)best->score) <= 1e-4 * (1 + fabs(score)), "the sum of the score");
}

/* Stops a call and checks that greedy search has come as far as it could. */
static void check_stop(rapt_translator *t, const struct run *whole, struct run *r)
{
    const struct subject *s = whole->s;
    const bool greedy = law_options(s)->beams == 1;
    require(translate(t, r, (size_t)s->count, ANNOUNCE | POLL) == RAPT_OK, "a stopped call");
    for (size_t i = 0; i < (size_t)s->count; i++) {
        const struct seen *part = &r->seen[i][0], *all = &whole->seen[i][0];
        check_announced(r, i);
        if (!part->there) continue;
        require(law_stopped(r) || part->hash == all->hash, "a translation before the stop");
        if (!greedy || !all->there) continue;
        require(part->count <= all->count &&
                    memcmp(part->ids, all->ids, (size_t)part->count * sizeof *part->ids) == 0,
                "the beginning of the translation");
    }
    if (r->stop_at_translation)
        require(r->translations <= r->stop_at_translation, "nothing after the stop");
}

/* ---- scores ---- */

struct judged {
    const struct subject *s;
    const struct seen *seen;
};

/* With all tokens allowed, a translation has the score of its text, or a better one where the rules
   divide probabilities among fewer tokens. */
static int judge(void *user, const rapt_text_score *score)
{
    const struct judged *j = user;
    const rapt_search_rules rules = j->s->made.search_rules;
    const double slack = 1e-4 * (1 + fabs(score->sum)), got = (double)j->seen->score;
    if (score->status || score->target_count != j->seen->count ||
        memcmp(score->target, j->seen->ids, (size_t)j->seen->count * sizeof(int32_t)) != 0)
        return 0; /* other tokens for the same text */
    require(got >= score->sum - slack, "a score of at least that of the text");
    if (rules == RAPT_SEARCH_RULES_MARIAN) require(got <= score->sum + slack, "Marian's score");
    return 0;
}

static void check_scores(rapt_translator *t, const struct run *whole)
{
    const struct subject *s = whole->s;
    char text[LAW_BYTES];
    if (s->has_prefixes || s->shortlist || law_options(s)->length_penalty != 0) return;
    for (int i = 0; i < s->count; i++) {
        struct judged j = {s, &whole->seen[i][0]};
        size_t size = 0;
        if (!j.seen->there || j.seen->status || j.seen->count == 0 || !j.seen->ended) continue;
        if (rapt_tokenizer_decode(s->target, j.seen->ids, (size_t)j.seen->count, text, sizeof text,
                                  &size, NULL))
            continue;
        const rapt_text target = {text, size};
        rapt_status status = rapt_translator_score(t, &s->texts[i], &target, 1, judge, &j, NULL);
        require(status == RAPT_OK, "the score of a translation");
    }
}

/* ---- all laws ---- */

static rapt_translator *make(const struct subject *s, const rapt_translator_options *options,
                             const rapt_allocator *allocator)
{
    rapt_translator *t = NULL;
    rapt_message why = {""};
    rapt_status status =
        rapt_translator_create(&t, s->model, s->source, s->source == s->target ? NULL : s->target,
                               options, allocator, &why);
    require((status == RAPT_OK) == (t != NULL) && !status == !why.text[0], "a translator");
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT, "status");
    if (t && s->shortlist)
        require(rapt_translator_set_shortlist(t, s->shortlist, &why) == RAPT_OK, why.text);
    return t;
}

/* Compares with a translator that was made with the options of the call. */
static void check_made(const struct run *whole)
{
    static struct subject s;
    static struct run r;
    s = *whole->s;
    s.made = s.own;
    s.made.batch = whole->s->made.batch, s.made.batch_tokens = whole->s->made.batch_tokens;
    s.made.search_rules = whole->s->made.search_rules;
    s.made.preprocess = whole->s->made.preprocess;
    s.has_own = false;
    rapt_translator *t = make(&s, &s.made, NULL);
    require(t != NULL, "a translator with the options of a call");
    r = (struct run){.s = &s};
    require(translate(t, &r, (size_t)s.count, 0) == RAPT_OK, "the options of a call");
    same(&r, whole, 0, (size_t)s.count, "the options of a call");
    rapt_translator_free(t);
}

static void check_memory(rapt_translator *t, const struct run *whole, struct counted *counted,
                         int fail_at)
{
    static struct run r;
    const size_t before = counted->now;
    r = (struct run){.s = whole->s};
    counted->calls = 0, counted->fail_at = fail_at;
    rapt_status status = translate(t, &r, (size_t)r.s->count, 0);
    require(status == (may_lack_memory(counted) ? RAPT_NO_MEMORY : RAPT_OK), "lack of memory");
    counted->fail_at = -1;
    require(counted->now == before, "all memory of a call is given back");
}

static void check_laws(struct feed *in, const struct subject *s)
{
    static struct run whole, stopped;
    struct counted counted = {.fail_at = -1};
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_translator *t = make(s, &s->made, &allocator);
    if (!t) return;
    whole = (struct run){.s = s};
    require(translate(t, &whole, (size_t)s->count, ANNOUNCE) == RAPT_OK, "a call");
    for (size_t i = 0; i < (size_t)s->count; i++) {
        require(whole.seen[i][0].there, "a translation of each text");
        check_announced(&whole, i);
    }
    check_again(t, &whole, LOOK, "callbacks that change nothing");
    check_alone(t, &whole);
    check_mended(t, &whole);
    check_scores(t, &whole);
    stopped = (struct run){.s = s,
                           .stop_at_step = take_below(in, 8),
                           .stop_at_token = take_below(in, 16),
                           .stop_at_translation = take_below(in, 4)};
    check_stop(t, &whole, &stopped);
    check_again(t, &whole, 0, "a translator after a stop");
    check_memory(t, &whole, &counted, take_below(in, 16));
    check_again(t, &whole, POLL, "a translator that lacked memory");
    if (s->has_own) check_made(&whole);
    rapt_translator_free(t);
    require(counted.now == 0, "all memory is given back");
}

int fuzz_laws(const uint8_t *bytes, size_t size)
{
    static struct subject s;
    struct feed in = {bytes, size};
    rapt_tokenizer *own[2] = {NULL, NULL};
    s = (struct subject){.source = take_tokenizer(&in, &own[0])};
    s.target = take_flag(&in) ? s.source : take_tokenizer(&in, &own[1]);
    s.model = take_translating_model(&in, &s);
    if (s.model) {
        take_options(&in, &s.made, LAW_BEAMS);
        s.made.batch = 1 + take_below(&in, LAW_TEXTS),
        s.made.batch_tokens = 1 + take_below(&in, 64);
        s.made.search_rules = (rapt_search_rules)(1 + take_below(&in, 4));
        s.made.preprocess = (rapt_preprocess)take_flag(&in);
        s.has_own = take_flag(&in);
        if (s.has_own) take_options(&in, &s.own, s.made.beams);
        s.alignments = take_below(&in, 2);
        take_texts(&in, &s);
        if (take_flag(&in)) take_shortlist(&in, &s);
        check_laws(&in, &s);
    }
    rapt_shortlist_free(s.shortlist);
    rapt_model_free(s.model);
    rapt_tokenizer_free(own[0]);
    rapt_tokenizer_free(own[1]);
    return 0;
}
