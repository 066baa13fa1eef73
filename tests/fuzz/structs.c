/* structs.c - structs that begin with their size, of any size and content. Reading and writing them
   is compared with the definition. Public calls that take such a struct must give a status and
   change nothing else. */
#include "base/base.h"
#include "fuzz.h"
#include <rapt/rapt.h>

enum { SPACE = 1024 };

union any { /* has room for every public struct, and for a longer one of a later version */
    size_t size;
    rapt_attention attention;
    rapt_config config;
    rapt_limits limits;
    rapt_train_options train_options;
    rapt_train_limits train_limits;
    rapt_generate_options generate_options;
    rapt_report report;
    unsigned char bytes[SPACE];
};

static bool is_zero(const unsigned char *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i]) return false;
    return true;
}

/* Checks reading into a struct of own_size bytes. */
static void check_read(const union any *given, size_t own_size)
{
    size_t size = given->size;
    unsigned char own[SPACE], old[SPACE];
    memset(own, 0xA7, sizeof own);
    memcpy(old, own, sizeof own);
    unsigned char *exact = malloc(size < SPACE && size > 8 ? size : SPACE);
    require(exact != NULL, "memory for the test itself");
    memcpy(exact, given, size < SPACE && size > 8 ? size : SPACE);
    bool good = size >= sizeof size && size <= 65536 &&
                (size <= own_size || is_zero(given->bytes, own_size, size < SPACE ? size : SPACE));
    rapt_status status = size <= SPACE || size > 65536
                             ? rapt__struct_read(own, own_size, exact, "s", NULL)
                             : RAPT_BAD_ARGUMENT;
    if (size > SPACE) good = false;
    require((status == RAPT_OK) == good, "which sizes are read");
    size_t known = size < own_size ? size : own_size;
    if (good) {
        require(memcmp(own, &own_size, sizeof own_size) == 0, "its own size");
        require(memcmp(own + 8, given->bytes + 8, known - 8) == 0, "what is known");
        require(is_zero(own, known, own_size), "zero for what is not given");
    }
    require(memcmp(own + (good ? own_size : 0), old, SPACE - (good ? own_size : 0)) == 0,
            "nothing else");
    free(exact);
}

static void check_write(const union any *given, size_t own_size)
{
    size_t size = given->size;
    unsigned char own[SPACE];
    if (size > SPACE) return;
    memset(own, 0x35, sizeof own);
    unsigned char *exact = exact_copy(given, size < 8 ? 8 : size);
    bool good = size >= sizeof size;
    rapt_status status = rapt__struct_write(exact, own, own_size, "s", NULL);
    require((status == RAPT_OK) == good, "which sizes are written");
    size_t known = size < own_size ? size : own_size;
    require(memcmp(exact, given, 8) == 0, "the size stays");
    if (good) require(memcmp(exact + 8, own + 8, known - 8) == 0, "what is known is written");
    if (good && size > known) require(is_zero(exact, known, size), "zero for what is not known");
    if (!good) require(memcmp(exact, given, 8) == 0, "no change");
    free(exact);
}

/* Checks a problem of attention. Its pointers are invalid, so they are not passed.
   tests/project/tables.py checks that this file names every pointer of the structs that it passes.
 */
