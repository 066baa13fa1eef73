/* pickle.c - the bytes of a pickle go in; the dictionary of tensors that they build comes out.
   Nothing is called or imported: a name stands for itself, and three of them may be applied.

   Source: pickletools.py of CPython 3.11 (operations), torch/serialization.py and torch/_utils.py
   of PyTorch 2.1 (what a state dict is made of). */
#include "pickle.h"

#include "base/base.h"

#include <string.h>

enum { TENSOR_ARGUMENTS = 6, STORAGE_ARGUMENTS = 5 };

/* What names there may be; dtype: of the type of a storage. */
static const struct {
    const char *module, *name, *dtype;
} globals[] = {
    {"collections", "OrderedDict", NULL}, {"torch._utils", "_rebuild_tensor_v2", NULL},
    {"torch", "FloatStorage", "F32"},     {"torch", "HalfStorage", "F16"},
    {"torch", "BFloat16Storage", "BF16"}, {"torch", "DoubleStorage", "F64"},
    {"torch", "CharStorage", "I8"},       {"torch", "ByteStorage", "U8"},
    {"torch", "ShortStorage", "I16"},     {"torch", "IntStorage", "I32"},
    {"torch", "LongStorage", "I64"},      {"torch", "BoolStorage", "BOOL"},
};
enum { GLOBAL_DICT = 0, GLOBAL_TENSOR = 1, GLOBALS = sizeof globals / sizeof *globals };

const char *rapt__pickle_dtype(size_t global)
{
    return globals[global].dtype;
}

struct pickle_reading {
    struct pickle *p;
    const unsigned char *bytes;
    size_t size, at, operation; /* operation: where the one at hand begins */
    bool ended;
};

static rapt_status fail(const struct pickle_reading *r, const char *what)
{
    return rapt__fail(r->p->why, RAPT_BAD_FILE, "%s: pickle, byte %zu: %s", r->p->label,
                      r->operation, what);
}

static rapt_status append(struct pickle *p, struct pickle_values *to, struct pickle_value value)
{
    if (to->count == to->capacity) {
        void *grown = rapt__grown(&p->allocator, to->values, &to->capacity, sizeof value);
        if (!grown)
            return rapt__fail(p->why, RAPT_NO_MEMORY, "%s: out of memory for its pickle", p->label);
        to->values = grown;
    }
    to->values[to->count++] = value;
    return RAPT_OK;
}

static rapt_status push(struct pickle_reading *r, struct pickle_value value)
{
    return append(r->p, &r->p->stack, value);
}

/* The value on top, of a kind; PICKLE_MARK: of any other kind. */
static rapt_status pop(struct pickle_reading *r, enum pickle_kind kind, struct pickle_value *value)
{
    struct pickle_values *stack = &r->p->stack;
    if (stack->count == 0) return fail(r, "a value is missing");
    *value = stack->values[--stack->count];
    if (kind == PICKLE_MARK ? value->kind == PICKLE_MARK : value->kind != kind)
        return fail(r, "a value of another kind is needed");
    return RAPT_OK;
}

/* Where the values behind the last mark begin. */
static rapt_status find_mark(const struct pickle_reading *r, size_t *first)
{
    const struct pickle_values *stack = &r->p->stack;
    for (size_t i = stack->count; i-- > 0;)
        if (stack->values[i].kind == PICKLE_MARK) {
            *first = i + 1;
            return RAPT_OK;
        }
    return fail(r, "a mark is missing");
}

/* ---- arguments behind an operation ---- */

static rapt_status take_number(struct pickle_reading *r, size_t bytes, uint64_t *value)
{
    if (r->size - r->at < bytes) return fail(r, "it ends within a number");
    *value = 0;
    for (size_t i = 0; i < bytes; i++) *value |= (uint64_t)r->bytes[r->at++] << 8 * i;
    return RAPT_OK;
}

/* A number of two's complement in so many bytes. */
static rapt_status push_number(struct pickle_reading *r, size_t bytes, bool has_sign)
{
    uint64_t value = 0;
    rapt_status status = take_number(r, bytes, &value);
    if (status != RAPT_OK) return status;
    uint64_t sign = has_sign && bytes > 0 ? (uint64_t)1 << (8 * bytes - 1) : 0;
    value = (value ^ sign) - sign;
    struct pickle_value number = {.kind = PICKLE_NUMBER};
    memcpy(&number.number, &value, sizeof value);
    return push(r, number);
}

