/* pickle.c - executes the opcodes of a pickle on a stack of values. The result is the object that
   the opcodes build, such as a state dict. Nothing is imported or called: a global is only an index
   into a table of known names, and only globals that rebuild tensors, parameters and ordered
   dictionaries may be applied.

   Source: pickletools.py of CPython 3.11 (opcodes), torch/serialization.py and torch/_utils.py of
   PyTorch 1.13 and 2.1 (the contents of a state dict). */
#include "torch.h"

#include <string.h>

enum {
    TENSOR_ARGUMENTS = 6,    /* may be followed by metadata, which later versions of PyTorch add */
    PARAMETER_ARGUMENTS = 3, /* _rebuild_parameter_with_state adds a state */
    STORAGE_ARGUMENTS = 5,   /* PyTorch before 1.6 adds a view */
    KEY_MAX = 128 /* maximum length of a storage's key, to bound the cost of comparing keys;
                     torch.save uses short numbers */
};

/* The globals that a pickle may use. `dtype` is the element type if the global is the type of a
   storage, and otherwise NULL. */
static const struct {
    const char *module, *name, *dtype;
} globals[] = {
    {"collections", "OrderedDict", NULL},
    {"torch._utils", "_rebuild_tensor_v2", NULL},
    {"torch._utils", "_rebuild_parameter", NULL},
    {"torch._utils", "_rebuild_parameter_with_state", NULL},
    {"torch", "FloatStorage", "F32"},
    {"torch", "HalfStorage", "F16"},
    {"torch", "BFloat16Storage", "BF16"},
    {"torch", "DoubleStorage", "F64"},
    {"torch", "CharStorage", "I8"},
    {"torch", "ByteStorage", "U8"},
    {"torch", "ShortStorage", "I16"},
    {"torch", "IntStorage", "I32"},
    {"torch", "LongStorage", "I64"},
    {"torch", "BoolStorage", "BOOL"},
};
enum {
    GLOBAL_DICT,
    GLOBAL_TENSOR,
    GLOBAL_PARAMETER,
    GLOBAL_PARAMETER_STATE,
    GLOBALS = sizeof globals / sizeof *globals
};

const char *rapt__pickle_dtype(size_t global)
{
    return globals[global].dtype;
}

/* ---- arguments of an opcode ---- */

static rapt_status take_number(struct pickle_reading *r, size_t bytes, uint64_t *value)
{
    if (r->size - r->at < bytes) return rapt__pickle_fail(r, "it ends within a number");
    *value = 0;
    for (size_t i = 0; i < bytes; i++) *value |= (uint64_t)r->bytes[r->at++] << 8 * i;
    return RAPT_OK;
}

/* Pushes an integer of `bytes` bytes, in two's complement if has_sign is true. */
static rapt_status push_number(struct pickle_reading *r, size_t bytes, bool has_sign)
{
    uint64_t value = 0;
    rapt_status status = take_number(r, bytes, &value);
    if (status != RAPT_OK) return status;
    uint64_t sign = has_sign && bytes > 0 ? (uint64_t)1 << (8 * bytes - 1) : 0;
    value = (value ^ sign) - sign;
    struct pickle_value number = {.kind = PICKLE_NUMBER};
    memcpy(&number.number, &value, sizeof value);
    return rapt__pickle_push(r, number);
}

/* Pushes a value that is stored as its size (an integer of `prefix` bytes) followed by its
   bytes. */
static rapt_status push_text(struct pickle_reading *r, size_t prefix, enum pickle_kind kind)
{
    uint64_t size = 0;
    rapt_status status = take_number(r, prefix, &size);
    if (status != RAPT_OK) return status;
    if (size > r->size - r->at)
        return rapt__pickle_fail(r, kind == PICKLE_TEXT ? "it ends within a string"
                                                        : "it ends within a number");
    const struct pickle_value text = {
        .kind = kind, .text = (const char *)r->bytes + r->at, .size = (uint32_t)size};
    r->at += (size_t)size;
    return rapt__pickle_push(r, text);
}

/* Pushes an integer that is stored as its size (in one byte) followed by its bytes. */
static rapt_status push_long(struct pickle_reading *r)
{
    uint64_t bytes = 0;
    rapt_status status = take_number(r, 1, &bytes);
    if (status != RAPT_OK) return status;
    if (bytes <= 8) return push_number(r, (size_t)bytes, true);
    r->at--;
    return push_text(r, 1, PICKLE_LONG);
}

