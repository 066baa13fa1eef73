/* spm_real.c - encodes two books with the real SentencePiece models in RAPT_DATA, and compares the
   number of ids and their hash with those of SentencePiece 0.2.3 (its Python package, EncodeAsIds
   of each line). */
#define _GNU_SOURCE /* getline */
#include "../skips.h"
#include "help.h"
#include "text/text.h"

#include <unistd.h>

enum { LINES = 1000 }; /* of each book */

static const struct {
    const char *model;
    size_t ids;
    uint32_t hash;
} known[] = {
    {"sentencepiece/test_model.model", 26369, 0x0DE8D6C1},
    {"sentencepiece/test_ja_model.model", 249674, 0xD3BC524B},
    {"sentencepiece/joeynmt_sp200.model", 46735, 0xD3A926AA},
    {"sentencepiece/en.wiki.bpe.vs100000.model", 22009, 0x35BD85FD},
    {"bergamot/ende/vocab.deen.spm", 21631, 0x3BC5D7E5},
    {"bergamot/encs/vocab.csen.spm", 245265, 0x08E653D3},
    {"firefox-tiny-enpt/vocab.enpt.spm", 21329, 0x3DA8C8C6},
    {"opus-mt-hf/en-mg/source.spm", 247505, 0xEE041743},
    {"opus-mt-hf/en-mg/target.spm", 259390, 0x599647F9},
    {"opus-mt-hf/en-pt/source.spm", 20901, 0xF7DABCDF},
    {"opus-mt-hf/en-pt/target.spm", 29651, 0x4DB7251B},
};
static const char *const books[] = {"sentencepiece/botchan.txt",
                                    "sentencepiece/wagahaiwa_nekodearu.txt"};

/* FNV-1a. */
static uint32_t hashed(uint32_t hash, const char *text)
{
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* Adds the ids of a line to a hash, in decimal, separated by spaces and followed by a line feed. */
static uint32_t hash_line(uint32_t hash, const rapt_tokenizer *t, rapt_text line, size_t *ids)
{
    size_t bound = rapt_tokenizer_bound(t, line.size), count = 0;
    int32_t *found = malloc((bound + 1) * sizeof *found);
    char number[16];
    assert_non_null(found);
    assert_int_equal(rapt_tokenizer_encode(t, line, found, NULL, bound, &count, NULL), RAPT_OK);
    assert_true(count <= rapt__tokenizer_most(t, line));
    assert_true(rapt__tokenizer_most(t, line) <= bound);
    for (size_t i = 0; i < count; i++) {
        snprintf(number, sizeof number, i > 0 ? " %d" : "%d", (int)found[i]);
        hash = hashed(hash, number);
    }
    free(found);
    *ids += count;
    return hashed(hash, "\n");
}

/* Two ways to cut a run of hyphens or dots have the same score, and versions of SentencePiece
   choose different ones. */
static bool is_tie(const char *line)
{
    return strstr(line, "----") || strstr(line, "\xE2\x80\xA6\xE2\x80\xA6\xE2\x80\xA6");
}

static uint32_t hash_book(uint32_t hash, const rapt_tokenizer *t, const char *path, size_t *ids)
{
    FILE *file = fopen(path, "rb");
    char *line = NULL;
    size_t capacity = 0;
    assert_non_null(file);
    for (int i = 0; i < LINES; i++) {
        ssize_t size = getline(&line, &capacity, file);
        assert_true(size > 0);
        if (is_tie(line)) continue;
        while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r')) size--;
        hash = hash_line(hash, t, (rapt_text){line, (size_t)size}, ids);
    }
    free(line);
    fclose(file);
    return hash;
}

static void test_books(void **state)
{
    char path[DATA_PATH];
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        rapt_tokenizer *t = NULL;
        rapt_message why = {""};
        uint32_t hash = 2166136261u;
        size_t ids = 0;
        if (!data_path("text/spm_real", known[i].model, path)) return;
        if (rapt_tokenizer_load(&t, path, NULL, &why)) fail_msg("%s", why.text);
        for (size_t b = 0; b < sizeof books / sizeof *books; b++) {
            assert_true(data_path("text/spm_real", books[b], path));
            hash = hash_book(hash, t, path, &ids);
        }
        if (ids != known[i].ids || hash != known[i].hash)
            fail_msg("%s: %zu ids, 0x%08X", known[i].model, ids, (unsigned)hash);
        rapt_tokenizer_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
