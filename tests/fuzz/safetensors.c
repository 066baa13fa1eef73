/* safetensors.c - any bytes opened as a safetensors file, and all of it read (tensors.h). */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size <= 1 << 14) check_file(bytes, size);
    return 0;
}
