/* mpi.c - ranks as processes of an MPI job, with point-to-point messages of bytes, so that MPI adds
   no numbers. Since MPI makes progress only while it is called, a thread calls it while the process
   computes. Waiting yields the processor, names the rank that is late, and ends when the process is
   asked to end. */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include "kit/program.h"
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGE = 1 << 30 };   /* maximum bytes per message */
static const double late = 3; /* seconds after which a late rank is named, doubled each time */

static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER; /* held while MPI is called */
static bool in_turn; /* MPI allows calls by several threads in turn */

/* Returns true if mpirun, srun or a similar launcher of any MPI started this process. */
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
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        exit(failed("cannot initialize MPI"));
    in_turn = level >= MPI_THREAD_SERIALIZED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    ranks.launched = true;
    return ranks;
}

/* ---- transfers ---- */

struct flight {
    int count, capacity; /* numbers of messages */
    MPI_Request *of;     /* [capacity] MPI_REQUEST_NULL when done */
    int *rank;           /* [capacity] the peer */
    int *indices;        /* [capacity] for MPI_Testsome */
    bool lost;           /* MPI has reported an error */
    bool helped;         /* a thread calls MPI until `ended` is set */
    pthread_t helper;
    atomic_bool ended;
};

static int pieces_of(const struct transfer *t)
{
    return (int)((t->size + MESSAGE - 1) / MESSAGE);
}

static bool begin_piece(const struct transfer *t, int piece, MPI_Request *request)
{
    size_t at = (size_t)piece * MESSAGE, left = t->size - at;
    int size = (int)(left < MESSAGE ? left : MESSAGE), tag = t->number;
    char *data = (char *)t->data + at;
    int done = t->sends ? MPI_Isend(data, size, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD, request)
                        : MPI_Irecv(data, size, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD, request);
    return done == MPI_SUCCESS;
}

static void reserve_messages(struct flight *f, int capacity)
{
    f->capacity = capacity;
    f->of = xreallocarray(f->of, (size_t)capacity, sizeof *f->of);
    f->rank = xreallocarray(f->rank, (size_t)capacity, sizeof *f->rank);
    f->indices = xreallocarray(f->indices, (size_t)capacity, sizeof *f->indices);
}

static struct flight *create_flight(int capacity)
{
    struct flight *f = xcalloc(1, sizeof *f);
    reserve_messages(f, capacity + 1);
    return f;
}

/* Lets MPI make progress. Returns the number of messages that completed, or MPI_UNDEFINED if all
   had completed before. */
static int test_messages(struct flight *f)
{
    int done = 0;
    pthread_mutex_lock(&calling);
    if (MPI_Testsome(f->count, f->of, &done, f->indices, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
        f->lost = true;
    pthread_mutex_unlock(&calling);
    return done;
}

void ranks_begin(struct flight *f, const struct transfer *t)
{
    pthread_mutex_lock(&calling);
    for (int p = 0; p < pieces_of(t) && !f->lost; p++) {
        if (f->count == f->capacity) reserve_messages(f, 2 * f->capacity);
        f->lost = !begin_piece(t, p, &f->of[f->count]);
        f->rank[f->count] = t->rank;
        if (!f->lost) f->count++;
    }
    pthread_mutex_unlock(&calling);
}

static void *make_progress(void *flight)
{
    const struct timespec nap = {0, 300000};
    struct flight *f = flight;
    while (!atomic_load(&f->ended)) {
        test_messages(f);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

struct flight *ranks_depart(int capacity)
{
    struct flight *f = create_flight(capacity);
    f->helped = in_turn && pthread_create(&f->helper, NULL, make_progress, f) == 0;
    return f;
}

/* Returns the first rank whose message is missing, or -1. */
static int late_rank(const struct flight *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->of[i] != MPI_REQUEST_NULL) return f->rank[i];
    return -1;
}

/* Names the late rank. Rank 0 does this; if rank 0 itself is late, rank 1 does. */
static void name_late_rank(const struct ranks *ranks, const struct flight *f, double seconds)
{
    int who = late_rank(f);
    if (ranks->rank == 0) print_message("waiting for rank %d, for %.0f s so far", who, seconds);
    if (ranks->rank == 1 && who == 0) failed("waiting for rank 0, for %.0f s so far", seconds);
}

/* Yields at first and sleeps later, since ranks may share processors. */
static void back_off(int turn)
{
    const struct timespec nap = {0, turn < 1000 ? 20000 : 200000};
    if (turn < 100)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* Waits for all messages. If the shares of ranks differ, some ranks wait in every step, so a rank
   is named only if it is twice as late as ever before. */
static int wait_for(const struct ranks *ranks, struct flight *f)
{
    static double longest;
    int code = GO_ON;
    double start = now(), next = 2 * longest > late ? 2 * longest : late;
    for (int turn = 0; code == GO_ON; turn++) {
        int done = test_messages(f);
        if (f->lost || interrupted())
            code = EXIT_INTERRUPTED;
        else if (done == MPI_UNDEFINED)
            code = EXIT_OK;
        else if (done > 0)
            turn = 0;
        else
            back_off(turn);
        if (code == GO_ON && now() - start > next)
            name_late_rank(ranks, f, now() - start), next *= 2;
    }
    if (now() - start > longest) longest = now() - start;
    return code;
}

int ranks_arrive(const struct ranks *ranks, struct flight *f)
{
    atomic_store(&f->ended, true);
    if (f->helped) pthread_join(f->helper, NULL);
    int code = wait_for(ranks, f);
    free(f->of);
    free(f->rank);
    free(f->indices);
    free(f);
    return code;
}

/* Posts receives before sends, so that arriving data go directly to their destination. */
int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count)
{
    if (count == 0) return EXIT_OK;
    struct flight *f = create_flight(count);
    for (int sends = 0; sends < 2; sends++)
        for (int i = 0; i < count; i++)
            if (list[i].sends == (sends != 0)) ranks_begin(f, &list[i]);
    return ranks_arrive(ranks, f);
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
