/* marian.c - any bytes as a Marian model.bin, and all of it read (tensors.h). */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14) check_by(rapt__tensors_open_any_memory, bytes, size, 16);
    return 0;
}
