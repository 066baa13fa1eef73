/* hf_json.c - any bytes as tokenizer.json. Each type of model must be refused with a reason or
   become a tokenizer that encodes a text within its bound, in memory bounded by the size of the
   file. */
#include "fuzz.h"
#include "temporary.h"

#include "format/inflate.h"
#include "import/hf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 300, LARGEST = 1 << 15 };

static char folder[TEMPORARY], path[TEMPORARY + 32];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(const uint8_t *bytes, size_t size)
{
    if (folder[0] == 0) {
        require(temporary_folder(folder) != NULL, "a folder");
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        atexit(remove_folder);
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(file >= 0 && write(file, bytes, size) == (ssize_t)size, "a written file");
    close(file);
}

static void check_tokenizer(const rapt_tokenizer *t)
{
    static const char text[] = "a ab  the\tcat's <mask>, en_XX\xC3\xA9<extra_id_0>\xFF";
    int32_t ids[512];
    size_t ends[512], count = 0;
    const rapt_text all = {text, sizeof text - 1};
    require(rapt_tokenizer_vocab(t) == ROWS, "a token for each row");
    const size_t bound = rapt_tokenizer_bound(t, all.size);
    const rapt_status status = rapt_tokenizer_encode(t, all, ids, ends, 512, &count, NULL);
    require(status == RAPT_OK || status == RAPT_NO_MEMORY || status == RAPT_BAD_ARGUMENT,
            "encoding");
    if (status) return;
    require(count <= bound, "the bound");
    for (size_t i = 0; i < count; i++)
        require(ids[i] >= 0 && ids[i] < ROWS && ends[i] <= all.size, "ids and ends");
}

/* Checks one type of model. `more` is the memory that is allowed for a file without bytes. */
static void check_type(const char *type, uint64_t hash, size_t size, size_t more)
{
    static struct import i;
    struct counted counted = counted_by(hash, 6);
    rapt_message why = {""};
    i = (struct import){.why = &why, .allocator = counted_allocator(&counted)};
    snprintf(i.folder, sizeof i.folder, "%s/", folder);
    i.config.source_vocab = ROWS;
    const rapt_status status = rapt__hf_json(&i, type);
    require((status == RAPT_OK) == (i.source != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 64 * size + more, "memory in proportion to the file");
    if (i.source) check_tokenizer(i.source);
    rapt_tokenizer_free(i.source);
    require(counted.now == 0, "all memory is given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > LARGEST) return 0;
    /* A file of zstd may inflate to 4 MB more, and needs a window of up to 8 MB. */
    const size_t more = size >= 4 && rapt__is_zstd(bytes) ? 1 << 25 : 1 << 18;
    write_file(bytes, size);
    check_type("WordPiece", input_hash(bytes, size), size, more);
    check_type("BPE", input_hash(bytes, size) + 1, size, more);
    check_type("Unigram", input_hash(bytes, size) + 2, size, more);
    return 0;
}