static rapt_status push_long(struct pickle_reading *r)
{
    uint64_t bytes = 0;
    rapt_status status = take_number(r, 1, &bytes);
    if (status == RAPT_OK && bytes > 8) return fail(r, "a number of more than 64 bits");
    return status == RAPT_OK ? push_number(r, (size_t)bytes, true) : status;
}

static rapt_status push_text(struct pickle_reading *r, size_t prefix)
{
    uint64_t size = 0;
    rapt_status status = take_number(r, prefix, &size);
    if (status != RAPT_OK) return status;
    if (size > r->size - r->at) return fail(r, "it ends within a text");
    const struct pickle_value text = {
        .kind = PICKLE_TEXT, .text = (const char *)r->bytes + r->at, .size = (size_t)size};
    r->at += (size_t)size;
    return push(r, text);
}

/* A line of a name, without its newline. */
static rapt_status take_line(struct pickle_reading *r, const char **line, size_t *size)
{
    *line = (const char *)r->bytes + r->at;
    const char *end = memchr(*line, '\n', r->size - r->at);
    if (!end) return fail(r, "it ends within a name");
    *size = (size_t)(end - *line);
    r->at += *size + 1;
    return RAPT_OK;
}

static bool same(const char *text, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(text, name, size) == 0;
}

/* A text for a message: what is not printed ASCII becomes '?'. */
static void show(char shown[64], const char *text, size_t size)
{
    size_t used = rapt__min_size(size, 63);
    for (size_t i = 0; i < used; i++) shown[i] = text[i] > 32 && text[i] < 127 ? text[i] : '?';
    shown[used] = 0;
}

static rapt_status push_global(struct pickle_reading *r)
{
    const char *module = "", *name = "";
    size_t module_size = 0, name_size = 0;
    rapt_status status = take_line(r, &module, &module_size);
    if (status == RAPT_OK) status = take_line(r, &name, &name_size);
    if (status != RAPT_OK) return status;
    for (size_t i = 0; i < GLOBALS; i++)
        if (same(module, module_size, globals[i].module) && same(name, name_size, globals[i].name))
            return push(r, (struct pickle_value){.kind = PICKLE_GLOBAL, .first = i});
    char of[64], what[64];
    show(of, module, module_size);
    show(what, name, name_size);
    return rapt__fail(r->p->why, RAPT_BAD_FILE,
                      "%s: pickle, byte %zu: the name %s.%s is of no state dict", r->p->label,
                      r->operation, of, what);
}

/* ---- what is remembered ---- */

static rapt_status remember(struct pickle_reading *r, size_t bytes)
{
    struct pickle *p = r->p;
    uint64_t index = 0;
    rapt_status status = take_number(r, bytes, &index);
    if (status != RAPT_OK) return status;
    if (p->stack.count == 0 || p->stack.values[p->stack.count - 1].kind == PICKLE_MARK)
        return fail(r, "a value is missing");
    if (index > p->memo.count) return fail(r, "an index of the memo that is left out");
    struct pickle_value value = p->stack.values[p->stack.count - 1];
    if (index == p->memo.count) return append(p, &p->memo, value);
    p->memo.values[index] = value;
    return RAPT_OK;
}

static rapt_status recall(struct pickle_reading *r, size_t bytes)
{
    uint64_t index = 0;
    rapt_status status = take_number(r, bytes, &index);
    if (status == RAPT_OK && index >= r->p->memo.count)
        return fail(r, "an index of the memo that is not there");
    return status == RAPT_OK ? push(r, r->p->memo.values[index]) : status;
}

/* ---- values of values ---- */

/* Values `first` of the stack and all behind it become a tuple. */
static rapt_status make_tuple(struct pickle_reading *r, size_t first, size_t below)
{
    struct pickle *p = r->p;
    struct pickle_value tuple = {.kind = PICKLE_TUPLE, .first = p->items.count};
    rapt_status status = RAPT_OK;
    for (size_t i = first; i < p->stack.count && status == RAPT_OK; i++) {
        if (p->stack.values[i].kind == PICKLE_MARK) return fail(r, "a value is missing");
        status = append(p, &p->items, p->stack.values[i]);
    }
    if (status != RAPT_OK) return status;
    tuple.size = p->items.count - tuple.first;
    p->stack.count = below;
    return push(r, tuple);
}

