/* list_moses.c - encodes text as BPE pieces of Moses-tokenized words, and decodes such pieces
   (moses/moses.h). In a list, the name of a piece that does not end a word has the suffix "@@". */
#include "text/list.h"

#include <string.h>

static const char joint[] = "@@";
enum { JOINT = sizeof joint - 1 };

size_t rapt__list_moses_surface(rapt_text name, char *to)
{
    const bool continued =
        name.size >= JOINT && memcmp(name.bytes + name.size - JOINT, joint, JOINT) == 0;
    const size_t size = name.size - (continued ? JOINT : 0);
    if (size) memcpy(to, name.bytes, size);
    return rapt__moses_unescape(to, size);
}

/* ---- encoding ---- */

struct word_memory {
    struct moses_word word;
    char *name; /* a piece and "@@" */
};

static void lay_out_word(struct word_memory *m, size_t count, struct arena *arena)
{
    m->word.bytes = rapt__arena_take(arena, 4 * count + 4, 1);
    m->word.start = rapt__arena_take(arena, count + 2, sizeof *m->word.start);
    m->word.next = rapt__arena_take(arena, count + 2, sizeof *m->word.next);
    m->word.previous = rapt__arena_take(arena, count + 2, sizeof *m->word.previous);
    m->word.heap = rapt__arena_take(arena, 3 * count + 6, sizeof *m->word.heap);
    m->word.round = rapt__arena_take(arena, count + 2, sizeof *m->word.round);
    m->name = rapt__arena_take(arena, 4 * count + JOINT, 1);
}

/* Finds the word at or after `at`, sets *begin to its beginning and returns its end. If there is no
   word, both are the end of the text. */
static size_t next_word(const struct moses_buffer *text, size_t at, size_t *begin)
{
    while (at < text->count && text->at[at].code == ' ') at++;
    *begin = at;
    while (at < text->count && text->at[at].code != ' ') at++;
    return at;
}

static size_t longest_word(const struct moses_buffer *text)
{
    size_t longest = 0;
    for (size_t at = 0, begin; at < text->count;) {
        at = next_word(text, at, &begin);
        longest = rapt__max_size(longest, at - begin);
    }
    return longest;
}

/* Outputs the piece that consists of characters [from, to) of a word. */
static rapt_status put_piece(const struct list *l, const struct word_memory *m, size_t from,
                             size_t to, bool ends_word, size_t end, struct list_output *out,
                             rapt_message *why)
{
    const size_t begin = m->word.start[from];
    const size_t size = (ends_word ? m->word.size : m->word.start[to]) - begin;
    memcpy(m->name, m->word.bytes + begin, size);
    memcpy(m->name + size, joint, JOINT);
    int32_t id = rapt__list_find(l, (rapt_text){m->name, size + (ends_word ? 0 : JOINT)});
    if (id < 0) id = l->special[0];
    if (id < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "\"%.*s\" is not in the vocabulary",
                          (int)rapt__min_size(size, 60), m->name);
    rapt__list_put(out, id, end);
    return RAPT_OK;
}

/* Outputs the pieces of a word. Substitutions may have swapped characters, so an end that lies
   before *last, the end of the previous piece, is raised to it. */
static rapt_status put_word(const struct list *l, const struct moses_character *word, size_t count,
                            struct word_memory *m, size_t *last, struct list_output *out,
                            rapt_message *why)
{
    rapt_status status = RAPT_OK;
    rapt__moses_divide(l->moses, word, count, &m->word);
    for (size_t from = 0, to; from < count && !status; from = to) {
        to = rapt__min_size(m->word.next[from], count);
        *last = rapt__max_size(*last, word[to - 1].end);
        status = put_piece(l, m, from, to, to == count, *last, out, why);
    }
    return status;
}

static rapt_status put_words(const struct list *l, const struct moses_buffer *text,
                             struct list_output *out, rapt_message *why)
{
    struct word_memory m;
    struct arena arena = {.raw = true};
    const size_t longest = longest_word(text);
    size_t last = 0;
    lay_out_word(&m, longest, &arena);
    rapt_status status = rapt__arena_reserve(&arena, &l->allocator);
    if (status) return rapt__fail(why, status, "not enough memory to split words");
    lay_out_word(&m, longest, &arena);
    for (size_t at = 0, begin; at < text->count && !status;) {
        at = next_word(text, at, &begin);
        if (at > begin) status = put_word(l, text->at + begin, at - begin, &m, &last, out, why);
    }
    rapt__arena_free(&arena, &l->allocator);
    return status;
}

rapt_status rapt__list_encode_moses(const struct list *l, rapt_text text, struct list_output *out,
                                    rapt_message *why)
{
    struct moses_text t = {.allocator = l->allocator, .language = &l->moses->language};
    if (text.size > MOSES_TEXT_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the text has more than 2^28 bytes");
    rapt_status status = rapt__moses_split(&t, text);
    if (status)
        rapt__fail(why, status, "not enough memory to encode %zu bytes of text", text.size);
    else
        status = put_words(l, &t.now, out, why);
    rapt__moses_text_free(&t);
    return status;
}

/* ---- decoding ---- */

struct name_writer {
    char *to;
    size_t size;
    size_t fresh; /* number of bytes written since an "@@ " was last removed */
};

/* Appends bytes, and removes each "@@ " that they complete. */
static void append(struct name_writer *w, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == ' ' && w->fresh >= JOINT &&
            memcmp(w->to + w->size - JOINT, joint, JOINT) == 0) {
            w->size -= JOINT, w->fresh = 0;
        } else {
            w->to[w->size++] = bytes[i], w->fresh++;
        }
    }
}

/* Writes the names of those ids whose text is not empty, with a space before the first and after
   each, and removes each "@@ " that results. The "@@" of the last name remains, unless other pieces
   follow (`more`). Returns the number of bytes. */
static size_t write_names(const struct list *l, const int32_t *ids, size_t count, bool more,
                          char *to)
{
    struct name_writer w = {.to = to};
    bool any = false;
    append(&w, " ", 1);
    for (size_t i = 0; i < count; i++) {
        const rapt_text name = rapt__list_name(l, ids[i]);
        if (rapt__list_surface(l, ids[i]).size == 0) continue;
        if (any) append(&w, " ", 1);
        append(&w, name.bytes, name.size);
        any = true;
    }
    w.fresh = more ? w.fresh : 0;
    append(&w, " ", 1);
    return w.size;
}

rapt_status rapt__list_decode_moses(const struct list *l, const int32_t *ids, size_t count,
                                    bool more, char *bytes, size_t capacity, size_t *size,
                                    rapt_message *why)
{
    size_t room = 2;
    for (size_t i = 0; i < count; i++) room += rapt__list_name(l, ids[i]).size + 1;
    char *names = rapt__alloc(&l->allocator, room);
    if (!names)
        return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to decode %zu tokens", count);
    const size_t written = write_names(l, ids, count, more, names);
    rapt_status status = rapt__moses_join(l->moses, names, written, bytes, capacity, size);
    rapt__free(&l->allocator, names, room);
    return status ? rapt__fail(why, status, "not enough memory to decode %zu tokens", count)
                  : RAPT_OK;
}
