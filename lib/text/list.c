/* list.c - a vocabulary given as a list of names, one per id. Text consists of names separated by
   spaces, or is split by a SentencePiece model, by WordPiece (list_words.c), by GPT-2's byte-level
   BPE (list_bytes.c) or by BPE over Moses-tokenized words (list_moses.c). Names are looked up in a
   hash table with linear probing. */
#include "text/list.h"

#include <string.h>

static const struct {
    int which; /* a RAPT_TOKEN_ constant */
    const char *name;
    bool wordpiece; /* whether this is a name that WordPiece uses */
} special_names[] = {
    {RAPT_TOKEN_UNKNOWN, "<unk>", false}, {RAPT_TOKEN_PAD, "<pad>", false},
    {RAPT_TOKEN_PAD, "<blank>", false},   {RAPT_TOKEN_BEGIN, "<s>", false},
    {RAPT_TOKEN_END, "</s>", false},      {RAPT_TOKEN_UNKNOWN, "[UNK]", true},
    {RAPT_TOKEN_PAD, "[PAD]", true},      {RAPT_TOKEN_BEGIN, "[CLS]", true},
    {RAPT_TOKEN_END, "[SEP]", true},
};

static rapt_text name_of(const struct list *l, int32_t id)
{
    return (rapt_text){l->joined + l->start[id], l->start[id + 1] - l->start[id] - 1};
}

/* Returns the slot that holds this name, or the free slot where it belongs. */
static size_t slot_of_name(const struct list *l, rapt_text name)
{
    size_t slot = rapt__hash_from(l, name.bytes, name.size) & (l->slots - 1);
    for (; l->table[slot] >= 0; slot = (slot + 1) & (l->slots - 1)) {
        const rapt_text other = name_of(l, l->table[slot]);
        if (other.size == name.size && memcmp(other.bytes, name.bytes, name.size) == 0) break;
    }
    return slot;
}

int32_t rapt__list_find(const struct list *l, rapt_text name)
{
    return name.size ? l->table[slot_of_name(l, name)] : -1;
}

int32_t rapt__list_special(const struct list *l, int which)
{
    int32_t id = l->special[which - RAPT_TOKEN_UNKNOWN];
    /* without a begin token, the end token takes its place */
    bool ends = id < 0 && which == RAPT_TOKEN_BEGIN;
    return ends ? l->special[RAPT_TOKEN_END - RAPT_TOKEN_UNKNOWN] : id;
}

/* ---- creation ---- */

static void take_arrays(struct list *l, size_t bytes, struct arena *arena)
{
    size_t count = (size_t)l->count, pieces = l->spm ? (size_t)l->spm->count : 0;
    l->start = rapt__arena_take(arena, count + 1, sizeof *l->start);
    l->surface = rapt__arena_take(arena, count + 1, sizeof *l->surface);
    l->byte = rapt__arena_take(arena, count, sizeof *l->byte);
    l->of_piece = rapt__arena_take(arena, pieces, sizeof *l->of_piece);
    l->table = rapt__arena_take(arena, l->slots, sizeof *l->table);
    l->joined = rapt__arena_take(arena, bytes, 1);
    l->surfaces = rapt__arena_take(arena, bytes, 1);
    const size_t merges = (size_t)l->bytes.merges;
    l->bytes.pairs = rapt__arena_take(arena, 2 * merges, sizeof *l->bytes.pairs);
    l->bytes.made = rapt__arena_take(arena, merges, sizeof *l->bytes.made);
    l->bytes.sorted = rapt__arena_take(arena, merges, sizeof *l->bytes.sorted);
}

static bool is_special(const struct list *l, int32_t id)
{
    for (int i = 0; i < LIST_SPECIALS; i++)
        if (l->special[i] == id) return true;
    return false;
}

/* Returns the byte piece with the same name as a token, or -1. */
static int32_t byte_piece(const struct list *l, int32_t id)
{
    const rapt_text name = name_of(l, id);
    int32_t piece = l->spm && name.size ? rapt__spm_find(l->spm, name) : -1;
    return piece >= 0 && l->spm->pieces[piece].type == SPM_BYTE ? piece : -1;
}