static rapt_status tuple_of(struct pickle_reading *r, size_t count)
{
    if (r->p->stack.count < count) return fail(r, "a value is missing");
    size_t first = r->p->stack.count - count;
    return make_tuple(r, first, first);
}

static rapt_status tuple_behind_mark(struct pickle_reading *r)
{
    size_t first = 0;
    rapt_status status = find_mark(r, &first);
    return status == RAPT_OK ? make_tuple(r, first, first - 1) : status;
}

static rapt_status push_dict(struct pickle_reading *r)
{
    return push(r, (struct pickle_value){.kind = PICKLE_DICT, .first = r->p->dicts++});
}

static rapt_status add_pair(struct pickle_reading *r, struct pickle_pair pair)
{
    struct pickle *p = r->p;
    if (p->pair_count == p->pair_capacity) {
        void *grown = rapt__grown(&p->allocator, p->pairs, &p->pair_capacity, sizeof pair);
        if (!grown)
            return rapt__fail(p->why, RAPT_NO_MEMORY, "%s: out of memory for its pickle", p->label);
        p->pairs = grown;
    }
    p->pairs[p->pair_count++] = pair;
    return RAPT_OK;
}

/* Keys and values from `first` of the stack on belong to the dictionary at `below` - 1. */
static rapt_status set_items(struct pickle_reading *r, size_t first, size_t below)
{
    struct pickle_values *stack = &r->p->stack;
    if (below == 0 || stack->values[below - 1].kind != PICKLE_DICT)
        return fail(r, "a dictionary is missing");
    if ((stack->count - first) % 2 != 0) return fail(r, "a key without a value");
    size_t dict = stack->values[below - 1].first;
    for (size_t i = first; i < stack->count; i++)
        if (stack->values[i].kind == PICKLE_MARK) return fail(r, "a value is missing");
    rapt_status status = RAPT_OK;
    for (size_t i = first; i < stack->count && status == RAPT_OK; i += 2)
        status = add_pair(r, (struct pickle_pair){dict, stack->values[i], stack->values[i + 1]});
    stack->count = below;
    return status;
}

static rapt_status set_behind_mark(struct pickle_reading *r)
{
    size_t first = 0;
    rapt_status status = find_mark(r, &first);
    return status == RAPT_OK ? set_items(r, first, first - 1) : status;
}

static rapt_status set_one(struct pickle_reading *r)
{
    size_t count = r->p->stack.count;
    return count < 3 ? fail(r, "a value is missing") : set_items(r, count - 2, count - 2);
}

/* The attributes of a dictionary, which say nothing about tensors. */
static rapt_status drop_state(struct pickle_reading *r)
{
    struct pickle_value state = {0}, dict = {0};
    rapt_status status = pop(r, PICKLE_DICT, &state);
    if (status == RAPT_OK) status = pop(r, PICKLE_DICT, &dict);
    return status == RAPT_OK ? push(r, dict) : status;
}

/* Whether the items of a tuple begin with values of these kinds. */
static bool holds(const struct pickle *p, const struct pickle_value *tuple,
                  const enum pickle_kind *kinds, size_t count)
{
    if (tuple->size < count) return false;
    for (size_t i = 0; i < count; i++)
        if (p->items.values[tuple->first + i].kind != kinds[i]) return false;
    return true;
}

/* A name applied to a tuple. */
static rapt_status apply(struct pickle_reading *r)
{
    static const enum pickle_kind kinds[] = {PICKLE_STORAGE, PICKLE_NUMBER, PICKLE_TUPLE,
                                             PICKLE_TUPLE, PICKLE_NUMBER};
    struct pickle_value arguments = {0}, global = {0};
    rapt_status status = pop(r, PICKLE_TUPLE, &arguments);
    if (status == RAPT_OK) status = pop(r, PICKLE_GLOBAL, &global);
    if (status != RAPT_OK) return status;
    if (global.first == GLOBAL_DICT && arguments.size == 0) return push_dict(r);
    if (global.first != GLOBAL_TENSOR || arguments.size < TENSOR_ARGUMENTS ||
        !holds(r->p, &arguments, kinds, sizeof kinds / sizeof *kinds))
        return fail(r, "a name applied to what it does not take");
    return push(r, (struct pickle_value){.kind = PICKLE_TENSOR, .first = arguments.first});
}

