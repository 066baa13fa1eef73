/* replay.c - runs a target without libFuzzer, so that every seed is a regression test in every
   build. Arguments: [ROUNDS] PATH... Replays the given files and folders, each file followed by
   ROUNDS damaged copies of it, and prints the number of inputs. The exit status is 1 if there were
   none. */
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *count, char ***arguments) __attribute__((weak));

static size_t inputs;
enum { LONGEST = 1 << 20 };

static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = exact_copy(bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

/* Makes one to four changes: replaces a byte, flips a bit, deletes a piece or repeats one. */
static size_t damage(uint8_t *bytes, size_t size, uint64_t *random)
{
    for (uint64_t changes = 1 + input_random(random) % 4; changes > 0 && size > 0; changes--) {
        uint64_t r = input_random(random);
        size_t at = (size_t)(r >> 32) % size, length = (size_t)(r >> 16) % 8 + 1;
        if (length > size - at) length = size - at;
        switch (r % 4) {
        case 0:
            bytes[at] = (uint8_t)(r >> 8);
            break;
        case 1:
            bytes[at] ^= (uint8_t)(1u << (r >> 8) % 8);
            break;
        case 2:
            memmove(bytes + at, bytes + at + length, size - at - length);
            size -= length;
            break;
        default:
            if (size + length > LONGEST) break;
            memmove(bytes + at + length, bytes + at, size - at);
            size += length;
        }
    }
    return size;
}

static int replay_file(const char *path, long rounds)
{
    static uint8_t bytes[LONGEST], damaged[LONGEST];
    FILE *file = fopen(path, "rb");
    if (!file) return perror(path), 1;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint64_t random = input_hash(bytes, size);
    run(bytes, size);
    for (long i = 0; i < rounds; i++) {
        memcpy(damaged, bytes, size);
        run(damaged, damage(damaged, size, &random));
    }
    return 0;
}

static int replay(const char *path, long rounds)
{
    struct stat info;
    if (stat(path, &info) != 0) return perror(path), 1;
    if (!S_ISDIR(info.st_mode)) return replay_file(path, rounds);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort), failures = count < 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') failures += replay(inner, rounds);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return failures;
}

int main(int count, char **arguments)
{
    char *end = NULL;
    long rounds = count > 1 ? strtol(arguments[1], &end, 10) : 0;
    int first = end && *end == 0 ? 2 : 1, failures = 0;
    if (first == 1) rounds = 0;
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&count, &arguments);
    run(NULL, 0);
    for (int i = first; i < count; i++) failures += replay(arguments[i], rounds);
    printf("%zu inputs\n", inputs);
    return failures || inputs < 2;
}