/* Returns true if a token continues a word, that is, if its name begins with "##". */
static bool continues(const struct list *l, int32_t id)
{
    const rapt_text name = name_of(l, id);
    return l->wordpiece.used && name.size > 2 && memcmp(name.bytes, "##", 2) == 0;
}

/* Writes a token as it appears in text, returns its size, and sets l->byte[id]. Special tokens have
   no text, except the unknown token in lists that use neither a SentencePiece model nor byte-level
   BPE. With a SentencePiece model, U+2581 becomes a space, a byte piece becomes its byte, and
   language tokens have no text. With byte-level BPE, characters become the bytes that they
   represent. WordPiece's "##" is left out. With BPE over Moses-tokenized words, "@@" is left out,
   and "&apos;" and the like become characters. */
static size_t put_surface(struct list *l, int32_t id, char *to)
{
    const rapt_text name = name_of(l, id);
    size_t size = 0;
    bool unknown = id == l->special[0];
    l->byte[id] = false;
    if (is_special(l, id) && (l->spm || l->bytes.used || !unknown)) return 0;
    if (l->bytes.used) return rapt__bytelevel_bytes(name, to);
    if (l->moses) return rapt__list_moses_surface(name, to);
    if (l->spm && name.size && rapt__language_token(name, l->mbart) == name.size) return 0;
    int32_t piece = byte_piece(l, id);
    l->byte[id] = piece >= 0;
    if (piece >= 0) {
        *to = *rapt__spm_surface(l->spm, piece).bytes;
        return 1;
    }
    const size_t first = continues(l, id) ? 2 : 0; /* without "##" */
    for (size_t i = first; i < name.size;) {
        bool space = l->spm && name.size - i >= SPM_SPACE_SIZE &&
                     memcmp(name.bytes + i, spm_space, SPM_SPACE_SIZE) == 0;
        to[size++] = space ? ' ' : name.bytes[i];
        i += space ? SPM_SPACE_SIZE : 1;
    }
    return size;
}

/* Fills the hash table. Returns RAPT_BAD_ARGUMENT if two nonempty names are equal. */
static rapt_status enter_names(struct list *l, rapt_message *why)
{
    for (size_t i = 0; i < l->slots; i++) l->table[i] = -1;
    for (int32_t id = 0; id < l->count; id++) {
        const rapt_text name = name_of(l, id);
        if (name.size == 0) continue;
        size_t slot = slot_of_name(l, name);
        if (l->table[slot] >= 0)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "names %d and %d are both \"%.60s\"",
                              (int)l->table[slot], (int)id, name.bytes);
        l->table[slot] = id;
    }
    return RAPT_OK;
}

/* Finds the ids of the special tokens. MPNet uses WordPiece with <s> and </s>. Its vocabulary also
   contains BERT's special tokens, of which it uses only [UNK]. */
static void find_specials(struct list *l)
{
    const rapt_text begin = {"<s>", 3}, end = {"</s>", 4};
    l->angled =
        !l->wordpiece.used || (rapt__list_find(l, begin) >= 0 && rapt__list_find(l, end) >= 0);
    for (int i = 0; i < LIST_SPECIALS; i++) l->special[i] = -1;
    for (size_t i = 0; i < sizeof special_names / sizeof *special_names; i++) {
        const rapt_text name = {special_names[i].name, strlen(special_names[i].name)};
        int32_t *id = &l->special[special_names[i].which - RAPT_TOKEN_UNKNOWN];
        const bool words =
            special_names[i].which == RAPT_TOKEN_UNKNOWN ? l->wordpiece.used : !l->angled;
        if (*id < 0 && special_names[i].wordpiece == words) *id = rapt__list_find(l, name);
    }
}

