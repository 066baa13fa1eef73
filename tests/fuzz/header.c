/* header.c - any text as the header of a safetensors file. The file has the correct length in front
   of it and, after it, as many bytes of data as the first two bytes of the input say. */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2 || size > 1 << 13) return 0;
    size_t header = size - 2, data = (size_t)(bytes[0] % 4 * 256 + bytes[1]);
    uint8_t *file = malloc(8 + header + data);
    require(file != NULL, "memory for the test itself");
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)header >> 8 * i);
    memcpy(file + 8, bytes + 2, header);
    for (size_t i = 0; i < data; i++) file[8 + header + i] = (uint8_t)(i * 37);
    check_file(file, 8 + header + data);
    free(file);
    return 0;
}
