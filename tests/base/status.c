/* status.c - every status has its own text; messages are truncated to their capacity; the version
   is right. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void texts(void **state)
{
    (void)state;
    for (int status = RAPT_NOT_FINITE; status <= RAPT_OK; status++)
        for (int other = RAPT_NOT_FINITE; other <= RAPT_OK; other++) {
            const char *a = rapt_status_text((rapt_status)status);
            assert_true(strlen(a) > 3);
            assert_int_equal(strcmp(a, rapt_status_text((rapt_status)other)) == 0, status == other);
        }
    assert_string_equal(rapt_status_text((rapt_status)-99), "unknown status");
}

static void reasons(void **state)
{
    (void)state;
    rapt_message why;
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(rapt__fail(&why, RAPT_BAD_FILE, "%s %d", "seven", 7), RAPT_BAD_FILE);
    assert_string_equal(why.text, "seven 7");
    assert_int_equal(rapt__fail(&why, RAPT_NO_FILE, "%s", longer), RAPT_NO_FILE);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    assert_int_equal(rapt__fail(NULL, RAPT_NO_MEMORY, "%s", longer), RAPT_NO_MEMORY);
    memcpy(longer + sizeof why.text - 2, "\xC3\xA9", 2); /* cut within a character */
    rapt__fail(&why, RAPT_BAD_FILE, "%s", longer);
    assert_string_equal(why.text + sizeof why.text - 3, "x?");
    rapt__fail(&why, RAPT_BAD_FILE, "model_type is %s", "mar\x1B]0;x\x07\xFF");
    assert_string_equal(why.text, "model_type is mar?]0;x??");
}

static void version(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR,
             RAPT_VERSION_PATCH);
    assert_string_equal(rapt_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(reasons),
                                       cmocka_unit_test(version)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
