/* reader.c - reads the sentence pairs of one file (source, tab, target; further columns are an
   error, or ignored on request) or of two files with equal numbers of lines, in order or at a known
   position. It holds only a few lines in memory. Lines end with LF or CRLF, except perhaps the
   last. A line that is not UTF-8 or has no tab is an error, which names its number. An empty line,
   or a pair with a side that is empty or longer than MAX_BYTES, is skipped and counted. */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "kit/random.h"
#include "kit/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pair_inputs_open(struct pair_inputs *inputs, const struct pair_files *files)
{
    bool two = files->data == NULL;
    *inputs = (struct pair_inputs){.two = two, .more_columns = files->more_columns};
    int code = input_open(&inputs->side[0], two ? files->source : files->data);
    if (code == EXIT_OK && two) code = input_open(&inputs->side[1], files->target);
    return code;
}

void pair_inputs_close(struct pair_inputs *inputs)
{
    for (int i = 0; i < 2; i++) input_close(&inputs->side[i]);
}

/* ---- lines ---- */

/* Reads a chunk after the bytes of the unfinished line. */
static int read_more(struct line_reader *lines)
{
    size_t got, size = lines->chunk;
    lines->size -= lines->at;
    lines->from += lines->at;
    if (lines->at > 0 && lines->size > 0)
        memmove(lines->bytes, lines->bytes + lines->at, lines->size);
    lines->at = 0;
    if (lines->size > size) size = lines->size; /* doubles the buffer of a long line */
    if (lines->bytes == NULL || lines->capacity < lines->size + size)
        lines->bytes = xreallocarray(lines->bytes, lines->capacity = lines->size + size, 1);
    int code =
        input_read(lines->input, lines->from + lines->size, lines->bytes + lines->size, size, &got);
    lines->size += got;
    lines->ended = got < size;
    return code;
}

/* Reads the next line without its end, unvalidated; *more becomes false at the end of the file. */
static int take_raw_line(struct line_reader *lines, bool *more)
{
    const char *end = NULL;
    size_t seen = 0; /* bytes of the line in which no line feed was found */
    int code = EXIT_OK;
    while (code == EXIT_OK) {
        size_t left = lines->size - lines->at - seen;
        end = left > 0 ? memchr(lines->bytes + lines->at + seen, '\n', left) : NULL;
        seen += left;
        if (end != NULL || lines->ended) break;
        code = read_more(lines);
    }
    *more = code == EXIT_OK && lines->at < lines->size;
    if (!*more) return code;
    const char *begin = lines->bytes + lines->at;
    size_t size = end != NULL ? (size_t)(end - begin) : lines->size - lines->at;
    lines->at += size + (end != NULL);
    lines->number++;
    if (size > 0 && begin[size - 1] == '\r') size--;
    lines->line = (rapt_text){begin, size};
    return EXIT_OK;
}

/* Does the same, and fails unless the line is UTF-8. */
static int next_valid_line(struct line_reader *lines, bool *more)
{
    int code = take_raw_line(lines, more);
    if (code != EXIT_OK || !*more) return code;
    size_t bad = rapt_utf8_valid(lines->line);
    if (bad == lines->line.size) return EXIT_OK;
    return failed("%s:%zu: byte %zu is not valid UTF-8", lines->input->name, lines->number,
                  bad + 1);
}

/* Fails if lines seem to end with CR only: if the file, or a first part that is longer than a
   sentence may be, has CRs but no LF. */
static int check_line_ends(const struct line_reader *lines)
{
    bool enough = lines->ended || lines->size > MAX_BYTES;
    if (!enough || memchr(lines->bytes, '\n', lines->size) != NULL) return EXIT_OK;
    if (memchr(lines->bytes, '\r', lines->size - 1) == NULL) return EXIT_OK;
    return failed("%s: lines end with CR, but LF is needed; convert them with tr '\\r' '\\n'",
                  lines->input->name);
}

