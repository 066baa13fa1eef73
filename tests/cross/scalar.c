/* scalar.c - for a library without vector instructions for this processor: by default a trainer
   measures which implementation computes its products faster, and OpenBLAS, if installed, must win
   for the large ones. */
#include <rapt/rapt.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    rapt_config config = {.size = sizeof config,
                          .kind = RAPT_KIND_ENCODER_ONLY,
                          .source_vocab = 100,
                          .target_vocab = 100,
                          .positions = 64,
                          .width = 256,
                          .heads = 4,
                          .ffn_width = 1024,
                          .encoder_layers = 1};
    rapt_train_limits limits = {.size = sizeof limits, .batch = 8, .source_tokens = 512};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    int ends = 1;
    if (rapt_isa_used() != RAPT_ISA_SCALAR || options.products != RAPT_PRODUCTS_AUTO) {
        printf("%s, products %d: not the default\n", rapt_isa_name(rapt_isa_used()),
               (int)options.products);
    } else if (rapt_model_create(&model, &config, 1, NULL, &why) ||
               rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why)) {
        puts(why.text);
    } else {
        puts(rapt_trainer_products(trainer));
        ends = 0;
    }
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return ends;
}