/* Pushes a float and discards its value. */
static rapt_status push_float(struct pickle_reading *r)
{
    uint64_t bits = 0;
    rapt_status status = take_number(r, 8, &bits);
    return status == RAPT_OK ? rapt__pickle_push(r, (struct pickle_value){.kind = PICKLE_FLOAT})
                             : status;
}

/* Checks the size of a frame, which only tells a reader how much to buffer. */
static rapt_status take_frame(struct pickle_reading *r)
{
    uint64_t size = 0;
    rapt_status status = take_number(r, 8, &size);
    if (status != RAPT_OK) return status;
    return size > r->size - r->at ? rapt__pickle_fail(r, "it ends within a frame") : RAPT_OK;
}

/* Reads a name that ends with a line feed, which is not part of the name. */
static rapt_status take_line(struct pickle_reading *r, struct pickle_value *line)
{
    line->text = (const char *)r->bytes + r->at;
    const char *end = memchr(line->text, '\n', r->size - r->at);
    if (!end) return rapt__pickle_fail(r, "it ends within a name");
    line->size = (uint32_t)(end - line->text);
    r->at += (size_t)line->size + 1;
    return RAPT_OK;
}

/* Copies up to 63 bytes of a string for a message. Bytes that are not visible ASCII characters are
   replaced with '?'. */
static void show_text(char shown[64], const char *text, size_t size)
{
    size_t used = rapt__min_size(size, 63);
    for (size_t i = 0; i < used; i++) shown[i] = text[i] > 32 && text[i] < 127 ? text[i] : '?';
    shown[used] = 0;
}

static rapt_status push_known(struct pickle_reading *r, const struct pickle_value *module,
                              const struct pickle_value *name)
{
    for (size_t i = 0; i < GLOBALS; i++)
        if (rapt__pickle_same(module->text, module->size, globals[i].module) &&
            rapt__pickle_same(name->text, name->size, globals[i].name))
            return rapt__pickle_push(
                r, (struct pickle_value){.kind = PICKLE_GLOBAL, .first = (uint32_t)i});
    char of[64], what[64];
    show_text(of, module->text, module->size);
    show_text(what, name->text, name->size);
    return rapt__fail(r->p->why, RAPT_BAD_FILE,
                      "%s: pickle, byte %zu: the name %s.%s is not allowed in a state dict",
                      r->p->label, r->opcode, of, what);
}

/* Pushes a global named by two lines: its module, and its name in the module. */
static rapt_status push_global(struct pickle_reading *r)
{
    struct pickle_value module = {0}, name = {0};
    rapt_status status = take_line(r, &module);
    if (status == RAPT_OK) status = take_line(r, &name);
    return status == RAPT_OK ? push_known(r, &module, &name) : status;
}

/* Pushes a global named by two strings on the stack. */
static rapt_status push_stack_global(struct pickle_reading *r)
{
    struct pickle_value module = {0}, name = {0};
    rapt_status status = rapt__pickle_pop(r, PICKLE_TEXT, &name);
    if (status == RAPT_OK) status = rapt__pickle_pop(r, PICKLE_TEXT, &module);
    return status == RAPT_OK ? push_known(r, &module, &name) : status;
}

/* ---- the memo ---- */

static rapt_status remember(struct pickle_reading *r, size_t bytes)
{
    uint64_t index = 0;
    rapt_status status = take_number(r, bytes, &index);
    return status == RAPT_OK ? rapt__pickle_store(r, index) : status;
}

static rapt_status recall(struct pickle_reading *r, size_t bytes)
{
    uint64_t index = 0;
    rapt_status status = take_number(r, bytes, &index);
    if (status == RAPT_OK && index >= r->p->memo.count)
        return rapt__pickle_fail(r, "the memo does not have this index");
    return status == RAPT_OK ? rapt__pickle_push(r, r->p->memo.values[index]) : status;
}

/* Returns whether the items of a tuple begin with values of these kinds. */
static bool holds(const struct pickle *p, const struct pickle_value *tuple,
                  const enum pickle_kind *kinds, size_t count)
{
    if (tuple->size < count) return false;
    for (size_t i = 0; i < count; i++)
        if (p->items.values[tuple->first + i].kind != kinds[i]) return false;
    return true;
}