static int open_lines(struct line_reader *lines, const struct input *input, size_t chunk)
{
    *lines = (struct line_reader){.input = input, .chunk = chunk};
    int code = EXIT_OK;
    while (code == EXIT_OK && lines->size < 3 && !lines->ended) code = read_more(lines);
    if (code != EXIT_OK) return code;
    if (lines->size == 0) return failed("%s: the file is empty", input->name);
    code = text_check(input->name, lines->bytes, lines->size);
    if (code == EXIT_OK) code = check_line_ends(lines);
    if (code != EXIT_OK) return code;
    if (lines->size >= 3 && memcmp(lines->bytes, "\xEF\xBB\xBF", 3) == 0) lines->at = 3;
    return EXIT_OK;
}

/* ---- pairs ---- */

int reader_open(struct pair_reader *reader, const struct pair_inputs *inputs, size_t chunk)
{
    *reader = (struct pair_reader){.inputs = inputs};
    int code = open_lines(&reader->side[0], &inputs->side[0], chunk);
    if (code == EXIT_OK && inputs->two)
        code = open_lines(&reader->side[1], &inputs->side[1], chunk);
    return code;
}

void reader_seek(struct pair_reader *reader, struct position position)
{
    for (int i = 0; i < 2; i++) {
        struct line_reader *lines = &reader->side[i];
        uint64_t at = position.at[i];
        lines->number = position.line;
        if (at >= lines->from && at - lines->from <= lines->size) {
            lines->at = (size_t)(at - lines->from); /* the bytes are still in memory */
            continue;
        }
        lines->from = at;
        lines->size = lines->at = 0;
        lines->ended = false;
    }
}

/* Splits a line at tabs. Returns false if it has only one column. *more becomes true if it has more
   than two. */
static bool split_columns(rapt_text line, rapt_text *source, rapt_text *target, bool *more)
{
    const char *tab = line.size > 0 ? memchr(line.bytes, '\t', line.size) : NULL;
    if (tab == NULL) return false;
    *source = (rapt_text){line.bytes, (size_t)(tab - line.bytes)};
    *target = (rapt_text){tab + 1, line.size - source->size - 1};
    const char *third = target->size > 0 ? memchr(target->bytes, '\t', target->size) : NULL;
    *more = third != NULL;
    if (third != NULL) target->size = (size_t)(third - target->bytes);
    return true;
}

static int next_of_one(struct pair_reader *reader, bool *more)
{
    struct line_reader *lines = &reader->side[0];
    bool third;
    int code = next_valid_line(lines, more);
    if (code != EXIT_OK || !*more) return code;
    if (lines->line.size == 0) { /* counts as a pair with empty sides */
        reader->source = reader->target = lines->line;
        return EXIT_OK;
    }
    if (!split_columns(lines->line, &reader->source, &reader->target, &third))
        return failed("%s:%zu: no tab between source and target; for two parallel files use "
                      "--source and --target",
                      lines->input->name, lines->number);
    if (third && !reader->inputs->more_columns)
        return failed("%s:%zu: there is a third column; use --more-columns to ignore it",
                      lines->input->name, lines->number);
    return EXIT_OK;
}

static int count_differs(struct line_reader *longer, const struct line_reader *shorter)
{
    bool more = true;
    while (more)
        if (next_valid_line(longer, &more) != EXIT_OK) return EXIT_FAILED;
    return failed("%s has %zu lines, but %s has %zu", longer->input->name, longer->number,
                  shorter->input->name, shorter->number);
}

static int next_of_two(struct pair_reader *reader, bool *more)
{
    struct line_reader *a = &reader->side[0], *b = &reader->side[1];
    bool also = false;
    int code = next_valid_line(a, more);
    if (code == EXIT_OK) code = next_valid_line(b, &also);
    if (code != EXIT_OK) return code;
    if (*more != also) return *more ? count_differs(a, b) : count_differs(b, a);
    reader->source = a->line;
    reader->target = b->line;
    return EXIT_OK;
}

/* Returns true if the pair last read is to be skipped, and counts it. */
static bool skip_pair(struct pair_reader *reader)
{
    struct skipped *out = &reader->skipped;
    size_t line = reader->side[0].number;
    if (reader->source.size > MAX_BYTES || reader->target.size > MAX_BYTES) {
        if (out->too_long++ == 0) out->first_long = line;
    } else if (reader->source.size == 0 || reader->target.size == 0) {
        if (out->empty++ == 0) out->first_empty = line;
    } else {
        return false;
    }
    return true;
}

