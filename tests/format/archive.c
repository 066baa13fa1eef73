/* archive.c - tests that a zip file has the files that another program put into it, and no others.
   The packages of import/argos test all else. */
#include "containers.h"

static void test_members(void **state)
{
    (void)state;
    static const char path[] = RAPT_UNPACKED_DIR "/fuzz/seeds/archive/streamed.argosmodel";
    static const char name[] = "translate-en_de-1_0/metadata.json";
    struct archive *archive = NULL;
    struct disk_source source;
    rapt_message why = {""};
    char first;
    assert_int_equal(rapt__archive_open(&archive, path, NULL, &why), RAPT_OK);
    assert_true(rapt__archive_has(archive, name));
    assert_false(rapt__archive_has(archive, "translate-en_de-1_0/"));
    assert_int_equal(rapt__archive_read(archive, name, &source, NULL, &why), RAPT_OK);
    assert_int_equal(rapt__disk_read(&source, 0, &first, 1, &why), RAPT_OK);
    assert_int_equal(first, '{');
    rapt__disk_close(&source);
    assert_int_equal(rapt__archive_read(archive, "absent", &source, NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "has no member \"absent\""));
    rapt__archive_close(archive);
}

static void test_absent_file(void **state)
{
    (void)state;
    struct archive *archive = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt__archive_open(&archive, "/absent.argosmodel", NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "/absent.argosmodel"));
    assert_null(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_members),
                                       cmocka_unit_test(test_absent_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