/* Pushes a tensor. The arguments are (storage, offset, shape, strides, requires_grad, hooks),
   optionally followed by metadata. */
static rapt_status rebuild_tensor(struct pickle_reading *r, const struct pickle_value *arguments)
{
    static const enum pickle_kind kinds[] = {PICKLE_STORAGE, PICKLE_NUMBER, PICKLE_TUPLE,
                                             PICKLE_TUPLE, PICKLE_NUMBER};
    if (arguments->size < TENSOR_ARGUMENTS ||
        !holds(r->p, arguments, kinds, sizeof kinds / sizeof *kinds))
        return rapt__pickle_fail(r, "the arguments of _rebuild_tensor_v2 do not describe a tensor");
    return rapt__pickle_push(
        r, (struct pickle_value){.kind = PICKLE_TENSOR, .first = arguments->first});
}

/* Pushes the tensor of a parameter. The `count` arguments are (tensor, requires_grad, hooks) and,
   if there are four, a state. */
static rapt_status rebuild_parameter(struct pickle_reading *r, const struct pickle_value *arguments,
                                     size_t count)
{
    static const enum pickle_kind kinds[PARAMETER_ARGUMENTS] = {PICKLE_TENSOR, PICKLE_NUMBER,
                                                                PICKLE_DICT};
    if (arguments->size != count || !holds(r->p, arguments, kinds, PARAMETER_ARGUMENTS))
        return rapt__pickle_fail(r,
                                 "the arguments of _rebuild_parameter do not describe a parameter");
    return rapt__pickle_push(r, r->p->items.values[arguments->first]);
}

/* Applies a global to a tuple of arguments and pushes the result. */
static rapt_status apply(struct pickle_reading *r)
{
    struct pickle_value arguments = {0}, global = {0};
    rapt_status status = rapt__pickle_pop(r, PICKLE_TUPLE, &arguments);
    if (status == RAPT_OK) status = rapt__pickle_pop(r, PICKLE_GLOBAL, &global);
    if (status != RAPT_OK) return status;
    switch (global.first) {
    case GLOBAL_DICT:
        return arguments.size == 0 ? rapt__pickle_empty(r, PICKLE_DICT)
                                   : rapt__pickle_fail(r, "OrderedDict has arguments");
    case GLOBAL_TENSOR:
        return rebuild_tensor(r, &arguments);
    case GLOBAL_PARAMETER:
        return rebuild_parameter(r, &arguments, PARAMETER_ARGUMENTS);
    case GLOBAL_PARAMETER_STATE:
        return rebuild_parameter(r, &arguments, PARAMETER_ARGUMENTS + 1);
    }
    return rapt__pickle_fail(r, "a storage type is called as a function");
}

/* Replaces a persistent id with the storage that it describes. The id is ('storage', type, key,
   device, number of elements), optionally followed by a view, which must be None. */
static rapt_status push_storage(struct pickle_reading *r)
{
    static const enum pickle_kind kinds[] = {PICKLE_TEXT, PICKLE_GLOBAL, PICKLE_TEXT,
                                             PICKLE_TEXT, PICKLE_NUMBER, PICKLE_NONE};
    struct pickle_value id = {0};
    rapt_status status = rapt__pickle_pop(r, PICKLE_TUPLE, &id);
    if (status != RAPT_OK) return status;
    if (id.size < STORAGE_ARGUMENTS || id.size > STORAGE_ARGUMENTS + 1 ||
        !holds(r->p, &id, kinds, id.size))
        return rapt__pickle_fail(r, "a persistent id does not describe a storage");
    const struct pickle_value *items = r->p->items.values + id.first;
    if (!rapt__pickle_same(items[0].text, items[0].size, "storage") ||
        !globals[items[1].first].dtype)
        return rapt__pickle_fail(r, "a persistent id does not describe a storage");
    if (items[2].size > KEY_MAX) return rapt__pickle_fail(r, "the key of a storage is too long");
    struct pickle_value storage = items[2];
    storage.kind = PICKLE_STORAGE;
    storage.first = items[1].first;
    storage.number = items[4].number;
    status = rapt__pickle_append(r->p, &r->p->storages, storage);
    return status == RAPT_OK ? rapt__pickle_push(r, storage) : status;
}

