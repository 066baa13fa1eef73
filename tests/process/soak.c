/* soak.c - runs rounds of random calls for as long as is wanted, and checks that nothing grows. A
   round creates a scene, makes a sequence of calls chosen by its seed, some of them with a failing
   allocation, and frees the scene. Every later round with the same seed must give the same bits.
   No round may leave memory of the caller's allocator. After two passes over all seeds, the files
   that are open after a round must be as many as before, the threads and the blocks of the C
   library no more than in the two passes, and the resident pages at most SLACK more.
   Arguments: seconds (0: three passes), number of seeds. */
#include "process/allocations.h"
#include "process/soak_calls.h"

#include <dirent.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { SEEDS_MAX = 1024, CALLS = 60, KINDS = 10 };
enum { SLACK = 512 }; /* pages that may be resident in addition to those of the first passes */

typedef void soak_fn(struct soak *k);

static soak_fn *const calls[KINDS] = {
    soak_damaged_model,  soak_damaged_pieces, soak_damaged_checkpoint, soak_damaged_folder,
    soak_sampled,        soak_callbacks,      soak_attention,          soak_refused,
    soak_foreign_pieces, soak_foreign_folder};

/* What must not grow. */
struct usage {
    long resident; /* pages */
    long blocks;   /* that the C library's allocator has given and not got back, since the start */
    int files, threads;
};

static long made_calls, failed_allocations, imports_tried;

/* ---- rounds ---- */

/* Runs an operation, with an allocation that fails if `starved`. */
static void run_operation(struct soak *k, bool starved)
{
    struct scene *s = k->scene;
    const struct operation *o = &operations[soak_draw(k, OPERATIONS)];
    struct tally *c = soak_draw(k, 2) || uses_icu(o) ? &given : &plain;
    uint64_t h = 1;
    rapt_message why = {""};
    s->allocator = c == &given ? &allocator : NULL;
    /* libgomp ends the process if it cannot allocate a team, so make it keep one of this size. */
    if (starved && c == &plain) o->run(s, &h, &why);
    const long live = c->live;
    c->calls = 0;
    c->fail_at = starved ? 1 + soak_draw(k, 1 + soak_draw(k, 60)) : 0;
    c->for_good = soak_draw(k, 2);
    rapt_status status = o->run(s, &h, &why);
    const bool failed = c->fail_at && c->calls >= c->fail_at;
    c->fail_at = 0;
    if (status && !(failed && status == RAPT_NO_MEMORY)) fail_msg("%s: %s", o->name, why.text);
    if (s->changed) fail_msg("%s changed something, or a helper failed", o->name);
    if (status && c->live != live) fail_msg("%s: %ld allocations left", o->name, c->live - live);
    failed_allocations += failed;
    soak_add(k, status, &why);
    if (!status) add(&k->hash, &h, sizeof h);
}

static void run_call(struct soak *k)
{
    const int kind = soak_draw(k, 100);
    made_calls++;
    if (kind < 75) {
        run_operation(k, kind < 25);
        return;
    }
    k->scene->allocator = &allocator;
    /* Imports of real models cost the most, so that only one call in 100 is one. */
    int which = kind == 99 && k->data ? KINDS - 1 : (kind - 75) % (KINDS - 1);
    if (which == KINDS - 2 && !k->data) which = 0;
    calls[which](k);
    imports_tried += which == KINDS - 1;
    if (k->scene->changed) fail_msg("call %d: a refused call changed something", which);
}

/* Runs a round. Returns the hash of all its results. */
static uint64_t run_round(uint64_t seed, const char *data)
{
    struct soak k = {.data = data, .seed = seed, .hash = 0xCBF29CE484222325u};
    given = (struct tally){.calls = 0};
    watched = true;
    k.scene = scene_new((int)(seed % SCENE_VARIANTS), 1 + (int)(seed % 3), 0, NULL);
    for (int i = 0; i < CALLS; i++) run_call(&k);
    scene_free(k.scene, NULL);
    watched = false;
    if (given.live)
        fail_msg("seed %d: %ld allocations of the caller's left", (int)seed, given.live);
    return k.hash;
}

/* ---- what the process uses ---- */

static int entries(const char *folder)
{
    int count = 0;
    DIR *list = opendir(folder);
    while (list && readdir(list)) count++;
    if (list) closedir(list);
    return count;
}

/* Returns free memory to the system. */
#ifdef __GLIBC__
static void trim(void)
{
    malloc_trim(0);
}
#else
static void trim(void) {}
#endif

