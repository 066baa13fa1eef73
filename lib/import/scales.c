/* scales.c - keeps the scales and alphas of a file's tensors as metadata. See model/scales.c. */
#include "import/parts.h"

rapt_status rapt__import_keep_scale(struct import *i, const char *name, size_t first, size_t rows,
                                    float scale, float alpha)
{
    return rapt__scales_append(&i->scales, &i->lasting, name, first, rows, scale, alpha, i->why);
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
