/* cache.c - folders of Hugging Face's cache, in which refs/main names a revision in snapshots and
   files are links to blobs: the model of the revision is opened, and wrong names are refused. */
#define _POSIX_C_SOURCE 200809L
#include "import/recorded.h"

#include <sys/stat.h>

#define REVISION "0123abcd0123abcd0123abcd0123abcd0123abcd"
static const char *const names[] = {"model.safetensors", "config.json", "sentencepiece.bpe.model"};

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/bart.txt", note) ? 0 : -1;
}

/* Writes the path of a folder in the cache, which is made. */
static char *make(char to[400], const char *cache, const char *name)
{
    snprintf(to, 400, "%s/%s", cache, name);
    assert_true(mkdir(to, 0700) == 0);
    return to;
}

/* Makes a folder of the cache whose snapshot has links to its files. */
static void write_cache(char cache[256])
{
    static const struct change none = {.more = NULL};
    char blobs[400], snapshots[400], one[400], refs[400], link[500], to[300];
    folder_make(cache, "cache");
    make(refs, cache, "refs"), make(blobs, cache, "blobs"), make(snapshots, cache, "snapshots");
    make(one, cache, "snapshots/" REVISION);
    write_tensors(blobs, find_model("mbart"), &none);
    write_pieces(blobs, PIECES);
    write_settings(blobs, find_model("mbart"), NULL);
    for (int i = 0; i < COUNT(names); i++) {
        snprintf(link, sizeof link, "%s/%s", one, names[i]);
        snprintf(to, sizeof to, "../../blobs/%s", names[i]);
        assert_int_equal(symlink(to, link), 0);
    }
}

static void clear(const char *cache)
{
    static const char *const refs[] = {"main"};
    char path[400];
    snprintf(path, sizeof path, "%s/snapshots/" REVISION, cache);
    folder_remove(path, names, COUNT(names));
    snprintf(path, sizeof path, "%s/snapshots/other", cache);
    rmdir(path);
    snprintf(path, sizeof path, "%s/snapshots", cache);
    rmdir(path);
    snprintf(path, sizeof path, "%s/blobs", cache);
    folder_remove(path, names, COUNT(names));
    snprintf(path, sizeof path, "%s/refs", cache);
    folder_remove(path, refs, 1);
    assert_int_equal(rmdir(cache), 0);
}

static void write_main(const char *cache, const char *text)
{
    char refs[400];
    snprintf(refs, sizeof refs, "%s/refs", cache);
    folder_text(refs, "main", text);
}

static void test_opened(void **state)
{
    (void)state;
    char cache[256];
    write_cache(cache);
    judge(cache, find_model("mbart"), 64); /* the only snapshot */
    write_main(cache, REVISION);
    judge(cache, find_model("mbart"), 64);
    write_main(cache, REVISION "\n");
    judge(cache, find_model("mbart"), 64);
    folder_without_memory(cache);
    clear(cache);
}

static void test_refused(void **state)
{
    (void)state;
    char cache[256], other[400];
    write_cache(cache);
    write_main(cache, "0123abce");
    folder_refused(cache, "refs/main names the revision 0123abce, which is not in snapshots");
    write_main(cache, "../blobs");
    folder_refused(cache, "refs/main does not name a revision");
    write_main(cache, "");
    folder_refused(cache, "refs/main does not name a revision");
    write_main(cache, "0123abcd 1");
    folder_refused(cache, "refs/main does not name a revision");
    snprintf(other, sizeof other, "%s/refs/main", cache);
    assert_int_equal(unlink(other), 0);
    make(other, cache, "snapshots/other");
    folder_refused(cache, "snapshots has 2 folders");
    clear(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_opened),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, read_all, free_records);
}
