/* scales.c - finds the quantization scale of each row of a parameter, and alpha, the scale of the
   activations that are multiplied by it, in the metadata entry "rapt.scales". The entry is not
   trusted. It consists of lines

       NAME FIRST ROWS SCALE ALPHA

   where rows [FIRST, FIRST + ROWS) of parameter NAME have this scale and alpha; 0 means unknown. An
   index of the lines, sorted by name, is made when the metadata is set, since there may be a line
   for every row of the model. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

struct scale_line {
    const char *name;
    size_t name_size;
    int first, rows;
    float scale, alpha;
};

/* Copies the word that ends at the next space or line break. Returns false if it is empty or too
   long. */
static bool take_word(const char **at, char word[FLOAT_TEXT])
{
    size_t size = strcspn(*at, " \n");
    if (size == 0 || size >= FLOAT_TEXT) return false;
    memcpy(word, *at, size);
    word[size] = 0;
    *at += size;
    *at += **at == ' ';
    return true;
}

static bool take_whole(const char **at, int *value)
{
    char word[FLOAT_TEXT];
    int sum = 0, n = 0;
    if (!take_word(at, word)) return false;
    for (; word[n] >= '0' && word[n] <= '9' && sum < 1 << 26; n++) sum = 10 * sum + (word[n] - '0');
    *value = sum;
    return n > 0 && !word[n];
}

static bool take_float(const char **at, float *value)
{
    char word[FLOAT_TEXT];
    return take_word(at, word) && rapt__float_read(word, value) && *value >= 0;
}

static bool take_line(const char **at, struct scale_line *line)
{
    line->name = *at, line->name_size = strcspn(*at, " \n");
    *at += line->name_size;
    if (line->name_size == 0 || **at != ' ') return false;
    ++*at;
    if (!take_whole(at, &line->first) || !take_whole(at, &line->rows) ||
        !take_float(at, &line->scale) || !take_float(at, &line->alpha) || **at != '\n')
        return false;
    ++*at;
    return true;
}

/* ---- the index ---- */

