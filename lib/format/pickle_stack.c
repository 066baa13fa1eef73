/* pickle_stack.c - the values of a pickle while it is executed: stack, memo, tuples, lists and
   dictionaries. */
#include "torch.h"

#include <string.h>

/* Maximum number of values in each array of a struct pickle; 4,000 tensors need fewer. */
enum { VALUES_MAX = 1 << 16 };

rapt_status rapt__pickle_fail(const struct pickle_reading *r, const char *what)
{
    return rapt__fail(r->p->why, RAPT_BAD_FILE, "%s: pickle, byte %zu: %s", r->p->label, r->opcode,
                      what);
}

static rapt_status too_many(const struct pickle *p)
{
    return rapt__fail(p->why, RAPT_BAD_FILE, "%s: the pickle has more than %d values", p->label,
                      (int)VALUES_MAX);
}

rapt_status rapt__pickle_append(struct pickle *p, struct pickle_values *to,
                                struct pickle_value value)
{
    if (to->count == VALUES_MAX) return too_many(p);
    if (to->count == to->capacity) {
        void *grown = rapt__grown(&p->allocator, to->values, &to->capacity, sizeof value);
        if (!grown)
            return rapt__fail(p->why, RAPT_NO_MEMORY, "%s: out of memory for the pickle", p->label);
        to->values = grown;
    }
    to->values[to->count++] = value;
    return RAPT_OK;
}

rapt_status rapt__pickle_push(struct pickle_reading *r, struct pickle_value value)
{
    return rapt__pickle_append(r->p, &r->p->stack, value);
}

rapt_status rapt__pickle_pop(struct pickle_reading *r, enum pickle_kind kind,
                             struct pickle_value *value)
{
    struct pickle_values *stack = &r->p->stack;
    if (stack->count == 0) return rapt__pickle_fail(r, "a value is missing");
    *value = stack->values[--stack->count];
    if (kind == PICKLE_MARK ? value->kind == PICKLE_MARK : value->kind != kind)
        return rapt__pickle_fail(r, "a value has the wrong type");
    return RAPT_OK;
}

/* Finds the index of the first value after the last mark. */
static rapt_status find_mark(const struct pickle_reading *r, size_t *first)
{
    const struct pickle_values *stack = &r->p->stack;
    for (size_t i = stack->count; i-- > 0;)
        if (stack->values[i].kind == PICKLE_MARK) {
            *first = i + 1;
            return RAPT_OK;
        }
    return rapt__pickle_fail(r, "a mark is missing");
}

/* ---- the memo ---- */

rapt_status rapt__pickle_store(struct pickle_reading *r, uint64_t index)
{
    struct pickle *p = r->p;
    if (p->stack.count == 0 || p->stack.values[p->stack.count - 1].kind == PICKLE_MARK)
        return rapt__pickle_fail(r, "a value is missing");
    if (index > p->memo.count) return rapt__pickle_fail(r, "an index of the memo was skipped");
    struct pickle_value value = p->stack.values[p->stack.count - 1];
    if (index == p->memo.count) return rapt__pickle_append(p, &p->memo, value);
    p->memo.values[index] = value;
    return RAPT_OK;
}

/* ---- tuples, lists and dictionaries ---- */

/* Replaces the values on the stack starting at index `below` with a tuple of the values starting at
   index `first`. */
static rapt_status make_tuple(struct pickle_reading *r, size_t first, size_t below)
{
    struct pickle *p = r->p;
    struct pickle_value tuple = {.kind = PICKLE_TUPLE, .first = (uint32_t)p->items.count};
    rapt_status status = RAPT_OK;
    for (size_t i = first; i < p->stack.count && status == RAPT_OK; i++) {
        if (p->stack.values[i].kind == PICKLE_MARK)
            return rapt__pickle_fail(r, "a value is missing");
        status = rapt__pickle_append(p, &p->items, p->stack.values[i]);
    }
    if (status != RAPT_OK) return status;
    tuple.size = (uint32_t)p->items.count - tuple.first;
    p->stack.count = below;
    return rapt__pickle_push(r, tuple);
}

rapt_status rapt__pickle_tuple(struct pickle_reading *r, size_t count)
{
    if (r->p->stack.count < count) return rapt__pickle_fail(r, "a value is missing");
    size_t first = r->p->stack.count - count;
    return make_tuple(r, first, first);
}

rapt_status rapt__pickle_tuple_mark(struct pickle_reading *r)
{
    size_t first = 0;
    rapt_status status = find_mark(r, &first);
    return status == RAPT_OK ? make_tuple(r, first, first - 1) : status;
}

/* Pushes an empty list or dictionary. */
rapt_status rapt__pickle_empty(struct pickle_reading *r, enum pickle_kind kind)
{
    return rapt__pickle_push(r, (struct pickle_value){.kind = kind, .first = r->p->containers++});
}

