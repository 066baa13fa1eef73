/* facts.c - how a model was trained, as metadata of its file: JSON with the options, a digest of
   the data, and the progress of training. Equal runs must give equal bytes, so there is a date only
   if SOURCE_DATE_EPOCH sets one (reproducible-builds.org). */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Returns a date such as "2026-11-22", or NULL. */
static json_t *date_json(void)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    if (text == NULL || *text == 0 || strlen(text) > 11 || text[strspn(text, "0123456789")] != 0)
        return NULL;
    time_t seconds = (time_t)strtoll(text, NULL, 10);
    struct tm parts;
    char day[32];
    if (gmtime_r(&seconds, &parts) == NULL) return NULL;
    return strftime(day, sizeof day, "%Y-%m-%d", &parts) > 0 ? json_string(day) : NULL;
}

char *facts_text(const struct learner *learner, double valid)
{
    const struct state *state = &learner->state;
    const char *products = rapt_trainer_products(learner->trainer);
    char digest[32];
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)state->data);
    json_t *object =
        json_pack("{s:s, s:s, s:s*, s:s, s:I, s:I, s:I, s:I, s:o, s:o*}", "version", rapt_version(),
                  "options", learner->options, "products",
                  strcmp(products, "built-in") != 0 ? products : NULL, "data", digest,
                  "train_pairs", (json_int_t)learner->train.count, "valid_pairs",
                  (json_int_t)learner->valid.count, "epoch", (json_int_t)state->epoch, "step",
                  (json_int_t)state->step, "valid_loss", number(valid), "date", date_json());
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (text == NULL) exit(failed("out of memory"));
    return text;
}
