/* alone.c - ranks in a build without MPI: there is only one. */
#include "ranks.h"

#include "kit/program.h"
#include <stdlib.h>

/* Returns the number of processes that mpirun, srun or a similar launcher started, or 1. */
static int launched(void)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *size = getenv(signs[i]);
        if (size != NULL) return atoi(size);
    }
    return 1;
}

/* Exits if there are several processes: without MPI, they would all write the same files. */
struct ranks ranks_open(void)
{
    if (launched() > 1) exit(failed("built without MPI, so it cannot be one of several processes"));
    return (struct ranks){.count = 1};
}

int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count)
{
    (void)ranks, (void)list;
    return count == 0 ? EXIT_OK : failed("there is only one rank");
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
