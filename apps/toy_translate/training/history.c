/* history.c - the validations of a run as JSON in the checkpoint, [[epoch, step, training loss,
   validation loss], ...], and back. Values from a file are checked. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void history_add(struct history *history, struct history_point point)
{
    if (history->count == history->capacity)
        history->points =
            xreallocarray(history->points, history->capacity = 2 * history->capacity + 64,
                          sizeof *history->points);
    history->points[history->count++] = point;
}

char *history_text(const struct history *history)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->count; i++) {
        const struct history_point *p = &history->points[i];
        put_item(list, json_pack("[I, I, o, o]", (json_int_t)p->epoch, (json_int_t)p->step,
                                 number(p->train), number(p->valid)));
    }
    char *text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(list);
    if (text == NULL) exit(failed("out of memory"));
    return text;
}

static bool read_loss(const json_t *value, double *loss)
{
    *loss = json_is_null(value) ? (double)NAN : json_number_value(value);
    return json_is_null(value) || (json_is_number(value) && *loss >= 0 && *loss <= 1e300);
}

static bool read_point(const json_t *row, struct history_point *point)
{
    const json_t *epoch = json_array_get(row, 0), *step = json_array_get(row, 1);
    if (json_array_size(row) != 4 || !json_is_integer(epoch) || !json_is_integer(step))
        return false;
    point->epoch = json_integer_value(epoch);
    point->step = json_integer_value(step);
    if (point->epoch < 0 || point->epoch > 1000000000) return false;
    if (point->step < 0 || point->step > 1000000000000000) return false;
    return read_loss(json_array_get(row, 2), &point->train) &&
           read_loss(json_array_get(row, 3), &point->valid);
}

bool history_parse(struct history *history, const char *text)
{
    json_t *list = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_array(list);
    struct history_point point;
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        good = read_point(json_array_get(list, i), &point);
        if (good && history->count > 0)
            good = point.step > history->points[history->count - 1].step;
        if (good) history_add(history, point);
    }
    json_decref(list);
    return good;
}

void history_free(struct history *history)
{
    free(history->points);
    *history = (struct history){0};
}
