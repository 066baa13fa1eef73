/* agree.c - checks, before ranks share work, that all of them run the same program with the same
   options on the same data, and before the first step that all are ready. Each rank sends rank 0
   digests of what it has and a list of options. Rank 0 reports what differs and decides whether the
   run begins. A rank whose preparation failed takes part and reports the failure. */
#define _POSIX_C_SOURCE 200809L
#include "kit/random.h"
#include "learner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAM, DATA, VOCABULARY, PARAMETERS, ARITHMETIC, DIGESTS, OPTIONS = 4096 };
static const char *const names[DIGESTS] = {
    "runs another program, or another version", "has different data, or in a different order",
    "has a different vocabulary", "starts from different parameters",
    "differs from rank 0 in whether its processor has fused multiply-add"};

struct facts {
    int code; /* exit code of the preparation */
    uint64_t digests[DIGESTS];
    char options[OPTIONS];
};

/* Hashes the file of this process, if the system has /proc. */
static uint64_t of_program(void)
{
    static char bytes[1 << 16];
    uint64_t hash = hash_bytes(HASH_EMPTY, rapt_version(), strlen(rapt_version()));
    FILE *file = fopen("/proc/self/exe", "rb");
    if (file == NULL) return hash;
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, file)) > 0;)
        hash = hash_bytes(hash, bytes, size);
    fclose(file);
    return hash;
}

static uint64_t of_vocabulary(const struct vocabulary *vocabulary)
{
    uint64_t hash = HASH_EMPTY;
    rapt_metadata metadata[2];
    int count = vocabulary_metadata(vocabulary, metadata);
    for (int i = 0; i < count; i++)
        hash = hash_bytes(hash, metadata[i].value, strlen(metadata[i].value) + 1);
    return hash;
}

/* Hashes the parameters, and the state of training that a checkpoint contains. */
static uint64_t of_parameters(const struct learner *learner)
{
    char *state = state_text(&learner->state, "");
    uint64_t hash = hash_bytes(HASH_EMPTY, state, strlen(state));
    for (int i = 0; i < rapt_model_tensors(learner->model); i++) {
        rapt_tensor tensor = rapt_model_tensor(learner->model, i);
        size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
        float *data = xcalloc(count, sizeof *data);
        rapt_model_read(learner->model, i, data, NULL);
        hash = hash_bytes(hash, data, count * sizeof *data);
        free(data);
    }
    free(state);
    return hash;
}

static void find_facts(struct facts *facts, const struct learner *learner)
{
    const struct recipe *r = learner->recipe;
    facts->digests[PROGRAM] = of_program();
    facts->digests[DATA] = learner->state.data;
    facts->digests[VOCABULARY] = of_vocabulary(&learner->vocabulary);
    facts->digests[PARAMETERS] = of_parameters(learner);
    facts->digests[ARITHMETIC] = rapt_isa_used() == RAPT_ISA_SCALAR;
    snprintf(facts->options, OPTIONS, "%s epochs %d steps %d minutes %.9g patience %d resume %d",
             learner->options, r->epochs, r->steps, r->minutes, r->patience, r->resume);
}

/* Decides on rank 0. Returns EXIT_OK if all may begin. */
static int judge_facts(const struct facts *all, int count)
{
    int code = all[0].code;
    for (int r = 1; r < count; r++) {
        if (all[r].code != EXIT_OK && code == EXIT_OK) print_message("rank %d cannot start", r);
        if (code == EXIT_OK) code = all[r].code;
    }
    for (int r = 1; r < count && code == EXIT_OK; r++) {
        char *other = options_difference(all[r].options, all[0].options);
        if (other != NULL) code = failed("rank %d was started %s", r, other);
        for (int d = 0; d < DIGESTS && code == EXIT_OK; d++)
            if (all[r].digests[d] != all[0].digests[d]) code = failed("rank %d %s", r, names[d]);
        free(other);
    }
    return code;
}

static int collect_facts(const struct ranks *ranks, const struct facts *own, int *verdict)
{
    struct facts *all = xcalloc((size_t)ranks->count, sizeof *all);
    struct transfer *list = xcalloc((size_t)ranks->count, sizeof *list);
    all[0] = *own;
    for (int r = 1; r < ranks->count; r++)
        list[r - 1] = (struct transfer){r, false, &all[r], sizeof *all, 0};
    int code = ranks_transfer(ranks, list, ranks->count - 1);
    if (code == EXIT_OK) *verdict = judge_facts(all, ranks->count);
    for (int r = 1; r < ranks->count; r++)
        list[r - 1] = (struct transfer){r, true, verdict, sizeof *verdict, 0};
    if (code == EXIT_OK) code = ranks_transfer(ranks, list, ranks->count - 1);
    free(all);
    free(list);
    return code;
}

int agree(struct ranks *ranks, int code, const struct learner *learner)
{
    if (ranks->count < 2 || ranks->agreed) return code;
    struct facts own = {.code = code};
    int verdict = EXIT_FAILED;
    if (code == EXIT_OK && !ranks->alike) find_facts(&own, learner);
    const struct transfer list[] = {{0, true, &own, sizeof own, 0},
                                    {0, false, &verdict, sizeof verdict, 0}};
    int done = ranks->rank == 0 ? collect_facts(ranks, &own, &verdict) : EXIT_OK;
    for (int i = 0; i < 2 && ranks->rank > 0 && done == EXIT_OK; i++)
        done = ranks_transfer(ranks, &list[i], 1);
    if (done != EXIT_OK) return done;
    ranks->agreed = ranks->alike || verdict != EXIT_OK;
    ranks->alike = true;
    ranks->refused = verdict != EXIT_OK;
    return code != EXIT_OK ? code : verdict;
}
