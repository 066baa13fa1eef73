/* embed.c - toy_translate embed: a vector for each line of text. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1024 };

static const char purpose[] =
    "Prints the vector of each line of a file or of standard input, as numbers separated by "
    "spaces. The model is a sentence encoder (BERT, RoBERTa or MPNet) in a folder of Hugging Face, "
    "sentence-transformers or CTranslate2, or the encoder of a translator. Pooling, normalization "
    "and the maximum length are taken from the folder.";
static const char examples[] = "  toy_translate embed -m MiniLM sentences.txt\n"
                               "  toy_translate embed -m MiniLM --npy -o vectors.npy sentences.txt";

static void print_vector(const struct encoding *job, const float *vector, size_t line)
{
    if (!job->json) {
        for (size_t j = 0; j < job->width; j++)
            printf("%s%.9g", j > 0 ? " " : "", (double)vector[j]);
        putchar('\n');
        return;
    }
    json_t *list = json_array();
    for (size_t j = 0; j < job->width; j++) put_item(list, number((double)vector[j]));
    print_json(json_pack("{s:I, s:o}", "line", (json_int_t)line, "embedding", list));
}

/* Writes the header of a NumPy array [count][width] (format 1.0), padded to a multiple of 64
   bytes. */
static void print_npy_header(size_t count, size_t width)
{
    char *text =
        xasprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", count, width);
    const size_t size = strlen(text), padded = (10 + size + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\1\0", 1, 8, stdout);
    putchar((int)(padded & 255)), putchar((int)(padded >> 8));
    fputs(text, stdout);
    for (size_t i = size + 1; i < padded; i++) putchar(' ');
    putchar('\n');
    free(text);
}

/* Writes a float with its lowest byte first. */
static void print_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 4; i++) putchar((int)(bits >> 8 * i & 255));
}

static int embed_texts(const struct encoding *job, const struct texts *texts)
{
    if (job->npy) print_npy_header(texts->count, job->width);
    for (size_t first = 0, count; first < texts->count; first += count) {
        count = texts->count - first < WINDOW ? texts->count - first : WINDOW;
        float *vectors = encoding_embed(job, texts->all + first, count);
        if (vectors == NULL) return EXIT_FAILED;
        for (size_t i = 0; i < count && !job->npy; i++)
            print_vector(job, vectors + i * job->width, first + i + 1);
        for (size_t i = 0; i < count * job->width && job->npy; i++) print_float(vectors[i]);
        free(vectors);
    }
    return finish_output();
}

static int embed_to(const struct encoding *job, const struct texts *texts)
{
    struct spool spool;
    if (job->output == NULL) return embed_texts(job, texts);
    int code = spool_begin(&spool);
    if (code != EXIT_OK) return code;
    code = embed_texts(job, texts);
    const int saved = spool_end(&spool, code == EXIT_OK ? job->output : NULL);
    return code == EXIT_OK ? saved : code;
}

int command_embed(int argc, char **argv)
{
    struct encoding job = {.batch_tokens = 2048};
    /* clang-format off */
    struct option_row rows[ENCODING_ROWS + 3] = {
        [ENCODING_ROWS] =
        {"output", OPTION_OUTPUT, &job.output, "FILE", "write the vectors to this file", 0, 0, 0},
        {"json", OPTION_FLAG, &job.json, "", "print JSON, one object per line", 0, 0, 0},
        {"npy", OPTION_FLAG, &job.npy, "", "write an array of NumPy (float32) instead of text", 0, 0, 0},
    };
    /* clang-format on */
    encoding_rows(&job, rows);
    struct command command = {.name = "embed",
                              .arguments = "[FILE]",
                              .max = 1,
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (job.json && job.npy) return usage_error("embed: give --json or --npy, not both");
    return encoding_run(&job, &command, embed_to);
}