static rapt_status begin(struct pickle_reading *r)
{
    uint64_t protocol = 0;
    rapt_status status = take_number(r, 1, &protocol);
    if (status != RAPT_OK || (r->opcode == r->start && protocol >= 2 && protocol <= 5))
        return status;
    return rapt__pickle_fail(r, r->opcode == r->start ? "the protocol is not between 2 and 5"
                                                      : "the protocol is given twice or too late");
}

static rapt_status end(struct pickle_reading *r)
{
    rapt_status status = rapt__pickle_pop(r, PICKLE_MARK, &r->p->result);
    if (status != RAPT_OK) return status;
    if (r->p->stack.count > 0) return rapt__pickle_fail(r, "it contains more than one object");
    r->ended = true;
    return RAPT_OK;
}

/* ---- opcodes ---- */

/* Executes an opcode that pushes a value and does not read the stack. */
static rapt_status run_push(struct pickle_reading *r, unsigned opcode)
{
    switch (opcode) {
    case '(':
        return rapt__pickle_push(r, (struct pickle_value){.kind = PICKLE_MARK});
    case 'N':
        return rapt__pickle_push(r, (struct pickle_value){.kind = PICKLE_NONE});
    case 0x88:
        return rapt__pickle_push(r, (struct pickle_value){.kind = PICKLE_NUMBER, .number = 1});
    case 0x89:
        return rapt__pickle_push(r, (struct pickle_value){.kind = PICKLE_NUMBER, .number = 0});
    case 'K':
        return push_number(r, 1, false);
    case 'M':
        return push_number(r, 2, false);
    case 'J':
        return push_number(r, 4, true);
    case 0x8A:
        return push_long(r);
    case 'G':
        return push_float(r);
    case 0x8C:
        return push_text(r, 1, PICKLE_TEXT);
    case 'X':
        return push_text(r, 4, PICKLE_TEXT);
    case 0x8D:
        return push_text(r, 8, PICKLE_TEXT);
    case 'c':
        return push_global(r);
    case ')':
        return rapt__pickle_tuple(r, 0);
    case ']':
        return rapt__pickle_empty(r, PICKLE_LIST);
    case '}':
        return rapt__pickle_empty(r, PICKLE_DICT);
    }
    return rapt__fail(r->p->why, RAPT_BAD_FILE,
                      "%s: pickle, byte %zu: opcode 0x%02x is not allowed in a state dict",
                      r->p->label, r->opcode, opcode);
}

static rapt_status run_one(struct pickle_reading *r, unsigned opcode)
{
    switch (opcode) {
    case 0x80:
        return begin(r);
    case 0x95:
        return take_frame(r);
    case '.':
        return end(r);
    case 0x93:
        return push_stack_global(r);
    case 'q':
        return remember(r, 1);
    case 'r':
        return remember(r, 4);
    case 0x94:
        return rapt__pickle_store(r, r->p->memo.count);
    case 'h':
        return recall(r, 1);
    case 'j':
        return recall(r, 4);
    case 0x85:
        return rapt__pickle_tuple(r, 1);
    case 0x86:
        return rapt__pickle_tuple(r, 2);
    case 0x87:
        return rapt__pickle_tuple(r, 3);
    case 't':
        return rapt__pickle_tuple_mark(r);
    case 'a':
        return rapt__pickle_add(r);
    case 'e':
        return rapt__pickle_add_mark(r);
    case 's':
        return rapt__pickle_set(r);
    case 'u':
        return rapt__pickle_set_mark(r);
    case 'b':
        return rapt__pickle_drop_state(r);
    case 'R':
        return apply(r);
    case 'Q':
        return push_storage(r);
    }
    return run_push(r, opcode);
}

rapt_status rapt__pickle_run(struct pickle *pickle, const unsigned char *bytes, size_t size)
{
    struct pickle_reading r = {
        .p = pickle, .bytes = bytes, .size = size, .at = pickle->at, .start = pickle->at};
    rapt_status status = RAPT_OK;
    pickle->stack.count = pickle->memo.count = 0;
    while (status == RAPT_OK && !r.ended) {
        r.opcode = r.at;
        if (r.at == r.size) return rapt__pickle_fail(&r, "it ends without a STOP opcode");
        status = run_one(&r, r.bytes[r.at++]);
    }
    pickle->at = r.at;
    return status;
}
