/* text.c - makes a translator from sentence pairs: learns a vocabulary, trains a model on tokens, saves both in
   text.safetensors, and opens that file to translate a sentence. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 4, PAIRS = N * (N - 1), LENGTH = 32, BYTES = 40, STEPS = 300 };
static const char *const words[2][2 * N] = {
    {"the cat", "the dog", "the horse", "the bear", "sleeps", "eats", "runs", "is old"},
    {"die Katze", "der Hund", "das Pferd", "der Bär", "schläft", "frisst", "rennt", "ist alt"}};
static rapt_message why;
static void must(rapt_status status)
{
    if (status) fprintf(stderr, "%s\n", why.text), exit(1);
}
int main(void)
{
    rapt_tokenizer *tokenizer;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_translator *translator;
    size_t size, count;
    char bytes[2 * PAIRS][BYTES], out[200], vocabulary[10000];
    rapt_text texts[2 * PAIRS]; /* all sources, then all targets; one verb per noun is left out */
    for (int i = 0; i < 2 * PAIRS; i++) {
        int side = i / PAIRS, noun = i % PAIRS / (N - 1), verb = (noun + 1 + i % (N - 1)) % N;
        snprintf(bytes[i], BYTES, "%s %s", words[side][noun], words[side][N + verb]);
        texts[i] = (rapt_text){bytes[i], strlen(bytes[i])};
    }
    must(rapt_tokenizer_learn(&tokenizer, texts, 2 * PAIRS, 300, NULL, &why));
    int32_t ids[2][PAIRS * LENGTH], end = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_END);
    int starts[2][PAIRS + 1] = {{0}};
    for (int i = 0; i < 2 * PAIRS; i++) {
        int side = i / PAIRS, *at = starts[side] + i % PAIRS;
        must(rapt_tokenizer_encode(tokenizer, texts[i], ids[side] + *at, NULL, LENGTH - 1, &count, &why));
        if (side == 0) ids[side][*at + (int)count++] = end; /* the trainer adds `end` only to targets */
        at[1] = *at + (int)count;
    }
    rapt_config config = {.size = sizeof config};
    must(rapt_config_preset(&config, "tiny", rapt_tokenizer_vocab(tokenizer), &why));
    config.encoder_layers = config.decoder_layers = 1;
    must(rapt_model_create(&model, &config, 1, NULL, &why));
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    options.rate = 0.002F, options.warmup = 20, options.frame = 1;
    options.begin = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_BEGIN), options.end = end;
    rapt_train_limits limits = {.size = sizeof limits, .batch = PAIRS};
    limits.source_tokens = limits.target_tokens = PAIRS * LENGTH;
    must(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why));
    const rapt_tokens source = {PAIRS, ids[0], starts[0], NULL}, target = {PAIRS, ids[1], starts[1], NULL};
    for (int step = 0; step < STEPS; step++)
        must(rapt_train_gradient(trainer, &source, &target, NULL, &why) || rapt_train_step(trainer, NULL, &why));
    must(rapt_tokenizer_write(tokenizer, vocabulary, sizeof vocabulary, &size, &why)); /* as text */
    must(rapt_model_save(model, "text.safetensors", &(rapt_metadata){"rapt.tokenizer", vocabulary}, 1, &why));
    must(rapt_translator_load(&translator, "text.safetensors", NULL, NULL, &why));
    must(rapt_translate(translator, "the horse runs", out, sizeof out, NULL, &why));
    printf("the horse runs: %s\n", out);
    rapt_translator_free(translator), rapt_trainer_free(trainer), rapt_model_free(model);
    rapt_tokenizer_free(tokenizer);
}
