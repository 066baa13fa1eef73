/* scales.c - reads and writes the metadata entry "rapt.scales", which holds the quantization scale
   of each row of a parameter, and alpha, the scale of the activations that the parameter
   multiplies. The entry is treated as untrusted. It consists of lines

       NAME FIRST ROWS SCALE ALPHA

   where rows [FIRST, FIRST + ROWS) of parameter NAME have this scale and alpha; 0 means unknown. If
   rows have many different scales, SCALE is # followed by the bits of each row's scale as 8
   lower-case hexadecimal digits, because parsing a decimal number for every row of a model would
   take seconds. An index of the lines, sorted by name, is built when the metadata is set. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

struct scale_line {
    const char *name;
    size_t name_size;
    int first, rows;
    float scale, alpha;
    const char *each; /* hexadecimal digits of each row's scale, or NULL if all rows have `scale` */
};

enum {
    DIGITS = 8,   /* digits of a scale */
    MOST_RUNS = 8 /* with more runs of equal scales, # is used */
};

/* Copies the word that ends at the next space or line break, and moves *at past the word and past a
   space after it. Returns false if the word is empty or too long. */
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

/* 16 + the value of each hexadecimal digit, and 0 for other characters. Digits and letters
   alternate at random, so branches would be mispredicted. */
/* clang-format off */
static const unsigned char digit_of[256] = {
    ['0'] = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ['a'] = 26, 27, 28, 29, 30, 31};
/* clang-format on */

/* Reads 8 digits. Returns false unless they are the bits of a finite float that is not negative. */
static bool read_each(const char *text, float *scale)
{
    uint32_t bits = 0;
    for (int i = 0; i < DIGITS; i++) {
        const uint32_t digit = digit_of[(unsigned char)text[i]];
        if (!digit) return false;
        bits = bits << 4 | (digit & 15);
    }
    memcpy(scale, &bits, sizeof *scale);
    return bits < 0x7f800000;
}

static bool take_scales(const char **at, struct scale_line *line)
{
    float scale;
    line->each = NULL, line->scale = 0;
    if (**at != '#') return take_float(at, &line->scale);
    line->each = ++*at;
    for (int r = 0; r < line->rows; r++, *at += DIGITS)
        if (!read_each(*at, &scale)) return false;
    return *(*at)++ == ' ';
}

static bool take_line(const char **at, struct scale_line *line)
{
    line->name = *at, line->name_size = strcspn(*at, " \n");
    *at += line->name_size;
    if (line->name_size == 0 || **at != ' ') return false;
    ++*at;
    if (!take_whole(at, &line->first) || !take_whole(at, &line->rows) || !take_scales(at, line) ||
        !take_float(at, &line->alpha) || **at != '\n')
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

/* Counts the lines, including an unterminated last one. */
static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; count++) {
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : text + strlen(text);
    }
    return count;
}

rapt_status rapt__scales_index(rapt_model *m)
{
    const char *text = rapt_model_metadata(m, SCALES_KEY), *at = text;
    struct scale_line line;
    rapt__scales_free(m);
    if (!text || !*text) return RAPT_OK;
    size_t count = count_lines(text), size = count * sizeof *m->notes.scale_lines;
    m->notes.scale_lines = rapt__alloc(&m->allocator, size);
    if (!m->notes.scale_lines) return RAPT_NO_MEMORY;
    m->notes.scale_count = count;
    for (size_t i = 0; *at; i++) {
        size_t start = (size_t)(at - text);
        if (!take_line(&at, &line)) {
            rapt__scales_free(m);
            m->notes.bad_scale_line = (int)rapt__min_size(i, INT32_MAX - 1) + 1;
            return RAPT_OK;
        }
        m->notes.scale_lines[i] = start;
    }
    rapt__sort(m->notes.scale_lines, count, sizeof *m->notes.scale_lines, by_name_of_line, text);
    return RAPT_OK;
}

/* Finds the first line whose name is not less than `name`. Returns its position in the index. */
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

/* Returns the line number, counted from 1, of the line that starts at offset `at`. */
static size_t number_of(const char *text, size_t at)
{
    size_t number = 1;
    for (size_t i = 0; i < at; i++) number += text[i] == '\n';
    return number;
}

/* Reads the lines for a name into scales and alphas [rows], either of which may be NULL. If these
   lines cover more than `rows` rows in all, they are rejected as damaged, since reading them could
   take quadratic time. */
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
        for (int r = 0; r < line.rows; r++) {
            if (line.each) read_each(line.each + (size_t)r * DIGITS, &line.scale);
            if (scales) scales[line.first + r] = line.scale;
            if (alphas) alphas[line.first + r] = line.alpha;
        }
    }
    return RAPT_OK;
}

