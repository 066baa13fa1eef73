/* containers.c - any bytes as a file of tensors of another project, and all of it read (tensors.h).
   The first bytes decide what it is read as, so the targets ct2, marian, npz and torch differ only
   in their seeds and in FUZZ_EXPANSION: bytes of memory per byte of the file. Deflate makes up to
   1032 bytes of one. */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14) check_by(rapt__tensors_open_any_memory, bytes, size, FUZZ_EXPANSION);
    return 0;
}
