/* space.c - checks before training that memory and disk have space for the run. */
#define _POSIX_C_SOURCE 200809L
#include "learner.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { HELD = 1 << 28 }; /* maximum bytes of tokens that are held besides the index */

/* ---- memory: what the machine has ----
   That is the minimum of Linux's MemAvailable, the limit of the control group (version 2 or 1), and
   what remains of the process's limit of address space, as far as these are known. */

/* Returns the first number after `key` in a file, or SIZE_MAX if the file lacks the key. */
static size_t number_in(const char *path, const char *key)
{
    char line[256];
    uintmax_t value = 0;
    bool found = false;
    FILE *file = fopen(path, "r");
    if (file == NULL) return SIZE_MAX;
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = strncmp(line, key, strlen(key)) == 0 &&
                sscanf(line + strlen(key), "%" SCNuMAX, &value) == 1;
    fclose(file);
    return found && value < SIZE_MAX ? (size_t)value : SIZE_MAX;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the bytes of address space that the process may still use, or SIZE_MAX. */
static size_t addresses_left(void)
{
    struct rlimit limit;
    size_t used = number_in("/proc/self/status", "VmSize:");
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    used = used < SIZE_MAX / 1024 ? used * 1024 : 0;
    return used < limit.rlim_cur ? (size_t)limit.rlim_cur - used : 1;
}

static size_t memory_available(void)
{
    size_t kilobytes = number_in("/proc/meminfo", "MemAvailable:"), bytes = SIZE_MAX;
    if (kilobytes < SIZE_MAX / 1024) bytes = kilobytes * 1024;
    bytes = min(bytes, number_in("/sys/fs/cgroup/memory.max", ""));
    bytes = min(bytes, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""));
    bytes = min(bytes, addresses_left());
    return bytes == SIZE_MAX ? 0 : bytes;
}

/* ---- memory: what the run needs ----
   It is estimated before the run begins: what the library reports, and what the data need by their
   counts. A run that needs more than --memory-limit is refused. */

static size_t memory_total(const struct memory *m)
{
    return m->model + m->gradients + m->optimizer + m->activations + m->averages + m->index +
           m->batches + m->messages;
}

static void add_up(struct learner *learner, const struct data *data)
{
    struct memory *m = &learner->memory;
    const struct recipe *recipe = learner->recipe;
    rapt_train_limits limits = train_limits(learner);
    size_t parameters = rapt_model_parameters(learner->model) * sizeof(float), levels = 0;
    size_t epochs = learner->average.capacity > 0 ? (size_t)learner->average.capacity + 1 : 0;
    while (recipe->shards > 1 << levels) levels++;
    const struct tuned tuned = tune_count(learner);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    tune_options(learner, &options);
    learner->bytes = rapt_trainer_bytes_with(learner->model, &options, &limits);
    m->model = rapt_model_bytes(learner->model);
    m->gradients = parameters * (1 + levels);
    m->optimizer = (2 * tuned.full + tuned.base + 4 * tuned.adapters) * sizeof(float);
    if (learner->bytes > m->gradients + m->optimizer)
        m->activations = learner->bytes - m->gradients - m->optimizer;
    m->averages = parameters * epochs;
    m->index = examples_index_bytes(&data->train) + examples_index_bytes(&data->valid);
    if (noise_any(&recipe->noise)) m->index += augmented_bytes(data->train.count);
    m->index += 3 * learner->alignments.size; /* the file, and its links between tokens */
    for (int i = 0; i < 2; i++)               /* what came through pipes is held */
        m->index += data->train_inputs.side[i].size + data->valid_inputs.side[i].size;
    m->batches = batches_bytes(data->train.count, (size_t)recipe->batch_tokens) +
                 batches_bytes(data->valid.count, (size_t)limits.source_tokens);
    m->messages =
        exchange_bytes(learner->exchange.ranks, recipe->shards, parameters / sizeof(float));
    m->available = memory_available();
}

static double megabytes(size_t bytes)
{
    return 1e-6 * (double)bytes;
}

int memory_plan(struct learner *learner, const struct data *data, size_t *max_ids)
{
    struct memory *m = &learner->memory;
    size_t limit = (size_t)(learner->recipe->memory_limit * 1e6);
    add_up(learner, data);
    size_t needed = memory_total(m), left = HELD;
    if (limit > 0 && needed > limit) {
        memory_report(learner);
        return failed("--memory-limit %g: training needs at least %.3f MB; give fewer "
                      "--batch-tokens, more --shards or a smaller model",
                      learner->recipe->memory_limit, 0.0005 + megabytes(needed));
    }
    if (limit > 0) left = min(left, limit - needed);
    if (m->available > 0 && needed > m->available)
        print_message("training needs %.0f MB of memory, but only %.0f MB are available",
                      megabytes(needed), megabytes(m->available));
    else if (m->available > 0)
        left = min(left, (m->available - needed) / 2);
    *max_ids = left / sizeof(int32_t);
    return EXIT_OK;
}

void memory_report(const struct learner *learner)
{
    const struct memory *m = &learner->memory;
    const struct examples *train = &learner->train, *valid = &learner->valid;
    size_t tokens = (train->ids_count + valid->ids_count) * sizeof(int32_t);
    print_report("memory in MB: %.1f = model %.1f, gradients %.1f, optimizer %.1f,\n"
                 "  activations %.1f, averages %.1f, index of the pairs %.1f, their tokens %.1f,\n"
                 "  batches %.1f, messages %.1f; %.0f available",
                 megabytes(memory_total(m) + tokens), megabytes(m->model), megabytes(m->gradients),
                 megabytes(m->optimizer), megabytes(m->activations), megabytes(m->averages),
                 megabytes(m->index), megabytes(tokens), megabytes(m->batches),
                 megabytes(m->messages), megabytes(m->available));
}

/* ---- disk: whether the files of the run can be written, and all that exist at once fit ----
   A new file is written beside the old one, so both count. */

/* Bytes on the disk, now and at most, compared with the beginning of training. */
struct usage {
    long long now, max;
};

static void usage_add(struct usage *usage, long long bytes)
{
    usage->now += bytes;
    if (usage->now > usage->max) usage->max = usage->now;
}

/* Replaces `old` bytes with `new` ones, which are written first. */
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

/* Returns an upper bound on the number of epochs that this run will complete. */
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
