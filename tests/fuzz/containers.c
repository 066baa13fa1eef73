/* containers.c - reads any bytes as a file of tensors of another project, with all its tensors
   (tensors.h). The first bytes determine the format, so the targets ct2, marian, npz and torch
   differ only in their seeds. */
#include "tensors.h"

/* Returns how many bytes of memory a byte of the file may need. Deflate makes up to 1032 bytes of
   one, and a byte of a pickle may push a value of 32 bytes. */
static size_t expansion(const uint8_t *bytes, size_t size)
{
    if (size > 1 && memcmp(bytes, "PK", 2) == 0) return 1500;
    return size > 0 && bytes[0] == 0x80 ? 300 : 16;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14)
        check_by(rapt__tensors_open_any_memory, bytes, size, expansion(bytes, size));
    return 0;
}