/* Fills a list from consecutive null-terminated names. */
static rapt_status fill_list(struct list *l, const struct list_source *source, rapt_message *why)
{
    const char *names = source->names;
    const size_t size = source->size;
    take_arrays(l, size, &l->arena);
    rapt_status status = rapt__arena_reserve(&l->arena, &l->allocator);
    if (status) return rapt__fail(why, status, "no memory for %d names", l->count);
    take_arrays(l, size, &l->arena);
    memcpy(l->joined, names, size);
    l->joined_size = size;
    l->start[0] = 0;
    for (int32_t id = 0; id < l->count; id++)
        l->start[id + 1] = l->start[id] + (uint32_t)strlen(names + l->start[id]) + 1;
    status = enter_names(l, why);
    if (status) return status;
    if (l->bytes.used) status = rapt__list_index_merges(l, source->merges.pairs, why);
    if (status) return status;
    find_specials(l);
    l->mbart = l->spm && rapt__list_find(l, (rapt_text){"en_XX", MBART_TOKEN}) >= 0;
    for (int32_t id = 0, to = 0; id <= l->count; id++) {
        l->surface[id] = (uint32_t)to;
        if (id == l->count) break;
        to += (int32_t)put_surface(l, id, l->surfaces + to);
    }
    for (int i = 0; l->spm && i < l->spm->count; i++) {
        const struct spm_piece *piece = &l->spm->pieces[i];
        int32_t id = rapt__list_find(l, (rapt_text){piece->bytes, piece->size});
        l->of_piece[i] = i == l->spm->unknown ? -1 : id;
    }
    return RAPT_OK;
}

static rapt_status check_kind(const struct list *l, rapt_message *why)
{
    if (l->wordpiece.used && l->special[0] < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "a WordPiece vocabulary must contain [UNK]");
    if (l->wordpiece.used && !rapt__wordpiece_available())
        return rapt__fail(why, RAPT_BAD_FILE,
                          "WordPiece needs utf8proc, which rapt was built without");
    if (!l->bytes.used || rapt__bytelevel_available()) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "byte-level BPE needs utf8proc, which rapt was built without");
}

rapt_status rapt__list_create(struct list **list, const struct list_source *source,
                              const rapt_allocator *allocator, rapt_message *why)
{
    struct list *l = rapt__alloc(allocator, sizeof *l);
    if (!l) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    *l = (struct list){.allocator = *allocator,
                       .count = source->count,
                       .wordpiece = source->wordpiece,
                       .bytes = {.used = source->merges.used,
                                 .space_first = source->merges.space_first,
                                 .merges = source->merges.count},
                       .slots = 16};
    while (l->slots < 2 * (size_t)l->count) l->slots *= 2;
    const rapt_text pieces = source->pieces;
    rapt_status status = RAPT_OK;
    if (pieces.bytes) status = rapt__spm_create(&l->spm, pieces.bytes, pieces.size, allocator, why);
    if (!status && source->moses.merges.bytes)
        status = rapt__moses_create(&l->moses, &source->moses, allocator, why);
    if (!status) status = fill_list(l, source, why);
    if (!status) status = check_kind(l, why);
    if (status)
        rapt__list_free(l);
    else
        *list = l;
    return status;
}

void rapt__list_free(struct list *l)
{
    if (!l) return;
    rapt_allocator allocator = l->allocator;
    rapt__spm_free(l->spm);
    rapt__moses_free(l->moses);
    rapt__arena_free(&l->arena, &allocator);
    rapt__free(&allocator, l, sizeof *l);
}

/* ---- encoding and decoding ---- */

rapt_text rapt__list_name(const struct list *l, int32_t id)
{
    return name_of(l, id);
}

rapt_text rapt__list_surface(const struct list *l, int32_t id)
{
    return (rapt_text){l->surfaces + l->surface[id], l->surface[id + 1] - l->surface[id]};
}

size_t rapt__list_bound(const struct list *l, size_t bytes)
{
    size_t bound = l->spm ? rapt__spm_bound(l->spm, bytes) : bytes;
    if (l->moses && !rapt__times(bytes, MOSES_GROWTH, &bound)) bound = SIZE_MAX;
    return bound < SIZE_MAX ? bound + 1 : bound; /* a language token may precede the text */
}

void rapt__list_put(struct list_output *out, int32_t id, size_t end)
{
    size_t at = out->count++;
    if (at >= out->capacity) return;
    out->ids[at] = id;
    if (out->ends) out->ends[at] = end;
}

/* Encodes a text that consists of names separated by spaces. Returns RAPT_BAD_ARGUMENT if a name is
   unknown and the list has no unknown token. */
