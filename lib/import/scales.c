/* scales.c - stores the scales and alphas of a file's tensors as metadata. See model/scales.c. */
#include "import/parts.h"

enum { SOME = 4096 }; /* rows whose scales are read at a time */

rapt_status rapt__import_keep_alpha(struct import *i, const char *name, float alpha)
{
    const struct scale_rows rows = {
        .name = name, .count = 1, .scales = &(float){0}, .same = true, .alpha = alpha};
    return rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
}

rapt_status rapt__import_keep_scales(struct import *i, const char *name, size_t first, size_t count,
                                     const struct tensor_entry *e)
{
    float scales[SOME] = {e->scale};
    struct scale_rows rows = {.name = name, .scales = scales, .alpha = e->alpha};
    rapt_status status = RAPT_OK;
    rows.same = e->scales == 1;
    if (!rows.same && (e->scales != count || e->transposed)) return RAPT_OK;
    for (size_t done = 0; done < count && !status; done += rows.count) {
        rows.first = first + done;
        rows.count = rows.same ? count : rapt__min_size(count - done, SOME);
        if (!rows.same) status = rapt__tensors_scales(i->file, e, done, rows.count, scales, i->why);
        if (!status) status = rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
    }
    return status;
}
