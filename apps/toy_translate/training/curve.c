/* curve.c - OUT.svg, the learning curve: perplexity of training and validation data by epoch, on a
   logarithmic scale. A file of that name that is not a learning curve is not overwritten. */
#include "kit/svg.h"
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 720, HEIGHT = 420 };
static const char mark[] = "Learning curve of toy_translate";

static char *curve_path(const struct learner *learner)
{
    return xasprintf("%s.svg", learner->recipe->out);
}

/* Returns true if the file is a learning curve, by the title at its beginning. */
static bool is_ours(const char *path)
{
    struct stat about;
    char bytes[1024];
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    return strstr(bytes, mark) != NULL;
}

/* Fills in epochs and base-10 logarithms of perplexities, without losses that are not finite.
   Returns their number. */
static int points_of(const struct history *history, bool valid, double *xs, double *ys)
{
    int count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_point *p = &history->points[i];
        double loss = valid ? p->valid : p->train;
        if (!isfinite(loss)) continue;
        xs[count] = (double)p->epoch;
        ys[count++] = loss / log(10);
    }
    return count;
}

static void widen_range(const double *ys, int count, double *from, double *to)
{
    for (int i = 0; i < count; i++) {
        *from = fmin(*from, ys[i]);
        *to = fmax(*to, ys[i]);
    }
}

static void draw_ticks(struct svg *svg, const struct chart *chart)
{
    static const double steps[] = {1, 1.5, 2, 3, 5, 7};
    double last = INFINITY;
    for (int power = -1; power < 300; power++)
        for (int s = 0; s < 6; s++) {
            double value = steps[s] * pow(10, power), level = log10(value);
            if (level < chart->from[1] || level > chart->to[1]) continue;
            double y = chart_y(chart, level);
            if (last - y < 22) continue;
            last = y;
            svg_line(svg, chart->x, y, chart->x + chart->width, y, "#E4E4E4", 1);
            svg_text(svg, chart->x - 8, y + 4, 12, SVG_RIGHT, "#444444", "%g", value);
        }
}

static void draw_curve(struct svg *svg, const struct chart *chart, const struct history *history,
                       bool valid)
{
    double *xs = xcalloc(history->count, sizeof *xs), *ys = xcalloc(history->count, sizeof *ys);
    int count = points_of(history, valid, xs, ys);
    const char *name = valid ? "validation" : "training", *color = chart_colors[valid];
    double *points = xcalloc(2 * (size_t)count, sizeof *points);
    for (int i = 0; i < count; i++) {
        points[2 * i] = chart_x(chart, xs[i]);
        points[2 * i + 1] = chart_y(chart, ys[i]);
    }
    svg_polyline(svg, count, points, color, 2.5, 0);
    for (int i = 0; i < count; i++) {
        svg_hint_begin(svg, "epoch %g: %s perplexity %.4g", xs[i], name, pow(10, ys[i]));
        svg_circle(svg, points[2 * i], points[2 * i + 1], count > 60 ? 2 : 3.5, color, "white");
        svg_hint_end(svg);
    }
    chart_legend(svg, chart->x + chart->width - 150, chart->y + (valid ? 38 : 16), color, name);
    free(points);
    free(xs);
    free(ys);
}

static int draw_figure(const struct learner *learner, const char *path)
{
    const struct history *history = &learner->history;
    double *xs = xcalloc(history->count, sizeof *xs), *ys = xcalloc(history->count, sizeof *ys);
    double from = INFINITY, to = -INFINITY,
           last = (double)history->points[history->count - 1].epoch;
    widen_range(ys, points_of(history, false, xs, ys), &from, &to);
    widen_range(ys, points_of(history, true, xs, ys), &from, &to);
    free(xs);
    free(ys);
    if (!(from <= to)) return EXIT_OK; /* no loss was finite */
    struct svg svg;
    char text[NUMBER_TEXT];
    perplexity_text(learner->state.best, text);
    char *title = xasprintf("%s, best validation perplexity %s", mark, text);
    int code = svg_open(&svg, path, WIDTH, HEIGHT, title);
    free(title);
    if (code != EXIT_OK) return code;
    double step = chart_step(fmax(last, 1), 10);
    struct chart chart = {.x = 80,
                          .y = 60,
                          .width = WIDTH - 120,
                          .height = HEIGHT - 130,
                          .from = {0, fmin(from, to - 0.05) - 0.03},
                          .to = {fmax(last, 2), to + 0.03},
                          .step = {fmax(step, 1), 0},
                          .title = "Perplexity per token",
                          .labels = {"epoch", "perplexity"}};
    chart_frame(&svg, &chart);
    draw_ticks(&svg, &chart);
    draw_curve(&svg, &chart, history, false);
    draw_curve(&svg, &chart, history, true);
    return svg_close(&svg);
}

void curve_draw(struct learner *learner)
{
    struct stat about;
    if (!learner->recipe->curve || learner->history.count == 0) return;
    char *path = curve_path(learner);
    bool refused = stat(path, &about) == 0 && !is_ours(path);
    if (!refused)
        draw_figure(learner, path);
    else if (!learner->curve_refused)
        print_message("%s is not a learning curve; it is not overwritten", path);
    learner->curve_refused = refused;
    free(path);
}

bool curve_exists(const struct learner *learner)
{
    char *path = curve_path(learner);
    bool exists = learner->recipe->curve && is_ours(path);
    free(path);
    return exists;
}

/* ---- the validations of a run as JSON in the checkpoint, [[epoch, step, training loss, validation
   loss], ...], and back. Values from a file are checked ---- */

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