static rapt_status encode_names(const struct list *l, rapt_text text, struct list_output *out,
                                rapt_message *why)
{
    for (size_t at = 0, end; at < text.size; at = end) {
        while (at < text.size && text.bytes[at] == ' ') at++;
        for (end = at; end < text.size && text.bytes[end] != ' ';) end++;
        if (end == at) break;
        int32_t id = rapt__list_find(l, (rapt_text){text.bytes + at, end - at});
        if (id < 0) id = l->special[0];
        if (id < 0)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "\"%.*s\" is not in the vocabulary",
                              (int)rapt__min_size(end - at, 60), text.bytes + at);
        rapt__list_put(out, id, end);
    }
    return RAPT_OK;
}

/* If the text begins with a language tag ">>xx<<" that is in the list, sets *id and returns the
   size of the tag in bytes. Otherwise returns 0. */
static size_t language_at(const struct list *l, rapt_text text, int32_t *id)
{
    if (text.size < 5 || memcmp(text.bytes, ">>", 2) != 0) return 0;
    for (size_t end = 3; end + 2 <= text.size; end++)
        if (memcmp(text.bytes + end, "<<", 2) == 0) {
            *id = rapt__list_find(l, (rapt_text){text.bytes, end + 2});
            return *id < 0 ? 0 : end + 2;
        }
    return 0;
}

/* Maps the pieces of a normalized text to ids in the list. `skip` is the offset in the original
   text at which the normalized part begins. A piece that the SentencePiece model does not know may
   still be in the list. `memory` holds three arrays [bound]: ends in the text, ends in the
   normalized text, and ids. */
static rapt_status put_pieces(const struct list *l, const struct spm_normalized *text, size_t skip,
                              size_t *memory, size_t bound, struct list_output *out,
                              rapt_message *why)
{
    struct spm_output pieces = {.spm = l->spm,
                                .text = text,
                                .ids = (int32_t *)(memory + 2 * bound),
                                .ends = memory,
                                .inner = memory + bound,
                                .capacity = bound};
    rapt_status status = rapt__spm_encode_normalized(&pieces);
    if (status) return rapt__fail(why, status, "not enough memory to encode text");
    for (size_t i = 0, begin = 0; i < pieces.count; begin = pieces.inner[i++]) {
        int32_t id = l->of_piece[pieces.ids[i]];
        if (pieces.ids[i] == l->spm->unknown)
            id = rapt__list_find(l, (rapt_text){text->bytes + begin, pieces.inner[i] - begin});
        if (id < 0) id = l->special[0];
        if (id < 0)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "piece %zu is not in the vocabulary", i);
        rapt__list_put(out, id, skip + pieces.ends[i]);
    }
    return RAPT_OK;
}

/* Bytes of memory that put_pieces needs per piece. */
enum { PIECE_BYTES = 2 * sizeof(size_t) + sizeof(int32_t) };

/* Encodes bytes [from, to) of a text with the SentencePiece model. */
static rapt_status encode_part(const struct list *l, rapt_text text, size_t from, size_t to,
                               struct list_output *out, rapt_message *why)
{
    const rapt_text part = {text.bytes + from, to - from};
    struct spm_normalized normalized = {.allocator = l->allocator};
    const size_t bound = rapt__spm_bound(l->spm, part.size);
    if (part.size == 0) return RAPT_OK;
    size_t *memory = rapt__alloc(&l->allocator, bound * PIECE_BYTES);
    if (!memory) return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to encode text");
    rapt_status status = rapt__spm_normalize(&l->spm->normalizer, part, true, &normalized);
    if (status)
        rapt__fail(why, status,
                   status == RAPT_NO_MEMORY ? "not enough memory to encode %zu bytes of text"
                                            : "the text is too long (%zu bytes)",
                   text.size);
    else
        status = put_pieces(l, &normalized, from, memory, bound, out, why);
    rapt__spm_normalized_free(&normalized);
    rapt__free(&l->allocator, memory, bound * PIECE_BYTES);
    return status;
}

/* If "<extra_id_N>", which marks spans in T5, is at this offset, returns its size. Otherwise
   returns 0. */
static size_t extra_at(rapt_text text, size_t at)
{
    static const char begin[] = "<extra_id_";
    const size_t front = sizeof begin - 1;
    size_t end = at + front;
    if (text.size - at <= front || memcmp(text.bytes + at, begin, front) != 0) return 0;
    while (end < text.size && text.bytes[end] >= '0' && text.bytes[end] <= '9') end++;
    return end < text.size && text.bytes[end] == '>' ? end + 1 - at : 0;
}

