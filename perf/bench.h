/* bench.h - interface of the benchmarks: options, timing, ceilings of the machine, result lines.
   bench_fail prints a message and exits with status 1. */
#ifndef RAPT_PERF_BENCH_H
#define RAPT_PERF_BENCH_H

#include "base/base.h"
#include <rapt/precision.h>
#include <rapt/train.h>

#include <jansson.h>

enum { BENCH_THREADS = 16, BENCH_GO_ON = -1 };

struct bench {
    const char *program;        /* "perf_gemm" */
    int threads[BENCH_THREADS]; /* --threads 1,2 */
    int thread_counts;
    bool threads_given;
    const char *only;         /* --only NAME, or NULL for all */
    const char *model;        /* --model PATH, or NULL */
    int rows;                 /* --rows N of perf_attention, or 0 */
    rapt_precision precision; /* --precision; RAPT_PRECISION_STORED if it was not given */
    bool quick, json;         /* --quick, --json */
    bool no_amx;              /* --no-amx */
    bool check;               /* --check: one call on tiny shapes; the figures are meaningless */
    double enough;            /* seconds of samples per measurement; 0 means the default */
    double start;             /* bench_now() at the start of the program */
    int lines;                /* number of results so far */
    bool cut_short;           /* --quick ran out of time */
    const char *header;       /* of the table */
    bool begun;               /* environment, warnings and header have been printed */
};

struct timing {
    double fastest, median; /* seconds of one call */
    int runs;
};

/* A result line; takes ownership of the json_t. */
struct result {
    const char *name;
    json_t *shape; /* an object of integers and booleans */
    int threads;
    struct timing time;
    double operations; /* floating-point operations of one call; a fused multiply-add counts as
                          two */
    double peak;       /* greatest possible rate of `operations`, in 10^9 per second; 0 means
                          bench_peak(threads) */
    json_t *more;      /* an object with more keys, or NULL */
};

/* ---- bench.c ---- */
/* Reads the options. Returns BENCH_GO_ON or the exit status. --help shows `purpose` and `names`,
   those of --only. */
int bench_begin(struct bench *b, int argc, char **argv, const char *purpose, const char *names);
/* Prints the environment, warnings and the header of the table before the first measurement, so
   that an error in the options is not hidden by them. bench_wants calls it. */
void bench_show_header(struct bench *b);
/* Returns the exit status: 2 if --only matched nothing. */
int bench_end(const struct bench *b);
/* Returns true if --only allows this measurement, under either name, and the time limit of --quick
   has not been reached. */
bool bench_wants(struct bench *b, const char *name, const char *other);
void bench_line(struct bench *b, const struct result *r);
/* A duration in a form that people read: "88.4 ns", "1.75 us", "176 ms", "2.1 s". */
struct duration {
    char text[16];
};
struct duration bench_duration(double seconds);
_Noreturn void bench_fail(const char *what);

/* ---- timing.c ---- */
double bench_now(void); /* monotonic clock, in seconds */
/* work(argument, count) repeats the work count times. Warms up, then takes samples. */
typedef void bench_work(void *argument, int count);
struct timing bench_time(const struct bench *b, bench_work *work, void *argument);
/* Returns the speed of work(argument) relative to work(other): the median ratio of alternating
   samples. */
double bench_times(const struct bench *b, bench_work *work, void *argument, void *other);
struct timing bench_summary(double *seconds, int count); /* sorts the seconds */
/* Returns floats in -1 .. 1, aligned to 64 bytes; exits if memory runs out. */
float *bench_floats(size_t count);
void *bench_alloc(size_t bytes);
void bench_free(void *memory);

/* ---- ceiling.c ---- */
/* Returns the peak of fused multiply-adds of the instruction set in use, in 10^9 operations per
   second. It is measured at the first call for a number of threads, then cached. */
double bench_peak(int threads);
/* Does the same for products of bytes, with the 8-bit instructions in use. */
double bench_int8_peak(int threads);
/* Returns the read bandwidth of memory, in 10^9 bytes per second, measured on arrays far larger
   than the caches. */
double bench_bandwidth(int threads, size_t bytes);

/* Ceilings of one thread and one instruction set, in registers and L1 cache. */
struct near {
    double peak;        /* 10^9 operations per second, like bench_peak */
    double read, write; /* 10^9 bytes per second */
    double clock;       /* 10^9 cycles per second */
};
struct near bench_near(rapt_isa isa);

/* ---- environment.c ---- */
/* Returns an object of strings: processor, instruction set, compiler, flags, OpenBLAS, commit,
   load. */
json_t *bench_environment(void);
/* Warns on standard error of environment variables and load by other processes that may distort
   results. */
void bench_warn(void);

/* ---- training.c: models and batches for measuring training ---- */
struct training {
    const char *label;
    int encoder_layers, decoder_layers, width, heads, hidden, vocab;
    int pairs, length; /* sentence pairs of a batch; tokens of each side */
};
/* Tiny and base; then one for --check. */
enum { TRAININGS = 2 };
extern const struct training trainings[TRAININGS + 1];

rapt_config training_config(const struct training *t);
json_t *training_shape(const struct training *t);
/* Returns the operations of a step: each weight of a product costs 2 forward and 4 backward per
   row; attention costs 4 and 10 per query, key and column, half of that if causal. */
double training_operations(const struct training *t);
/* Returns sequences of random tokens, all of one length. Free them with training_tokens_free. */
rapt_tokens training_tokens(int pairs, int length, int vocab, uint64_t key);
void training_tokens_free(const rapt_tokens *tokens);
/* Runs `count` steps on one batch. */
void training_steps(rapt_trainer *trainer, const rapt_tokens *source, const rapt_tokens *target,
                    int count);
/* Ends the program if the status is not RAPT_OK. */
void training_check(rapt_status status, const rapt_message *why);

/* ---- attention_kinds.c, of perf_attention: every score, locality and normalizer ---- */
void measure_kinds(struct bench *b, int threads);

/* ---- attention_online.c, of perf_attention ---- */
void measure_linear(struct bench *b, int threads);
void measure_monotonic(struct bench *b, int threads);

/* ---- scaling_ranks.c, of perf_scaling ---- */
enum { SCALING_RANKS = 16 };
/* Runs perf_ranks of `folder` ("" or with a slash at its end) under mpirun, with each transport.
   Returns the exit status. */
int scaling_ranks(struct bench *b, const char *folder, int ranks);

/* ---- scaling_crowded.c, of perf_scaling ---- */
/* Measures, on two processors of which another process keeps one busy, the time of each workload
   with 1 and with 2 threads in turn, and `ratio`, the median time with 1 over that with 2. Prints a
   table or JSON lines and returns the exit status. */
int scaling_crowded(struct bench *b);

#endif