static int compare_names(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int order = memcmp(a, b, rapt__min_size(a_size, b_size));
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_name_of_line(const void *context, const void *x, const void *y)
{
    const char *text = context;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    int order = compare_names(text + a, strcspn(text + a, " "), text + b, strcspn(text + b, " "));
    return order ? order : (a > b) - (a < b);
}

void rapt__scales_free(rapt_model *m)
{
    rapt__free(&m->allocator, m->notes.scale_lines,
               m->notes.scale_count * sizeof *m->notes.scale_lines);
    m->notes.scale_lines = NULL, m->notes.scale_count = 0, m->notes.bad_scale_line = 0;
}

rapt_status rapt__scales_index(rapt_model *m)
{
    const char *text = rapt_model_metadata(m, SCALES_KEY), *at = text;
    struct scale_line line;
    size_t count = 0;
    rapt__scales_free(m);
    for (; at && *at && !m->notes.bad_scale_line; count++)
        if (!take_line(&at, &line))
            m->notes.bad_scale_line = (int)rapt__min_size(count, INT32_MAX - 1) + 1;
    if (count == 0 || m->notes.bad_scale_line) return RAPT_OK;
    m->notes.scale_lines = rapt__alloc(&m->allocator, count * sizeof *m->notes.scale_lines);
    if (!m->notes.scale_lines) return RAPT_NO_MEMORY;
    m->notes.scale_count = count;
    at = text;
    for (size_t i = 0; i < count; i++) {
        m->notes.scale_lines[i] = (size_t)(at - text);
        take_line(&at, &line);
    }
    rapt__sort(m->notes.scale_lines, count, sizeof *m->notes.scale_lines, by_name_of_line, text);
    return RAPT_OK;
}

/* Returns the number of the first line in the index whose name is not below this one. */
static size_t first_line(const rapt_model *m, const char *text, const char *name)
{
    size_t low = 0, high = m->notes.scale_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *line = text + m->notes.scale_lines[middle];
        if (compare_names(line, strcspn(line, " "), name, strlen(name)) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- reading ---- */

static rapt_status bad_line(size_t number, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "metadata %s: line %zu is damaged", SCALES_KEY, number);
}

/* Returns the number of a line of the text, from 1. */
static size_t number_of(const char *text, size_t at)
{
    size_t number = 1;
    for (size_t i = 0; i < at; i++) number += text[i] == '\n';
    return number;
}

/* Reads the lines of a name into scales and alphas [rows], either of which may be NULL. Lines that
   cover more rows than there are could take quadratic time, and are rejected as damaged. */
static rapt_status read_lines(const rapt_model *m, const char *name, int rows, float *scales,
                              float *alphas, rapt_message *why)
{
    const char *text = rapt_model_metadata(m, SCALES_KEY);
    for (int r = 0; r < rows; r++) {
        if (scales) scales[r] = 0;
        if (alphas) alphas[r] = 0;
    }
    if (m->notes.bad_scale_line) return bad_line((size_t)m->notes.bad_scale_line, why);
    int left = rows;
    for (size_t i = first_line(m, text, name); i < m->notes.scale_count; i++) {
        struct scale_line line;
        const char *at = text + m->notes.scale_lines[i];
        take_line(&at, &line);
        if (compare_names(line.name, line.name_size, name, strlen(name)) != 0) break;
        if (line.first > rows || line.rows > rows - line.first || line.rows > left)
            return bad_line(number_of(text, m->notes.scale_lines[i]), why);
        left -= line.rows;
        for (int r = line.first; r < line.first + line.rows; r++) {
            if (scales) scales[r] = line.scale;
            if (alphas) alphas[r] = line.alpha;
        }
    }
    return RAPT_OK;
}

rapt_status rapt_model_scales(const rapt_model *m, int index, float *scales, float *alphas,
                              rapt_message *why)
{
    if (!m) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    if (index < 0 || index >= m->layout.count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d; the model has %d parameters", index,
                          m->layout.count);
    const struct parameter *p = &m->layout.parameters[index];
    return read_lines(m, p->name, p->rows, scales, alphas, why);
}

rapt_status rapt__scales_named(const rapt_model *m, const char *name, float *scale, float *alpha,
                               rapt_message *why)
{
    return read_lines(m, name, 1, scale, alpha, why);
}

/* ---- writing ---- */

rapt_status rapt__scales_append(struct scale_text *t, const rapt_allocator *allocator,
                                const char *name, size_t first, size_t rows, float scale,
                                float alpha, rapt_message *why)
{
    char line[256], a[FLOAT_TEXT], b[FLOAT_TEXT];
    rapt__float_write(scale, a);
    rapt__float_write(alpha, b);
    size_t size =
        (size_t)snprintf(line, sizeof line, "%.160s %zu %zu %s %s\n", name, first, rows, a, b);
    while (t->size + size + 1 > t->capacity) {
        char *more = rapt__grown(allocator, t->text, &t->capacity, 1);
        if (!more) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
        t->text = more;
    }
    memcpy(t->text + t->size, line, size + 1);
    t->size += size;
    return RAPT_OK;
}

/* Appends the lines of a parameter, one for each run of rows with the same scale. */
static rapt_status append_parameter(const rapt_model *m, int index, float alpha, float *scales,
                                    struct scale_text *t, rapt_message *why)
{
    const struct parameter *p = &m->layout.parameters[index];
    rapt_status status = rapt_model_scales(m, index, scales, NULL, why);
    for (int first = 0, end; !status && first < p->rows; first = end) {
        for (end = first + 1; end < p->rows && scales[end] == scales[first]; end++) {
        }
        if (!(scales[first] > 0) && !(alpha > 0)) continue;
        status = rapt__scales_append(t, &m->allocator, p->name, (size_t)first,
                                     (size_t)(end - first), scales[first], alpha, why);
    }
    return status;
}

rapt_status rapt__scales_set_alphas(rapt_model *m, const float *alphas, float none,
                                    rapt_message *why)
{
    size_t bytes = rapt__row_sizes(&m->layout).rows * sizeof(float);
    float *scales = rapt__alloc(&m->allocator, bytes);
    struct scale_text text = {NULL, 0, 0};
    rapt_status status = RAPT_OK;
    if (!scales) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
    for (int n = 0; n < m->layout.count && !status; n++)
        status = append_parameter(m, n, alphas[n], scales, &text, why);
    if (!status && none > 0)
        status = rapt__scales_append(&text, &m->allocator, "none", 0, 1, 0, none, why);
    if (!status && rapt__metadata_replace(m, SCALES_KEY, text.text))
        status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
    rapt__free(&m->allocator, text.text, text.capacity);
    rapt__free(&m->allocator, scales, bytes);
    return status;
}