static struct position position_of(const struct pair_reader *reader)
{
    const struct line_reader *a = &reader->side[0], *b = &reader->side[1];
    return (struct position){{a->from + a->at, b->from + b->at}, a->number};
}

int reader_next(struct pair_reader *reader, bool *more)
{
    int code;
    do {
        reader->position = position_of(reader);
        code = reader->inputs->two ? next_of_two(reader, more) : next_of_one(reader, more);
    } while (code == EXIT_OK && *more && skip_pair(reader));
    return code;
}

int reader_again(struct pair_reader *reader, struct position position, bool *same)
{
    bool third;
    reader_seek(reader, position);
    int code = take_raw_line(&reader->side[0], same);
    if (code != EXIT_OK || !*same) return code;
    reader->source = reader->side[0].line;
    if (!reader->inputs->two) {
        *same = split_columns(reader->source, &reader->source, &reader->target, &third);
        return EXIT_OK;
    }
    code = take_raw_line(&reader->side[1], same);
    reader->target = reader->side[1].line;
    return code;
}

size_t reader_lines(const struct pair_reader *reader)
{
    return reader->side[0].number;
}

void reader_report(const struct pair_reader *reader)
{
    const struct skipped *out = &reader->skipped;
    const char *name = reader->inputs->side[0].name;
    if (out->empty > 0)
        print_message("%s:%zu: a side is empty; %zu such %s skipped", name, out->first_empty,
                      out->empty, out->empty == 1 ? "pair is" : "pairs are");
    if (out->too_long > 0)
        print_message("%s:%zu: a sentence has more than %d bytes; %zu such %s skipped", name,
                      out->first_long, MAX_BYTES, out->too_long,
                      out->too_long == 1 ? "pair is" : "pairs are");
}

void reader_close(struct pair_reader *reader)
{
    free(reader->side[0].bytes);
    free(reader->side[1].bytes);
    *reader = (struct pair_reader){0};
}

static uint64_t hash_text(uint64_t hash, rapt_text text)
{
    return (hash_bytes(hash, text.bytes, text.size) ^ text.size) * HASH_PRIME;
}

uint64_t reader_hash(uint64_t hash, const struct pair_reader *reader)
{
    return hash_text(hash_text(hash, reader->source), reader->target);
}

uint32_t reader_digest(const struct pair_reader *reader)
{
    uint64_t hash = reader_hash(HASH_EMPTY, reader);
    return (uint32_t)(hash ^ hash >> 32);
}

/* ---- the bytes of a file at any offset. A regular file stays open and is read as needed, even
   after its name is gone. Pipes, which can be read only once, and compressed files are held in
   memory ---- */

int input_open(struct input *input, const char *path)
{
    struct stat about;
    char first[4];
    *input = (struct input){.name = path, .file = -1};
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return file_read(path, &input->held, &input->size);
    input->file = file_open(path);
    if (input->file < 0) return failed("%s: %s", path, strerror(errno));
    const ssize_t got = pread(input->file, first, sizeof first, 0);
    if (got <= 0 || !is_packed(first, (size_t)got)) return EXIT_OK;
    close(input->file);
    input->file = -1;
    return file_read(path, &input->held, &input->size);
}

struct input input_over(const char *name, char *bytes, size_t size)
{
    return (struct input){.name = name, .file = -1, .held = bytes, .size = size};
}

int input_read(const struct input *input, uint64_t at, char *bytes, size_t size, size_t *got)
{
    *got = 0;
    if (input->file < 0) {
        size_t left = at < input->size ? input->size - (size_t)at : 0;
        *got = left < size ? left : size;
        if (*got > 0) memcpy(bytes, input->held + at, *got);
        return EXIT_OK;
    }
    while (*got < size) {
        ssize_t more = pread(input->file, bytes + *got, size - *got, (off_t)(at + *got));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return failed("%s: %s", input->name, strerror(errno));
        if (more == 0) break;
        *got += (size_t)more;
    }
    return EXIT_OK;
}

void input_close(struct input *input)
{
    if (input->file >= 0 && input->name != NULL) close(input->file);
    free(input->held);
    *input = (struct input){.file = -1};
}
