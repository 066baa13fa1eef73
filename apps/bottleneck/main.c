/* main.c - bottleneck: translation quality by sentence length, with a fixed context vector, with
   attention and with a Transformer; options and output. */
#include "bottleneck.h"
#include <stdlib.h>
#include <string.h>

const char program_name[] = "bottleneck";

static const char purpose[] =
    "Trains three models on the same synthetic English-French sentence pairs of limited "
    "length and translates longer sentences: a recurrent encoder-decoder with one fixed context "
    "vector, one with attention, and an attention-only Transformer. Prints BLEU "
    "by sentence length (Bahdanau, Cho and Bengio 2015, figure 2) and the attention weights "
    "of a negation and of an inversion. The claim is made for GRUs and additive attention.";

/* The models as the options describe them; widths are those of about 65,000 parameters. */
struct request {
    struct training training;
    struct recurrent_config fixed, attending;
    struct transformer_config transformer;
};

static int run(const struct request *request, const struct demo_options *options)
{
    /* "the cat does not see the queen", "the black cow picks the gray wolf up" */
    static const struct clause negation = {0, 0, -1, 0, true, 10, -1};
    static const struct clause inversion = {0, 13, 0, 9, false, 3, 3};
    const struct training *training = &request->training;
    struct translator translators[KINDS] = {
        {.name = "fixed vector",
         .training = training,
         .recurrent = recurrent_create(&request->fixed, training->language)},
        {.name = "attention",
         .training = training,
         .recurrent = recurrent_create(&request->attending, training->language)},
        {.name = "attention only",
         .training = training,
         .transformer = transformer_create(&request->transformer, training->language)}};
    struct report report = {.training = training};
    double start = now();
    run_threads(translator_train, translators, KINDS, sizeof *translators,
                threads_used(options->threads));
    for (int k = 0; k < KINDS; k++) curve_measure(&report.curves[k], &translators[k]);
    example_make(&report.examples[0], "Negation", &negation, &translators[WITH_ATTENTION]);
    example_make(&report.examples[1], "Inversion", &inversion, &translators[WITH_ATTENTION]);
    report.seconds = now() - start;
    if (options->json)
        report_json(&report);
    else
        report_print(&report);
    int code = options->svg != NULL ? report_svg(&report, options->svg) : EXIT_OK;
    for (int k = 0; k < KINDS; k++) translator_free(&translators[k]);
    for (int i = 0; i < EXAMPLES; i++) example_free(&report.examples[i]);
    return code == EXIT_OK ? finish_output() : code;
}

/* ---- the choices of a model: values of enumerations, by name ---- */
static const char *cell_name(int i)
{
    return i < CELLS ? cell_names[i] : NULL;
}

static const char *pass_name(int i)
{
    return i < PASSES ? pass_names[i] : NULL;
}

static const char *encoder_name(int i)
{
    return i < ENCODERS ? encoder_names[i] : NULL;
}

static const char *reads_name(int i)
{
    return i < READINGS ? reads_names[i] : NULL;
}

static const char *query_name(int i)
{
    return i < QUERIES ? query_names[i] : NULL;
}

static const char *score_name(int i)
{
    return rapt_score_name((rapt_score)i);
}

static const char *normalizer_name(int i)
{
    return rapt_normalizer_name((rapt_normalizer)i);
}

static const char *locality_name(int i)
{
    return rapt_locality_name((rapt_locality)i);
}

enum { CELL, PASS, ENCODER, READS, QUERY, SCORE, NORMALIZER, LOCALITY, CHOICES };
static const struct choice {
    const char *name, *help;
    const char *(*value)(int i);
    int first; /* default */
} choices[CHOICES] = {
    {"cell", "of both recurrent models", cell_name, CELL_GRU},
    {"pass", "how the fixed vector reaches the decoder", pass_name, PASS_EACH},
    {"encoder", "of both; none: of the one with attention", encoder_name, ENCODER_ONCE},
    {"reads", "what a step of the encoder goes on from; past: its states so far, by attention",
     reads_name, READS_STATE},
    {"query", "which state attends", query_name, QUERY_BEFORE},
    {"score", "of attention", score_name, RAPT_SCORE_ADDITIVE},
    {"normalizer", "of attention", normalizer_name, RAPT_NORMALIZER_SOFTMAX},
    {"locality", "of attention", locality_name, RAPT_LOCALITY_GLOBAL},
};

