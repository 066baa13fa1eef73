/* scales.c - finds the scale and alpha of each row of a parameter in the metadata "rapt.scales",
   which are not trusted. They consist of lines

       NAME FIRST ROWS SCALE ALPHA

   where rows [FIRST, FIRST + ROWS) of parameter NAME have this scale and alpha; 0 means unknown. */
#include "model/model.h"

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

static bool is_of(const struct scale_line *line, const char *name)
{
    return strlen(name) == line->name_size && memcmp(name, line->name, line->name_size) == 0;
}

/* Reads the lines for a name into scales and alphas [rows], either of which may be NULL. */
static rapt_status read_lines(const rapt_model *m, const char *name, int rows, float *scales,
                              float *alphas, rapt_message *why)
{
    const char *at = rapt_model_metadata(m, SCALES_KEY);
    for (int r = 0; r < rows; r++) {
        if (scales) scales[r] = 0;
        if (alphas) alphas[r] = 0;
    }
    for (int number = 1; at && *at; number++) {
        struct scale_line line;
        if (!take_line(&at, &line) ||
            (is_of(&line, name) && (line.first > rows || line.rows > rows - line.first)))
            return rapt__fail(why, RAPT_BAD_FILE, "metadata %s: line %d is damaged", SCALES_KEY,
                              number);
        if (!is_of(&line, name)) continue;
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
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d, the model has %d parameters", index,
                          m->layout.count);
    const struct parameter *p = &m->layout.parameters[index];
    return read_lines(m, p->name, p->rows, scales, alphas, why);
}

rapt_status rapt__scales_named(const rapt_model *m, const char *name, float *scale, float *alpha,
                               rapt_message *why)
{
    return read_lines(m, name, 1, scale, alpha, why);
}
