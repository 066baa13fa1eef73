/* system.c - the clock, processors, the terminal, standard files and interrupts. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "kit/program.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int threads_used(int asked)
{
    if (asked > 0) return asked;
    cpu_set_t set;
    int max = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const char *wish = getenv("OMP_NUM_THREADS");
    int wished = wish != NULL ? atoi(wish) : 0;
    return wished > 0 && wished < max ? wished : max;
}

int terminal_columns(FILE *file)
{
    struct winsize size;
    if (!isatty(fileno(file)) || ioctl(fileno(file), TIOCGWINSZ, &size) != 0) return HELP_COLUMNS;
    return size.ws_col > 20 ? size.ws_col : HELP_COLUMNS;
}

static volatile sig_atomic_t stop;

static void on_signal(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

/* Opens a closed standard input for writing only, and a closed output for reading only, so that
   using it fails as before. */
void guard_process(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0) (void)!open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

#if defined(__x86_64__) && defined(SYS_arch_prctl)
void ask_for_tiles(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM of Linux 5.16 */
    (void)syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA);
}
#else
void ask_for_tiles(void) {}
#endif

#ifdef __GLIBC__
void return_large_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}
#else
void return_large_memory(void) {}
#endif

void watch_for_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void ignore_interrupts(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

bool interrupted(void)
{
    return stop != 0;
}