/* "a|b|c"; the caller frees. */
static char *join(const struct choice *choice)
{
    char *names = xasprintf("%s", choice->value(0));
    for (int i = 1; choice->value(i); i++) {
        char *longer = xasprintf("%s|%s", names, choice->value(i));
        free(names);
        names = longer;
    }
    return names;
}

static int value_of(const struct choice *choice, const char *name)
{
    int i = 0;
    while (choice->value(i) && strcmp(choice->value(i), name) != 0) i++;
    return i;
}

/* Widths that suit the choices: an encoding that is compared with a state, or becomes one, is as
   wide as it. Returns GO_ON or an exit code. */
static int fit(struct recurrent_config *config)
{
    if (recurrent_refusal(config) == NULL) return GO_ON;
    config->encoder_hidden = config->hidden / config->directions;
    if (config->encoder == ENCODER_NONE) config->embed = config->hidden;
    const char *refusal = recurrent_refusal(config);
    return refusal ? usage_error("%s", refusal) : GO_ON;
}

static int choose(struct request *request, const char *const chosen[CHOICES], bool projected)
{
    int value[CHOICES];
    for (int i = 0; i < CHOICES; i++) value[i] = value_of(&choices[i], chosen[i]);
    const struct training *training = &request->training;
    struct recurrent_config config = {.embed = 32,
                                      .hidden = 52,
                                      .encoder_hidden = 52,
                                      .directions = value[READS] == READS_PAST ? 1 : 2,
                                      .words = 6 * training->max_words + 16,
                                      .batch = training->batch,
                                      .width = 32,
                                      .cell = (enum cell_kind)value[CELL],
                                      .pass = (enum pass_kind)value[PASS],
                                      .encoder = (enum encoder_kind)value[ENCODER],
                                      .reads = (enum reads_kind)value[READS],
                                      .seed = training->seed};
    request->fixed = request->attending = config;
    if (config.encoder == ENCODER_NONE) request->fixed.encoder = ENCODER_ONCE;
    struct recurrent_config *attending = &request->attending;
    attending->hidden = attending->encoder_hidden = 48;
    attending->pass = PASS_EACH;
    attending->query = (enum query_kind)value[QUERY];
    attending->attends = true;
    attending->projected = projected;
    attending->score = (rapt_score)value[SCORE];
    attending->normalizer = (rapt_normalizer)value[NORMALIZER];
    attending->locality = (rapt_locality)value[LOCALITY];
    request->transformer = (struct transformer_config){.width = 52,
                                                       .layers = 1,
                                                       .words = config.words,
                                                       .batch = config.batch,
                                                       .seed = training->seed};
    int code = fit(&request->fixed);
    return code == GO_ON ? fit(attending) : code;
}

int main(int argc, char **argv)
{
    enum { OWN = CHOICES + 3 };
    static struct language language;
    struct request request = {
        .training = {
            .language = &language, .max_words = 16, .steps = 1000, .batch = 32, .rate = 4e-3F}};
    struct training *training = &request.training;
    struct demo_options options = {.seed = 1};
    const char *chosen[CHOICES];
    char *names[CHOICES];
    bool projected = false;
    struct option_row rows[OWN + DEMO_ROWS] = {
        {"max-words", OPTION_INTEGER, &training->max_words, "N",
         "English words of a training sentence", 10, 28, 0},
        {"steps", OPTION_INTEGER, &training->steps, "N", "training steps, 32 sentences each", 1,
         1000000, 0},
        {"projected", OPTION_FLAG, &projected, "", "attention has weights W^q, W^k, W^v", 0, 0, 0},
    };
    for (int i = 0; i < CHOICES; i++) {
        const struct choice *c = &choices[i];
        chosen[i] = c->value(c->first);
        names[i] = join(c);
        rows[3 + i] =
            (struct option_row){c->name, OPTION_CHOICE, &chosen[i], names[i], c->help, 0, 0, 0};
    }
    demo_rows(&options, "sentences of at most 12 words, 400 steps",
              "of sentences and initial parameters", rows + OWN);
    struct command command = demo_command(purpose, rows, OWN + DEMO_ROWS);
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) {
        if (options.quick && !option_given(&command, "max-words")) training->max_words = 12;
        if (options.quick && !option_given(&command, "steps")) training->steps = 400;
        training->seed = options.seed;
        training->quiet = options.json;
        french_create(&language);
        code = choose(&request, chosen, projected);
        if (code == GO_ON) code = run(&request, &options);
    }
    for (int i = 0; i < CHOICES; i++) free(names[i]);
    return code;
}