static struct usage measure(void)
{
    struct usage u = {.blocks = plain.live,
                      .files = entries("/proc/self/fd"),
                      .threads = entries("/proc/self/task")};
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &u.resident) != 1) u.resident = 0;
    if (file) fclose(file);
    return u;
}

static void report(const char *what, long rounds, const struct usage *u, long peak)
{
    char at[32] = "";
    time_t now = time(NULL);
    strftime(at, sizeof at, "%Y-%m-%d %H:%M:%S", localtime(&now));
    printf("%s %s: %ld rounds, %ld calls, %ld failed allocations, "
           "%ld imports tried; resident %ld KiB, at most %ld; "
           "%ld blocks, %d files, %d threads\n",
           at, what, rounds, made_calls, failed_allocations, imports_tried,
           u->resident * (sysconf(_SC_PAGESIZE) / 1024), peak * (sysconf(_SC_PAGESIZE) / 1024),
           u->blocks, u->files - 3, u->threads - 2);
    fflush(stdout);
}

/* ---- passes ---- */

static int seconds, seeds = 8;
static const int warm_up = 2; /* passes */

static struct soak_run {
    uint64_t hashes[SEEDS_MAX];
    int order[SEEDS_MAX];
    struct usage usual; /* the most in the passes of the warm-up */
    long rounds, peak;
    time_t begun, reported;
} run;

static void shuffle(int pass)
{
    for (int i = 0; i < seeds; i++) run.order[i] = i;
    for (int i = seeds - 1; i > 0; i--) {
        int j = (int)(small_random((uint64_t)pass, (uint64_t)i) % (uint64_t)(i + 1));
        int kept = run.order[i];
        run.order[i] = run.order[j], run.order[j] = kept;
    }
}

static void raise_usual(const struct usage *u)
{
    struct usage *usual = &run.usual;
    usual->resident = u->resident > usual->resident ? u->resident : usual->resident;
    usual->blocks = u->blocks > usual->blocks ? u->blocks : usual->blocks;
    usual->files = u->files > usual->files ? u->files : usual->files;
    usual->threads = u->threads > usual->threads ? u->threads : usual->threads;
}

/* Checks what the process uses after a round. */
static void check_usage(int pass, int seed)
{
    struct usage u;
    trim();
    u = measure();
    run.peak = u.resident > run.peak ? u.resident : run.peak;
    if (pass < warm_up) raise_usual(&u);
    if (pass >= warm_up && (u.files != run.usual.files || u.threads > run.usual.threads))
        fail_msg("seed %d: %d files and %d threads, usually %d and %d", seed, u.files, u.threads,
                 run.usual.files, run.usual.threads);
    if (pass >= warm_up && u.blocks > run.usual.blocks)
        fail_msg("seed %d: %ld blocks allocated, at most %ld in the first passes", seed, u.blocks,
                 run.usual.blocks);
    if (can_watch && pass >= warm_up && u.resident > run.usual.resident + SLACK)
        fail_msg("seed %d: %ld pages resident, at most %ld in the first passes", seed, u.resident,
                 run.usual.resident);
    time_t now = time(NULL);
    if (seconds && now - run.reported >= 60) {
        run.reported = now;
        report("soak", run.rounds, &u, run.peak);
    }
}

static bool goes_on(int pass)
{
    return pass <= warm_up || (seconds && time(NULL) - run.begun < seconds);
}

static void run_pass(int pass)
{
    const char *data = getenv("RAPT_DATA");
    if (data && access(data, R_OK)) data = NULL;
    shuffle(pass);
    for (int i = 0; i < seeds && (pass <= warm_up || goes_on(pass)); i++) {
        int seed = run.order[i];
        uint64_t hash = run_round((uint64_t)seed, data);
        run.rounds++;
        if (pass == 0) run.hashes[seed] = hash;
        if (hash != run.hashes[seed]) fail_msg("seed %d: other bits than in its first round", seed);
        check_usage(pass, seed);
    }
}

static void test_soak(void **state)
{
    (void)state;
    run.begun = run.reported = time(NULL);
    for (int pass = 0; goes_on(pass); pass++) run_pass(pass);
    struct usage u = measure();
    report("end", run.rounds, &u, run.peak);
    printf("cases: process/soak: %ld calls in %ld rounds\n", made_calls, run.rounds);
    assert_true(!can_watch || failed_allocations > run.rounds);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};
    if (count > 1) seconds = atoi(words[1]);
    if (count > 2) seeds = atoi(words[2]);
    if (seeds < 1 || seeds > SEEDS_MAX) return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
