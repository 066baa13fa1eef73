/* pickle.c - any bytes as the pickle of a torch.save file with three storages. It must be refused
   with a reason or give entries within the storages, all of which are read (tensors.h). */
#include "tensors.h"

enum { PICKLE_SPACE = 1 << 12 };

static uint8_t *put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *to++ = (uint8_t)(i < 8 ? value >> 8 * i : 0);
    return to;
}

/* Writes an entry of the zip directory, or the header in front of a member. */
static uint8_t *put_member(uint8_t *to, bool directory, const char *name, size_t size, size_t at)
{
    to = put(to, directory ? 0x02014B50 : 0x04034B50, 4);
    to = put(to, 0, directory ? 16 : 14); /* versions, flags, method (stored), time, checksum */
    to = put(put(to, size, 4), size, 4);
    to = put(to, strlen(name), 2);
    to = put(to, 0, directory ? 8 : 2);
    if (directory) to = put(put(to, 0, 4), at, 4);
    memcpy(to, name, strlen(name));
    return to + strlen(name);
}

static size_t make_archive(uint8_t *file, const uint8_t *pickle, size_t size)
{
    static const char *const names[] = {"m/data.pkl", "m/data/0", "m/data/1", "m/data/2"};
    const size_t sizes[] = {size, 24, 8, 8};
    size_t offsets[4];
    uint8_t *at = file;
    for (int i = 0; i < 4; i++) {
        offsets[i] = (size_t)(at - file);
        at = put_member(at, false, names[i], sizes[i], 0);
        for (size_t k = 0; k < sizes[i]; k++) *at++ = i == 0 ? pickle[k] : (uint8_t)(k * 37);
    }
    uint8_t *begin = at;
    for (int i = 0; i < 4; i++) at = put_member(at, true, names[i], sizes[i], offsets[i]);
    size_t length = (size_t)(at - begin);
    at = put(put(at, 0x06054B50, 8), 0x00040004, 4);
    at = put(put(at, length, 4), (uint64_t)(begin - file), 4);
    return (size_t)(put(at, 0, 2) - file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t file[PICKLE_SPACE + 1024];
    if (size < 1 || size > PICKLE_SPACE) return 0;
    check_by(rapt__tensors_open_any_memory, file, make_archive(file, bytes, size), 300);
    return 0;
}
