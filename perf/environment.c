/* environment.c - what a figure depends on apart from the code: processor, compiler, libraries,
   environment variables, load. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(PERF_HAVE_OPENBLAS)
#include <cblas.h>
static void describe_openblas(char *text, size_t size)
{
    static const char *const kinds[] = {"serial", "pthreads", "OpenMP"};
    int kind = openblas_get_parallel();
    snprintf(text, size, "core %s, %s, %d threads", openblas_get_corename(),
             kind >= 0 && kind < 3 ? kinds[kind] : "unknown", openblas_get_num_threads());
}
#else
static void describe_openblas(char *text, size_t size)
{
    snprintf(text, size, "not built in");
}
#endif

#ifdef __clang__
static const char compiler[] = __VERSION__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif

/* Finds the first line of /proc/cpuinfo with that key and copies its value. Returns false if the
   key is missing. */
static bool read_key(const char *key, char *text, size_t size)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        size_t length = strlen(key); /* only blanks may separate the key from its colon */
        found = colon && strncmp(line, key, length) == 0 && strchr(":\t ", line[length]) &&
                strspn(line + length, "\t :") > (size_t)(colon - line) - length;
        if (!found) continue;
        colon += 1 + strspn(colon + 1, " ");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (file) fclose(file);
    return found;
}

/* Writes "model name" of /proc/cpuinfo, or its equivalent on other processors, with the family and
   model that distinguish generations of the same name. */
static void describe_processor(char *text, size_t size)
{
    static const char *const keys[] = {"model name", "Model", "CPU part"};
    char name[128] = "unknown", family[16], model[16];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (read_key(keys[i], name, sizeof name)) break;
    if (read_key("cpu family", family, sizeof family) && read_key("model", model, sizeof model))
        snprintf(text, size, "%s, family %s, model %s", name, family, model);
    else
        snprintf(text, size, "%s", name);
}

static bool distorts(const char *variable)
{
    static const char *const heads[] = {"OPENBLAS_", "OMP_", "GOMP_", "KMP_", "LIBOMP_"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(variable, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}

static void list_variables(char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (char **at = environ; at && *at; at++) {
        if (!distorts(*at) || used >= size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", *at);
    }
    if (!text[0]) snprintf(text, size, "none");
}

json_t *bench_environment(void)
{
    char processor[256], openblas[128], variables[512], count[32], load[32];
    double average[1] = {-1};
    describe_processor(processor, sizeof processor);
    describe_openblas(openblas, sizeof openblas);
    list_variables(variables, sizeof variables);
    snprintf(count, sizeof count, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(load, sizeof load, "%.2f", getloadavg(average, 1) == 1 ? average[0] : -1);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "processor", processor,
                     "processors", count, "isa", rapt_isa_name(rapt_isa_used()), "int8",
                     rapt_isa_int8(), "compiler", compiler, "flags", PERF_FLAGS, "openblas",
                     openblas, "commit", PERF_COMMIT, "variables", variables, "load", load);
}

/* Warns if OpenBLAS does not know the processor and uses the kernels of the oldest one that it
   knows, Prescott. */
static void warn_of_openblas(void)
{
    char openblas[128];
    const char *core = rapt_isa_used() == RAPT_ISA_AVX512 ? "SkylakeX" : "Haswell";
    describe_openblas(openblas, sizeof openblas);
    if (strstr(openblas, "core Prescott") && rapt_isa_used() != RAPT_ISA_SCALAR)
        fprintf(stderr,
                "warning: OpenBLAS does not know this processor and is slow; set "
                "OPENBLAS_CORETYPE=%s\n",
                core);
}

void bench_warn(void)
{
    warn_of_openblas();
    for (char **at = environ; at && *at; at++)
        if (distorts(*at)) fprintf(stderr, "warning: %s is set and may distort the results\n", *at);
    double average[1];
    if (getloadavg(average, 1) == 1 && average[0] > 0.5)
        fprintf(stderr,
                "warning: the processors were busy in the last minute (load %.2f), so all figures "
                "may be "
                "too low; wait until the load is below 0.5\n",
                average[0]);
}
