/* average.c - checkpoint averaging: the mean of the parameters at the end of the last epochs
   (Vaswani et al. 2017, section 6.1), summed oldest first, in double. */
#include "learner.h"
#include <stdlib.h>

static void copy_out(const rapt_model *model, float *data)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        rapt_model_read(model, i, data, NULL);
        data += (size_t)tensor.rows * (size_t)tensor.columns;
    }
}

static void copy_in(rapt_model *model, const float *data)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        rapt_model_write(model, i, data, NULL);
        data += (size_t)tensor.rows * (size_t)tensor.columns;
    }
}

void average_create(struct average *average, const rapt_model *model, int epochs)
{
    *average = (struct average){.capacity = epochs > 1 ? epochs : 0};
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        average->size += (size_t)tensor.rows * (size_t)tensor.columns;
    }
    average->epochs = xcalloc((size_t)average->capacity, sizeof *average->epochs);
    if (average->capacity > 0) average->raw = xcalloc(average->size, sizeof *average->raw);
}

void average_add(struct average *average, const rapt_model *model)
{
    if (average->capacity == 0) return;
    int slot = (average->first + average->count) % average->capacity;
    if (average->count < average->capacity)
        average->count++;
    else
        average->first = (average->first + 1) % average->capacity;
    if (average->epochs[slot] == NULL)
        average->epochs[slot] = xcalloc(average->size, sizeof *average->epochs[slot]);
    copy_out(model, average->epochs[slot]);
}

bool average_last(const struct average *average, rapt_model *model)
{
    if (average->count == 0) return false;
    copy_in(model, average->epochs[(average->first + average->count - 1) % average->capacity]);
    return true;
}

void average_apply(struct average *average, rapt_model *model)
{
    copy_out(model, average->raw);
    float *mean = xcalloc(average->size, sizeof *mean);
    for (size_t i = 0; i < average->size; i++) {
        double sum = (double)average->epochs[average->first][i]; /* -0 remains -0 */
        for (int e = 1; e < average->count; e++)
            sum += (double)average->epochs[(average->first + e) % average->capacity][i];
        mean[i] = (float)(sum / average->count);
    }
    copy_in(model, mean);
    free(mean);
}

void average_undo(struct average *average, rapt_model *model)
{
    copy_in(model, average->raw);
}

void average_free(struct average *average)
{
    for (int e = 0; e < average->capacity; e++) free(average->epochs[e]);
    free(average->epochs);
    free(average->raw);
    *average = (struct average){0};
}