static rapt_status add_pair(struct pickle_reading *r, struct pickle_pair pair)
{
    struct pickle *p = r->p;
    if (p->pair_count == VALUES_MAX) return too_many(p);
    if (p->pair_count == p->pair_capacity) {
        void *grown = rapt__grown(&p->allocator, p->pairs, &p->pair_capacity, sizeof pair);
        if (!grown)
            return rapt__fail(p->why, RAPT_NO_MEMORY, "%s: out of memory for the pickle", p->label);
        p->pairs = grown;
    }
    p->pairs[p->pair_count++] = pair;
    return RAPT_OK;
}

/* Checks that the value at index below - 1 of the stack has the given kind, and that none of the
   values starting at index `first` is a mark. */
static rapt_status check_items(const struct pickle_reading *r, enum pickle_kind kind, size_t first,
                               size_t below)
{
    const struct pickle_values *stack = &r->p->stack;
    if (below == 0 || stack->values[below - 1].kind != kind)
        return rapt__pickle_fail(r, kind == PICKLE_DICT ? "a dictionary is missing"
                                                        : "a list is missing");
    for (size_t i = first; i < stack->count; i++)
        if (stack->values[i].kind == PICKLE_MARK) return rapt__pickle_fail(r, "a value is missing");
    return RAPT_OK;
}

/* Assigns the keys and values starting at index `first` to the dictionary at index below - 1, and
   removes them from the stack. */
static rapt_status set_items(struct pickle_reading *r, size_t first, size_t below)
{
    struct pickle_values *stack = &r->p->stack;
    rapt_status status = check_items(r, PICKLE_DICT, first, below);
    if (status != RAPT_OK) return status;
    if ((stack->count - first) % 2 != 0) return rapt__pickle_fail(r, "a key has no value");
    uint32_t of = stack->values[below - 1].first;
    for (size_t i = first; i < stack->count && status == RAPT_OK; i += 2)
        status = add_pair(r, (struct pickle_pair){of, stack->values[i], stack->values[i + 1]});
    stack->count = below;
    return status;
}

/* Appends the values starting at index `first` to the list at index below - 1, and removes them
   from the stack. */
static rapt_status append_items(struct pickle_reading *r, size_t first, size_t below)
{
    struct pickle_values *stack = &r->p->stack;
    rapt_status status = check_items(r, PICKLE_LIST, first, below);
    if (status != RAPT_OK) return status;
    struct pickle_pair pair = {.of = stack->values[below - 1].first};
    for (size_t i = first; i < stack->count && status == RAPT_OK; i++) {
        pair.value = stack->values[i];
        status = add_pair(r, pair);
    }
    stack->count = below;
    return status;
}

rapt_status rapt__pickle_set_mark(struct pickle_reading *r)
{
    size_t first = 0;
    rapt_status status = find_mark(r, &first);
    return status == RAPT_OK ? set_items(r, first, first - 1) : status;
}

rapt_status rapt__pickle_set(struct pickle_reading *r)
{
    size_t count = r->p->stack.count;
    return count < 3 ? rapt__pickle_fail(r, "a value is missing")
                     : set_items(r, count - 2, count - 2);
}

rapt_status rapt__pickle_add_mark(struct pickle_reading *r)
{
    size_t first = 0;
    rapt_status status = find_mark(r, &first);
    return status == RAPT_OK ? append_items(r, first, first - 1) : status;
}

rapt_status rapt__pickle_add(struct pickle_reading *r)
{
    size_t count = r->p->stack.count;
    return count < 2 ? rapt__pickle_fail(r, "a value is missing")
                     : append_items(r, count - 1, count - 1);
}

rapt_status rapt__pickle_drop_state(struct pickle_reading *r)
{
    struct pickle_value state = {0}, dict = {0};
    rapt_status status = rapt__pickle_pop(r, PICKLE_DICT, &state);
    if (status == RAPT_OK) status = rapt__pickle_pop(r, PICKLE_DICT, &dict);
    return status == RAPT_OK ? rapt__pickle_push(r, dict) : status;
}

/* ---- the result ---- */

bool rapt__pickle_same(const char *text, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(text, name, size) == 0;
}

const struct pickle_value *rapt__pickle_get(const struct pickle *pickle,
                                            const struct pickle_value *dict, const char *key)
{
    for (size_t i = pickle->pair_count; dict->kind == PICKLE_DICT && i-- > 0;) {
        const struct pickle_pair *pair = &pickle->pairs[i];
        if (pair->of == dict->first && pair->key.kind == PICKLE_TEXT &&
            rapt__pickle_same(pair->key.text, pair->key.size, key))
            return &pair->value;
    }
    return NULL;
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
    free_values(pickle, &pickle->storages);
    rapt__free(&pickle->allocator, pickle->pairs, pickle->pair_capacity * sizeof *pickle->pairs);
    pickle->pairs = NULL;
    pickle->pair_count = pickle->pair_capacity = 0;
}