/* ('storage', type, key, device, elements) */
static rapt_status push_storage(struct pickle_reading *r)
{
    static const enum pickle_kind kinds[STORAGE_ARGUMENTS] = {
        PICKLE_TEXT, PICKLE_GLOBAL, PICKLE_TEXT, PICKLE_TEXT, PICKLE_NUMBER};
    struct pickle_value id = {0};
    rapt_status status = pop(r, PICKLE_TUPLE, &id);
    if (status != RAPT_OK) return status;
    if (id.size != STORAGE_ARGUMENTS || !holds(r->p, &id, kinds, STORAGE_ARGUMENTS))
        return fail(r, "a persistent object that is no storage");
    const struct pickle_value *items = r->p->items.values + id.first;
    if (!same(items[0].text, items[0].size, "storage") || !globals[items[1].first].dtype)
        return fail(r, "a persistent object that is no storage");
    struct pickle_value storage = items[2];
    storage.kind = PICKLE_STORAGE;
    storage.first = items[1].first;
    storage.number = items[4].number;
    return push(r, storage);
}

static rapt_status begin(struct pickle_reading *r)
{
    uint64_t protocol = 0;
    rapt_status status = take_number(r, 1, &protocol);
    if (status != RAPT_OK || (r->operation == 0 && protocol >= 2 && protocol <= 4)) return status;
    return fail(r, "a protocol other than 2 to 4");
}

static rapt_status end(struct pickle_reading *r)
{
    rapt_status status = pop(r, PICKLE_DICT, &r->p->result);
    if (status != RAPT_OK) return status;
    if (r->p->stack.count > 0 || r->at < r->size) return fail(r, "more than one object");
    r->ended = true;
    return RAPT_OK;
}

static rapt_status run_one(struct pickle_reading *r, unsigned operation)
{
    switch (operation) {
    case 0x80:
        return begin(r);
    case '.':
        return end(r);
    case '(':
        return push(r, (struct pickle_value){.kind = PICKLE_MARK});
    case 'N':
        return push(r, (struct pickle_value){.kind = PICKLE_NONE});
    case 0x88:
        return push(r, (struct pickle_value){.kind = PICKLE_NUMBER, .number = 1});
    case 0x89:
        return push(r, (struct pickle_value){.kind = PICKLE_NUMBER, .number = 0});
    case 'K':
        return push_number(r, 1, false);
    case 'M':
        return push_number(r, 2, false);
    case 'J':
        return push_number(r, 4, true);
    case 0x8A:
        return push_long(r);
    case 'X':
        return push_text(r, 4);
    case 0x8C:
        return push_text(r, 1);
    case 'c':
        return push_global(r);
    case 'q':
        return remember(r, 1);
    case 'r':
        return remember(r, 4);
    case 'h':
        return recall(r, 1);
    case 'j':
        return recall(r, 4);
    case ')':
        return tuple_of(r, 0);
    case 0x85:
        return tuple_of(r, 1);
    case 0x86:
        return tuple_of(r, 2);
    case 0x87:
        return tuple_of(r, 3);
    case 't':
        return tuple_behind_mark(r);
    case '}':
        return push_dict(r);
    case 's':
        return set_one(r);
    case 'u':
        return set_behind_mark(r);
    case 'b':
        return drop_state(r);
    case 'R':
        return apply(r);
    case 'Q':
        return push_storage(r);
    }
    return rapt__fail(r->p->why, RAPT_BAD_FILE,
                      "%s: pickle, byte %zu: operation 0x%02x is of no state dict", r->p->label,
                      r->operation, operation);
}

rapt_status rapt__pickle_run(struct pickle *pickle, const unsigned char *bytes, size_t size)
{
    struct pickle_reading r = {.p = pickle, .bytes = bytes, .size = size};
    rapt_status status = RAPT_OK;
    while (status == RAPT_OK && !r.ended) {
        r.operation = r.at;
        if (r.at == r.size) return fail(&r, "it does not end");
        status = run_one(&r, r.bytes[r.at++]);
    }
    return status;
}

static void free_values(const struct pickle *p, struct pickle_values *values)
{
    rapt__free(&p->allocator, values->values, values->capacity * sizeof *values->values);
    *values = (struct pickle_values){0};
}

void rapt__pickle_free(struct pickle *pickle)
{
    free_values(pickle, &pickle->stack);
    free_values(pickle, &pickle->memo);
    free_values(pickle, &pickle->items);
    rapt__free(&pickle->allocator, pickle->pairs, pickle->pair_capacity * sizeof *pickle->pairs);
    pickle->pairs = NULL;
    pickle->pair_count = pickle->pair_capacity = 0;
}