static void check_attention(const union any *given)
{
    rapt_attention a = given->attention;
    rapt_message why = {""};
    if (a.size > sizeof a) a.size = sizeof a;
    a.query_starts = a.key_starts = a.mask.key_counts = NULL;
    a.mask.allowed = NULL, a.mask.bias = NULL;
    a.relative.slopes = a.relative.table = a.previous_weights = NULL, a.expected = NULL;
    a.log_forget = a.talking_scores = a.talking_weights = NULL;
    a.sparse.globals = NULL, a.sparse.blocks = NULL;
    a.distances.keys = a.distances.queries = a.distances.values = NULL;
    a.distances.content_bias = a.distances.position_bias = NULL, a.distances.buckets = NULL;
    memset(a.parameters.array, 0, sizeof a.parameters.array);
    rapt_status status = rapt_attention_check(&a, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    size_t bytes = rapt_attention_workspace(&a);
    require(status == RAPT_OK || bytes == 0, "no workspace for a wrong problem");
}

static void check_config(const union any *given)
{
    struct counted counted = {.fail_at =
                                  0}; /* the first allocation fails, so no model is created */
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_message why = {""};
    rapt_model *model = NULL;
    rapt_status status = rapt_config_check(&given->config, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    rapt_status made = rapt_model_create(&model, &given->config, 1, &allocator, NULL);
    require(made != RAPT_OK && !model, "no memory");
    if (status) require(made == RAPT_BAD_ARGUMENT && counted.calls == 0, "refused at once");
}

static rapt_model *small_model(void)
{
    static rapt_model *model;
    const rapt_config config = {.size = sizeof config,
                                .source_vocab = 9,
                                .target_vocab = 7,
                                .positions = 9,
                                .width = 4,
                                .heads = 2,
                                .encoder_layers = 1,
                                .decoder_layers = 1};
    if (!model) require(rapt_model_create(&model, &config, 1, NULL, NULL) == RAPT_OK, "a model");
    return model;
}

/* A call with bad arguments must not allocate. It may allocate only if its size could be computed,
   or must report a lack of memory. */
static void check_limits(const union any *given)
{
    struct counted counted = {.fail_at = 0};
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_session *session = NULL;
    size_t bytes = rapt_session_bytes(small_model(), &given->limits);
    rapt_status status =
        rapt_session_create(&session, small_model(), &given->limits, &allocator, NULL);
    require(!session && status != RAPT_OK, "no memory");
    require((status == RAPT_BAD_ARGUMENT) <= (counted.calls == 0), "refused at once");
    require(bytes || counted.calls == 0 || status == RAPT_NO_MEMORY, "bytes, or a refusal");
}

/* The pointer to the tunings is invalid. If it is not NULL, the bytes after the options are the
   tunings. */
static void check_trainer(const union any *given, const union any *limits)
{
    union any options = *given;
    require(rapt_model_tensors(small_model()) <= SPACE - (int)sizeof options.train_options, "room");
    if (options.train_options.tuning)
        options.train_options.tuning = given->bytes + sizeof options.train_options;
    struct counted counted = {.fail_at = 0};
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_trainer_create(&trainer, small_model(), &options.train_options,
                                             &limits->train_limits, &allocator, &why);
    require(!trainer && status != RAPT_OK && why.text[0], "no memory");
    require((status == RAPT_BAD_ARGUMENT) <= (counted.calls == 0), "refused at once");
}

static void take_struct(struct feed *in, union any *to)
{
    static const size_t sizes[] = {sizeof(rapt_attention),       sizeof(rapt_config),
                                   sizeof(rapt_limits),          sizeof(rapt_train_options),
                                   sizeof(rapt_train_limits),    sizeof(rapt_report),
                                   sizeof(rapt_generate_options)};
    memset(to, 0, sizeof *to);
    uint8_t kind = take_byte(in), span = take_byte(in);
    size_t from = (size_t)take_byte(in) * 4 % (SPACE - 8);
    for (size_t i = 8; i < 8 + (size_t)span && in->left && from + i < SPACE; i++)
        to->bytes[from + i] = take_byte(in);
    to->size = kind < 140   ? sizes[kind % 7]
               : kind < 200 ? take_byte(in)
               : kind < 240 ? take_u32(in) % SPACE
                            : (size_t)take_u64(in);
    if (to->size > SPACE && to->size <= 65536) to->size %= SPACE; /* the memory must exist */
}

int fuzz_structs(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    union any a, b;
    if (size > 1 << 11) return 0;
    size_t own_size = 8 + take_u32(&in) % (SPACE - 8);
    take_struct(&in, &a);
    take_struct(&in, &b);
    check_read(&a, own_size);
    check_write(&a, own_size);
    check_attention(&a);
    check_config(&a);
    check_limits(&a);
    check_trainer(&a, &b);
    return 0;
}
