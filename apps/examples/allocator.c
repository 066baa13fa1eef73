/* allocator.c - takes all memory from a block that belongs to the program, with an allocator that never calls
   malloc and never reuses memory. Prints whether a session takes as many bytes as rapt_session_bytes reports. */
#include <rapt/rapt.h>
#include <stdio.h>

static _Alignas(64) unsigned char block[16 << 20];

struct arena {
    size_t used, live;
};

static void *take(void *user, size_t bytes)
{
    struct arena *arena = user;
    size_t rounded = (bytes + 63) / 64 * 64;               /* the library needs 64-byte alignment */
    if (rounded > sizeof block - arena->used) return NULL; /* the call returns RAPT_NO_MEMORY */
    arena->used += rounded, arena->live += bytes;
    return block + (arena->used - rounded);
}

static void give(void *user, void *memory, size_t bytes)
{
    struct arena *arena = user;
    (void)memory;
    arena->live -= bytes;
}

int main(void)
{
    struct arena arena = {0, 0};
    const rapt_allocator allocator = {take, give, &arena};
    rapt_config config = {.size = sizeof config};
    rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 16, .target_length = 16, .threads = 1};
    rapt_model *model;
    rapt_session *session;
    rapt_message why;
    if (rapt_config_preset(&config, "tiny", 500, &why) || rapt_model_create(&model, &config, 1, &allocator, &why))
        return puts(why.text), 1;
    printf("model: %s\n",
           arena.live >= 4 * rapt_model_parameters(model) ? "all of it is in the block" : "too little");
    size_t before = arena.live, asked = rapt_session_bytes(model, &limits);
    if (rapt_session_create(&session, model, &limits, &allocator, &why)) return puts(why.text), 1;
    printf("session: its size is as reported: %s\n", arena.live - before == asked ? "yes" : "no");
    rapt_session_free(session), rapt_model_free(model);
    printf("left: %zu\n", arena.live);
    config.source_vocab = config.target_vocab = 100000; /* more than the block holds */
    puts(rapt_status_text(rapt_model_create(&model, &config, 1, &allocator, &why)));
    return 0;
}
