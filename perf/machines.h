/* machines.h - predictions of perf_machines and their figure. */
#ifndef RAPT_PERF_MACHINES_H
#define RAPT_PERF_MACHINES_H

#include "cluster.h"

enum { LINKS = 2, BATCHES = 3, COUNTS = 8, MEASURED = 16 };

/* A measured step of some number of ranks. */
struct measured {
    int ranks;
    double seconds, without; /* of a step with and without overlap; 0 if not measured */
};

struct prediction {
    char model[96];     /* the model that is trained */
    char processor[96]; /* processor of the measurement */
    char transport[32]; /* transport between the measured ranks */
    double tokens;      /* target tokens of a shard */
    struct cluster here;
    struct measured measured[MEASURED]; /* on the machine of `here` */
    int measured_count;
    struct cluster cluster[LINKS][BATCHES]; /* by interconnect and batch */
    char link[LINKS][64];                   /* "10 Gbit/s, 30 us" */
    int links, batches;
    int machines[COUNTS], counts;
};

/* Where to read lines of perf_ranks, and which. */
struct source {
    const char *path;  /* "-" for standard input */
    const char *model; /* read only lines of this model; NULL means all */
    double copying;    /* as in struct cluster, for the measured ranks; a negative value means 1 */
    bool json;
    void (*each)(const struct prediction *p, bool json); /* called for each model and transport */
};
/* Reads the file and leaves the data of its last model and transport in *p. Returns 0, or an exit
   code after a message. */
int machines_read(struct prediction *p, const struct source *from);
bool is_power(int number); /* true for powers of two */

/* Writes an SVG file. Returns 0, or an exit code after a message. */
int machines_figure(const char *path, const struct prediction *p);

#endif
