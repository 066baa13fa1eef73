/* space.c - checks before training that the files of the run can be written, and that the disk has
   space for all that exist at once. A new file is written beside the old one, so both count. */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes on the disk, now and at most, compared with the beginning of training. */
struct usage {
    long long now, max;
};

static void usage_add(struct usage *usage, long long bytes)
{
    usage->now += bytes;
    if (usage->now > usage->max) usage->max = usage->now;
}

/* Replaces `old` bytes by `new` ones, which are written first. */
static void usage_replace(struct usage *usage, long long old, long long new)
{
    usage_add(usage, new);
    usage->now -= old;
}

static long long bytes_on_disk(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (long long)about.st_blocks * 512 : 0;
}

/* Returns the size of a file with this many copies of the parameters. Tensors are padded, and the
   header has their names and shapes. Texts may double in size when quotes are escaped. */
static long long file_bytes(const struct learner *learner, long long copies)
{
    const struct vocabulary *vocabulary = &learner->vocabulary;
    long long texts = 4 * (long long)strlen(learner->options) + 8192;
    for (int i = 0; i < 2; i++)
        if (vocabulary->metadata[i] != NULL)
            texts += 2 * (long long)strlen(vocabulary->metadata[i]);
    if (learner->words != NULL) texts += 2 * (long long)strlen(learner->words);
    return texts + copies * (4 * (long long)rapt_model_parameters(learner->model) +
                             160LL * rapt_model_tensors(learner->model));
}

/* Returns an upper bound on the epochs that this run will end. */
static long long epochs_left(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    long long left = 1 << 30, batches = (long long)learner->batches.count;
    if (recipe->epochs > 0) left = recipe->epochs - learner->state.epoch + 1;
    if (recipe->steps > 0) {
        long long steps = recipe->steps - learner->state.step + learner->state.position;
        long long by_steps = (steps + batches - 1) / batches;
        if (by_steps < left) left = by_steps;
    }
    return left > 0 ? left : 0;
}

/* Returns the bytes of the history, a line of JSON per validation, at the end of this run. */
static long long history_bytes(const struct learner *learner)
{
    long long to_come = epochs_left(learner), bytes = 96;
    if (to_come > 10000) to_come = 10000;
    if (learner->recipe->command != NULL) bytes += 2 * (long long)strlen(learner->recipe->command);
    return bytes + 96 * ((long long)learner->history.count + to_come);
}

/* Returns how many files of epochs will be written before an old one is removed. */
static long long new_epochs(const struct learner *learner)
{
    long long capacity = learner->average.capacity, there = learner->state.epoch - 1;
    if (capacity == 0) return 0;
    if (there > capacity) there = capacity;
    long long left = epochs_left(learner);
    return left < capacity + 1 - there ? left : capacity + 1 - there;
}

/* Adds up the files in the order in which a run writes them: for each epoch OUT.checkpoint.N, OUT
   and OUT.checkpoint, then OUT.checkpoint.best if the run ends within an epoch. */
static long long bytes_needed(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    long long model = file_bytes(learner, 1), epochs = new_epochs(learner);
    struct usage usage = {0};
    if (!recipe->checkpoint) {
        usage_replace(&usage, bytes_on_disk(recipe->out), model);
        usage_add(&usage, model);
        return usage.max;
    }
    long long checkpoint = file_bytes(learner, 3) + history_bytes(learner);
    usage_add(&usage, epochs > 0 ? model : 0);
    usage_replace(&usage, bytes_on_disk(recipe->out), model);
    usage_replace(&usage, bytes_on_disk(learner->path), checkpoint);
    usage_add(&usage, epochs > 1 ? (epochs - 1) * model : 0);
    usage_replace(&usage, checkpoint, checkpoint);
    usage_add(&usage, 2 * model);
    return usage.max;
}

int output_check(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    long long model = file_bytes(learner, 1), needed = bytes_needed(learner);
    long long largest =
        recipe->checkpoint ? file_bytes(learner, 3) + history_bytes(learner) : model;
    rapt_message why = {""};
    /* OUT may be a link to another disk. The other files are beside the link. */
    rapt_status status = rapt_file_check(recipe->out, (uint64_t)model, 0, &why);
    if (status == RAPT_OK)
        status = rapt_file_check(recipe->checkpoint ? learner->path : recipe->out,
                                 (uint64_t)largest, (uint64_t)needed, &why);
    if (status == RAPT_OK) return EXIT_OK;
    return failed("--out %s: cannot write %lld bytes: %s", recipe->out, needed, why.text);
}