/* If one of the list's tokens that are recognized anywhere in the text (T5's sentinels and language
   tokens) is at this offset, sets *id and returns its size in bytes. Otherwise returns 0. */
static size_t mark_at(const struct list *l, rapt_text text, size_t at, int32_t *id)
{
    size_t size = extra_at(text, at);
    if (!size) size = rapt__language_token((rapt_text){text.bytes + at, text.size - at}, l->mbart);
    *id = rapt__list_find(l, (rapt_text){text.bytes + at, size});
    return *id < 0 ? 0 : size;
}

static rapt_status encode_pieces(const struct list *l, rapt_text text, struct list_output *out,
                                 rapt_message *why)
{
    int32_t id = -1;
    rapt_status status = RAPT_OK;
    if (rapt__spm_bound(l->spm, text.size) > SIZE_MAX / PIECE_BYTES)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the text is too long (%zu bytes)", text.size);
    size_t from = language_at(l, text, &id);
    if (from) rapt__list_put(out, id, from);
    for (size_t at = from; at < text.size && !status; at++) {
        const size_t size = mark_at(l, text, at, &id);
        if (!size) continue;
        status = encode_part(l, text, from, at, out, why);
        from = at + size, at = from - 1;
        if (!status) rapt__list_put(out, id, from);
    }
    return status ? status : encode_part(l, text, from, text.size, out, why);
}

rapt_status rapt__list_encode(const struct list *l, rapt_text text, int32_t *ids, size_t *ends,
                              size_t capacity, size_t *count, rapt_message *why)
{
    struct list_output out = {ids, ends, capacity, 0};
    rapt_status status = RAPT_OK;
    if (l->wordpiece.used)
        rapt__list_encode_words(l, text, &out);
    else if (l->bytes.used)
        status = rapt__list_encode_bytes(l, text, &out, why);
    else if (l->moses)
        status = rapt__list_encode_moses(l, text, &out, why);
    else if (text.size)
        status = (l->spm ? encode_pieces : encode_names)(l, text, &out, why);
    if (status) return status;
    *count = out.count;
    if (out.count <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu tokens",
                      capacity, out.count);
}

/* Sets *text to the text of the first token, or of the first byte pieces if these form one
   character, and returns the number of tokens used. A byte that is not part of a character becomes
   U+FFFD. */
static size_t token_text(const struct list *l, const int32_t *ids, size_t count,
                         char bytes[CHARACTER_BYTES], rapt_text *text)
{
    size_t size = 0, used = 1;
    for (; size < CHARACTER_BYTES && size < count && l->byte[ids[size]]; size++)
        bytes[size] = *rapt__list_surface(l, ids[size]).bytes;
    *text = size ? rapt__spm_join_bytes(bytes, size, &used) : rapt__list_surface(l, ids[0]);
    return used;
}

/* Decodes ids. Writes at most `capacity` bytes of the text and returns the size of the whole
   text. */
static size_t decode_names(const struct list *l, const int32_t *ids, size_t count, char *bytes,
                           size_t capacity)
{
    size_t at = 0;
    for (size_t i = 0; i < count;) {
        char character[CHARACTER_BYTES];
        rapt_text text;
        bool byte = l->byte[ids[i]], joined = l->spm || l->bytes.used || continues(l, ids[i]);
        i += token_text(l, ids + i, count - i, character, &text);
        bool front = l->spm && !byte && at == 0;
        if (front && text.size && text.bytes[0] == ' ') text.bytes++, text.size--;
        if (!joined && at > 0 && text.size) {
            if (at < capacity) bytes[at] = ' ';
            at++;
        }
        if (at < capacity && text.size)
            memcpy(bytes + at, text.bytes, rapt__min_size(text.size, capacity - at));
        at += text.size;
    }
    return at;
}

rapt_status rapt__list_decode(const struct list *l, const int32_t *ids, size_t count, char *bytes,
                              size_t capacity, size_t *size, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    if (l->moses)
        status = rapt__list_decode_moses(l, ids, count, false, bytes, capacity, size, why);
    else
        *size = decode_names(l, ids, count, bytes, capacity);
    if (status || *size <= capacity) return status;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu bytes",
                      capacity, *size);
}
