/* ranks.h - the processes of a run on many machines, its ranks: bytes go from one to another. Two
   implementations: mpi.c, the only file that knows MPI, and alone.c where MPI is not there. */
#ifndef TOY_TRANSLATE_RANKS_H
#define TOY_TRANSLATE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

struct ranks {
    int count, rank; /* rank 0 leads: it writes files and messages */
    bool launched;   /* by mpirun or its like, maybe with one rank */
    bool alike;      /* what they begin with: agree.c */
    bool agreed;     /* all know how the run begins, or that it does not: agree.c */
    bool refused;    /* it does not */
};

/* Joins the other ranks, if this process is one of several; else count is 1. */
struct ranks ranks_open(void);

struct transfer {
    int rank;   /* the other one */
    bool sends; /* to it; else receives from it */
    void *data;
    size_t size; /* bytes; those sent are never written */
    int number;  /* the same on both sides; of equal ones the first sent is the first received */
};
/* Does all of them and waits: EXIT_OK; or EXIT_INTERRUPTED, when this process is asked to end or a
   rank is lost. Names ranks that keep the others waiting. */
int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count);

/* Transfers that go on while this process does something else. */
struct flight;
struct flight *ranks_depart(int capacity); /* of about so many transfers */
/* Begins one. Errors are seen at the end. */
void ranks_begin(struct flight *flight, const struct transfer *transfer);
/* Waits for all, as ranks_transfer does, and frees the flight. */
int ranks_arrive(const struct ranks *ranks, struct flight *flight);

/* Leaves the others; ends them, too, if this one ends otherwise than agreed. Last call. */
void ranks_close(const struct ranks *ranks, int code);

#endif
