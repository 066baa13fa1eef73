/* scales.c - keeps the scales and alphas of a file's tensors as metadata. See model/scales.c. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

rapt_status rapt__import_keep_scale(struct import *i, const char *name, size_t first, size_t rows,
                                    float scale, float alpha)
{
    char line[IMPORT_NAME + 2 * FLOAT_TEXT + 64], a[FLOAT_TEXT], b[FLOAT_TEXT];
    rapt__float_write(scale, a);
    rapt__float_write(alpha, b);
    snprintf(line, sizeof line, "%s %zu %zu %s %s\n", name, first, rows, a, b);
    size_t size = strlen(line);
    while (i->scales_size + size + 1 > i->scales_capacity) {
        char *more = rapt__grown(&i->lasting, i->scales, &i->scales_capacity, 1);
        if (!more) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for its scales");
        i->scales = more;
    }
    memcpy(i->scales + i->scales_size, line, size + 1);
    i->scales_size += size;
    return RAPT_OK;
}

rapt_status rapt__import_keep_scales(struct import *i, const char *name, size_t first, size_t rows,
                                     const struct tensor_entry *e)
{
    float scale = 0, last = 0;
    size_t from = 0;
    if (e->scales == 1) return rapt__import_keep_scale(i, name, first, rows, e->scale, e->alpha);
    if (e->scales != rows || e->transposed) return RAPT_OK;
    for (size_t row = 0; row <= rows; row++) {
        rapt_status status = RAPT_OK;
        if (row < rows) status = rapt__tensors_scales(i->file, e, row, 1, &scale, i->why);
        if (!status && row > 0 && (row == rows || scale != last)) {
            status = rapt__import_keep_scale(i, name, first + from, row - from, last, e->alpha);
            from = row;
        }
        if (status) return status;
        last = scale;
    }
    return RAPT_OK;
}