rapt_status rapt_model_scales(const rapt_model *m, int index, float *scales, float *alphas,
                              rapt_message *why)
{
    if (!m) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    if (index < 0 || index >= m->layout.count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d; the model has %d tensors", index,
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

/* Makes room for `more` bytes and a terminating NUL. */
static rapt_status make_room(struct scale_text *t, const rapt_allocator *allocator, size_t more,
                             rapt_message *why)
{
    while (t->size + more + 1 > t->capacity) {
        char *text = rapt__grown(allocator, t->text, &t->capacity, 1);
        if (!text) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
        t->text = text;
    }
    return RAPT_OK;
}

static void append_word(struct scale_text *t, const char *word)
{
    size_t size = strlen(word);
    memcpy(t->text + t->size, word, size + 1);
    t->size += size;
}

static void append_float(struct scale_text *t, float x)
{
    char word[FLOAT_TEXT];
    rapt__float_write(x, word);
    append_word(t, word);
}

static void append_digits(struct scale_text *t, const float *scales, size_t count)
{
    char *at = t->text + t->size;
    for (size_t r = 0; r < count; r++, at += DIGITS) {
        uint32_t bits;
        memcpy(&bits, scales + r, sizeof bits);
        for (int i = DIGITS - 1; i >= 0; i--, bits >>= 4) at[i] = "0123456789abcdef"[bits & 15];
    }
    *at = 0, t->size += count * DIGITS;
}

/* Appends one line for rows that share one scale or each have their own. */
static rapt_status append_line(struct scale_text *t, const rapt_allocator *allocator,
                               const struct scale_rows *rows, rapt_message *why)
{
    char start[256];
    size_t digits = rows->same ? 0 : rows->count * DIGITS;
    rapt_status status = make_room(t, allocator, sizeof start + 2 * FLOAT_TEXT + digits, why);
    if (status) return status;
    snprintf(start, sizeof start, "%.160s %zu %zu ", rows->name, rows->first, rows->count);
    append_word(t, start);
    if (rows->same) {
        append_float(t, *rows->scales);
    } else {
        append_word(t, "#");
        append_digits(t, rows->scales, rows->count);
    }
    append_word(t, " ");
    append_float(t, rows->alpha);
    append_word(t, "\n");
    return RAPT_OK;
}

static size_t end_of_run(const struct scale_rows *rows, size_t first)
{
    size_t end = first + 1;
    if (rows->same) return rows->count;
    while (end < rows->count && rows->scales[end] == rows->scales[first]) end++;
    return end;
}

rapt_status rapt__scales_append(struct scale_text *t, const rapt_allocator *allocator,
                                const struct scale_rows *rows, rapt_message *why)
{
    size_t runs = 0;
    for (size_t at = 0; at < rows->count && runs <= MOST_RUNS; at = end_of_run(rows, at)) runs++;
    if (runs > MOST_RUNS) return append_line(t, allocator, rows, why);
    rapt_status status = RAPT_OK;
    for (size_t at = 0, end; !status && at < rows->count; at = end) {
        end = end_of_run(rows, at);
        const struct scale_rows run = {.name = rows->name,
                                       .first = rows->first + at,
                                       .count = end - at,
                                       .scales = rows->scales + at,
                                       .same = true,
                                       .alpha = rows->alpha};
        if (*run.scales > 0 || run.alpha > 0) status = append_line(t, allocator, &run, why);
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
    for (int n = 0; n < m->layout.count && !status; n++) {
        const struct parameter *p = &m->layout.parameters[n];
        const struct scale_rows rows = {
            .name = p->name, .count = (size_t)p->rows, .scales = scales, .alpha = alphas[n]};
        status = rapt_model_scales(m, n, scales, NULL, why);
        if (!status) status = rapt__scales_append(&text, &m->allocator, &rows, why);
    }
    const struct scale_rows product = {
        .name = "none", .count = 1, .scales = &(float){0}, .alpha = none};
    if (!status) status = rapt__scales_append(&text, &m->allocator, &product, why);
    if (!status && rapt__metadata_replace(m, SCALES_KEY, text.text))
        status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for scales");
    rapt__free(&m->allocator, text.text, text.capacity);
    rapt__free(&m->allocator, scales, bytes);
    return status;
}
