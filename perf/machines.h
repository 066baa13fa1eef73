/* machines.h - predictions of perf_machines and their figure. */
#ifndef RAPT_PERF_MACHINES_H
#define RAPT_PERF_MACHINES_H

#include "cluster.h"

enum { LINKS = 2, BATCHES = 3, COUNTS = 8, MEASURED = 16 };

/* A step of so many ranks, as it was measured. */
struct measured {
    int ranks;
    double seconds, without; /* with and without overlap; 0: not measured */
};

struct prediction {
    char model[96];     /* what is trained */
    char processor[96]; /* of the measurement */
    char transport[32]; /* of the measured ranks */
    double tokens;      /* target tokens of a shard */
    struct cluster here;
    struct measured measured[MEASURED]; /* on the machine of `here` */
    int measured_count;
    struct cluster cluster[LINKS][BATCHES]; /* by interconnect and batch */
    char link[LINKS][64];                   /* "10 Gbit/s, 30 us" */
    int links, batches;
    int machines[COUNTS], counts;
};

/* Lines of perf_ranks. */
struct source {
    const char *path;  /* "-": standard input */
    const char *model; /* only its lines; NULL: all */
    double copying;    /* of the measured ranks; below 0: all of a transfer */
    bool json;
    void (*each)(const struct prediction *p, bool json); /* for each model and transport */
};
/* What the last model and transport of the file say; 0, or an exit code after a message. */
int machines_read(struct prediction *p, const struct source *from);
bool is_power(int number); /* of two */

/* Writes an SVG file; 0, or an exit code after a message. */
int machines_figure(const char *path, const struct prediction *p);

#endif
