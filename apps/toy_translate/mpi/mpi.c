/* mpi.c - ranks as processes of an MPI job: point-to-point messages of bytes, so that no sum is
   MPI's. Waiting yields the processor, names who is late, and ends when the process is asked to. */
#define _POSIX_C_SOURCE 200809L
#include "mpi/ranks.h"

#include "kit/program.h"
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGE = 1 << 30, TAG = 1 }; /* bytes of one message, at most */
static const double late = 3;        /* seconds after which a rank is named, then twice as many */

/* Started by mpirun, srun or the like of any MPI: without one, a program is alone. */
static bool is_launched(void)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK",
                                        "PMI_SIZE"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (getenv(signs[i]) != NULL) return true;
    return false;
}

struct ranks ranks_open(void)
{
    struct ranks ranks = {.count = 1};
    int level;
    if (!is_launched()) return ranks;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        exit(failed("MPI does not start"));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    ranks.launched = true;
    return ranks;
}

/* ---- transfers ---- */

struct requests {
    int count;
    MPI_Request *of; /* [count] done: MPI_REQUEST_NULL */
    int *rank;       /* [count] the other one */
};

static int pieces_of(const struct transfer *t)
{
    return (int)((t->size + MESSAGE - 1) / MESSAGE);
}

static bool begin_piece(const struct transfer *t, int piece, MPI_Request *request)
{
    size_t at = (size_t)piece * MESSAGE, left = t->size - at;
    int size = (int)(left < MESSAGE ? left : MESSAGE);
    char *data = (char *)t->data + at;
    int done = t->sends ? MPI_Isend(data, size, MPI_BYTE, t->rank, TAG, MPI_COMM_WORLD, request)
                        : MPI_Irecv(data, size, MPI_BYTE, t->rank, TAG, MPI_COMM_WORLD, request);
    return done == MPI_SUCCESS;
}

/* Receives, then sends: what arrives has its place. */
static bool begin(const struct transfer *list, int count, bool sends, struct requests *r)
{
    for (int i = 0; i < count; i++)
        for (int p = 0; list[i].sends == sends && p < pieces_of(&list[i]); p++) {
            if (!begin_piece(&list[i], p, &r->of[r->count])) return false;
            r->rank[r->count++] = list[i].rank;
        }
    return true;
}

/* The first rank whose message has not come; -1: none. */
static int missing(const struct requests *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->of[i] != MPI_REQUEST_NULL) return r->rank[i];
    return -1;
}

/* Said by rank 0, or of it by rank 1. */
static void name(const struct ranks *ranks, const struct requests *r, double seconds)
{
    int who = missing(r);
    if (ranks->rank == 0) print_message("waiting for rank %d, for %.0f s by now", who, seconds);
    if (ranks->rank == 1 && who == 0) failed("waiting for rank 0, for %.0f s by now", seconds);
}

/* At first only lets others run, then sleeps: ranks may share processors. */
static void rest(int turn)
{
    const struct timespec nap = {0, turn < 1000 ? 20000 : 200000};
    if (turn < 100)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static int wait_for(const struct ranks *ranks, struct requests *r)
{
    int *indices = xcalloc((size_t)r->count, sizeof *indices), code = GO_ON;
    double start = now(), next = late;
    for (int turn = 0; code == GO_ON; turn++) {
        int done;
        if (MPI_Testsome(r->count, r->of, &done, indices, MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
            interrupted())
            code = EXIT_INTERRUPTED;
        else if (done == MPI_UNDEFINED)
            code = EXIT_OK;
        else if (done > 0)
            turn = 0;
        else
            rest(turn);
        if (code == GO_ON && now() - start > next) name(ranks, r, now() - start), next *= 2;
    }
    free(indices);
    return code;
}

int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count)
{
    size_t pieces = 0;
    for (int i = 0; i < count; i++) pieces += (size_t)pieces_of(&list[i]);
    if (pieces == 0) return EXIT_OK;
    struct requests r = {.of = xcalloc(pieces, sizeof *r.of),
                         .rank = xcalloc(pieces, sizeof *r.rank)};
    bool begun = begin(list, count, false, &r) && begin(list, count, true, &r);
    int code = begun ? wait_for(ranks, &r) : EXIT_INTERRUPTED;
    free(r.of);
    free(r.rank);
    return code;
}

void ranks_close(const struct ranks *ranks, int code)
{
    if (!ranks->launched) return;
    if (code == EXIT_OK || ranks->refused) {
        MPI_Finalize();
        return;
    }
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, code);
}
