/* stream.c - a model file and a sentence go in; each piece of the translation comes out as soon as it is known,
   with its probability, by the callback of rapt_generate; it stops after ten pieces. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 256, PIECES = 10 };
static rapt_message why;

static void ok(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}

struct listener {
    const rapt_tokenizer *tokenizer;
    int pieces;
};

/* Not 0 ends the generation. The end token has no text. */
static int hear(void *user, int source, int32_t id, float log_probability)
{
    struct listener *listener = user;
    rapt_text piece = rapt_tokenizer_token(listener->tokenizer, id);
    (void)source, (void)log_probability; /* the probability is its exponential */
    printf("[%.*s]\n", (int)piece.size, piece.size ? piece.bytes : "");
    fflush(stdout);
    return ++listener->pieces == PIECES;
}

int main(int argc, char **argv)
{
    int32_t ids[MAX], out[MAX];
    int starts[2] = {0}, count;
    size_t tokens;
    rapt_translator *translator; /* holds the model and its tokenizers */
    rapt_session *session;
    rapt_generate_options options;
    rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = out, .counts = &count};
    rapt_limits limits = {.size = sizeof limits, .batch = 1, .source_tokens = MAX, .target_length = MAX};
    if (argc != 3) return fprintf(stderr, "usage: %s model.safetensors TEXT\n", argv[0]), 2;
    ok(rapt_translator_load(&translator, argv[1], NULL, NULL, &why));
    const rapt_tokenizer *source = rapt_translator_source(translator);
    struct listener listener = {rapt_translator_target(translator), 0};
    rapt_text text = {argv[2], strlen(argv[2])};
    ok(rapt_tokenizer_encode(source, text, ids, NULL, MAX - 1, &tokens, &why));
    ids[tokens] = rapt_tokenizer_special(source, RAPT_TOKEN_END); /* as in training */
    starts[1] = (int)tokens + 1;
    rapt_generate_options_default(&options, sizeof options, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    options.token = hear, options.user = &listener, options.max_length = 2 * starts[1] + 16;
    ok(rapt_session_create(&session, rapt_translator_model(translator), &limits, NULL, &why));
    ok(rapt_generate(session, &(rapt_tokens){1, ids, starts}, &options, &outputs, &why));
    rapt_session_free(session), rapt_translator_free(translator);
    return 0;
}
