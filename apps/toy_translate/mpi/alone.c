/* alone.c - a program without MPI: one rank, with nobody to send to or to receive from. */
#include "mpi/ranks.h"

#include "kit/program.h"

struct ranks ranks_open(void)
{
    return (struct ranks){.count = 1};
}

int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count)
{
    (void)ranks, (void)list;
    return count == 0 ? EXIT_OK : failed("there is one rank only");
}

struct flight *ranks_depart(int capacity)
{
    (void)capacity;
    return NULL;
}

void ranks_begin(struct flight *flight, const struct transfer *transfer)
{
    (void)flight, (void)transfer;
}

int ranks_arrive(const struct ranks *ranks, struct flight *flight)
{
    (void)flight;
    return ranks_transfer(ranks, NULL, 0);
}

void ranks_close(const struct ranks *ranks, int code)
{
    (void)ranks, (void)code;
}
