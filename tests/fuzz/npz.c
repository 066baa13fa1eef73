/* npz.c - any bytes as an npz file, and all of it read (tensors.h). Deflate makes 1032 bytes of
 * one. */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14) check_by(rapt__tensors_open_any_memory, bytes, size, 1500);
    return 0;
}
