/* chase_grammar.c - a tiny English-Chinese grammar, in which Chinese says when and where before the
   verb and negates with one word. Verbs have no -s, as in the lecture's "Tom chase Jerry". */
#include "chase.h"
#include <stddef.h>

enum { NAMES = 6, VERBS = 6, WHERES = 4 };
static const char *const words[][2] = {
    {"Tom", "汤姆"},    {"Jerry", "杰瑞"},  {"Spike", "斯派克"}, {"Anna", "安娜"},
    {"Lily", "莉莉"},   {"Peter", "彼得"},  {"chase", "追逐"},   {"see", "看见"},
    {"call", "叫"},     {"help", "帮助"},   {"know", "认识"},    {"draw", "画"},
    {"garden", "花园"}, {"school", "学校"}, {"park", "公园"},    {"kitchen", "厨房"},
    {"not", "不"},      {"today", "今天"},  {"in", "在"},        {"does", ""},
    {"the", ""},
};
enum {
    NAME,
    VERB = NAMES,
    WHERE = VERB + VERBS,
    NOT = WHERE + WHERES,
    TODAY,
    IN,
    DOES,
    THE,
    WORDS
};

const char *const chase_english[CHASE_WORDS] = {"Tom", "chase", "Jerry"};
const char *const chase_chinese[CHASE_WORDS] = {"汤姆", "追逐", "杰瑞"};
const float chase_weights[CHASE_WORDS][CHASE_WORDS] = {
    {0.6F, 0.2F, 0.2F}, {0.2F, 0.7F, 0.1F}, {0.3F, 0.2F, 0.5F}};

int chase_vocabulary(void)
{
    return RAPT_TOKEN_SPECIALS + 2 * WORDS;
}

const char *chase_word(int32_t id)
{
    int word = (int)id - RAPT_TOKEN_SPECIALS;
    return word < 0 || word >= 2 * WORDS ? "(end)" : words[word / 2][word % 2];
}

bool chase_is_english(int32_t id)
{
    return id >= RAPT_TOKEN_SPECIALS && (id - RAPT_TOKEN_SPECIALS) % 2 == 0;
}

static int english(struct chase_pair *pair, int word)
{
    pair->ids.source.at[pair->ids.source.count] = RAPT_TOKEN_SPECIALS + 2 * word;
    return pair->ids.source.count++;
}

static void chinese(struct chase_pair *pair, int word, int source)
{
    pair->source[pair->ids.target.count] = source;
    pair->ids.target.at[pair->ids.target.count++] = RAPT_TOKEN_SPECIALS + 2 * word + 1;
}

void chase_make(const struct chase *s, struct chase_pair *pair)
{
    int not = -1, in = -1, where = -1, today = -1;
    pair->ids.source.count = pair->ids.target.count = 0;
    int subject = english(pair, NAME + s->subject);
    if (s->negated) {
        english(pair, DOES);
        not = english(pair, NOT);
    }
    int verb = english(pair, VERB + s->verb), object = english(pair, NAME + s->object);
    if (s->where >= 0) {
        in = english(pair, IN);
        english(pair, THE);
        where = english(pair, WHERE + s->where);
    }
    if (s->today) today = english(pair, TODAY);
    chinese(pair, NAME + s->subject, subject);
    if (s->today) chinese(pair, TODAY, today);
    if (s->where >= 0) {
        chinese(pair, IN, in);
        chinese(pair, WHERE + s->where, where);
    }
    if (s->negated) chinese(pair, NOT, not );
    chinese(pair, VERB + s->verb, verb);
    chinese(pair, NAME + s->object, object);
}

bool chase_held_out(const struct chase *s)
{
    return (s->subject + 2 * s->verb + 3 * s->object) % 4 == 3;
}

void chase_draw(struct random *random, bool held_out, struct chase_pair *pair)
{
    struct chase s;
    do {
        s.subject = random_below(random, NAMES);
        s.verb = random_below(random, VERBS);
        s.object = random_below(random, NAMES);
        s.where = random_below(random, 2) ? random_below(random, WHERES) : -1;
        s.negated = random_below(random, 3) == 0;
        s.today = random_below(random, 3) == 0;
    } while (s.subject == s.object || chase_held_out(&s) != held_out);
    chase_make(&s, pair);
}

void chase_draw_training(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, false, &drawn);
    *pair = drawn.ids;
}
