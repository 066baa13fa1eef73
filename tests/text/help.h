/* help.h - shared by the tests of lib/text: random numbers, a failing allocator, checks of
   refusals. */
#ifndef RAPT_TESTS_TEXT_HELP_H
#define RAPT_TESTS_TEXT_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../counting.h"
#include "text/text.h"

/* splitmix64 (Steele and Vigna) */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline size_t below(uint64_t *state, size_t n)
{
    return (size_t)(next_random(state) % n);
}

static inline rapt_text text_of(const char *string)
{
    return (rapt_text){string, strlen(string)};
}

/* Checks that a call was refused with a reason that contains the phrase. */
static inline void refused(rapt_status status, rapt_message *why, const char *phrase)
{
    assert_int_equal(status, RAPT_BAD_ARGUMENT);
    if (!strstr(why->text, phrase)) print_error("\"%s\", not \"%s\"\n", why->text, phrase);
    assert_non_null(strstr(why->text, phrase));
    why->text[0] = 0;
}

/* Learns a tokenizer from a text. The caller frees it. */
static inline rapt_tokenizer *learned(const char *string, int vocab)
{
    rapt_tokenizer *tokenizer = NULL;
    rapt_text text = text_of(string);
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_learn(&tokenizer, &text, 1, vocab, NULL, &why);
    if (status) print_error("%s\n", why.text);
    assert_int_equal(status, RAPT_OK);
    return tokenizer;
}

static const char tale[] =
    "the miller of the low mill had three hens and the hens had the whole mill to themselves; "
    "the miller's three sons milled and milled, and the hens, three white hens, hid in the hay. "
    "der Müller der unteren Mühle hatte drei Hühner, und die Hühner hatten die ganze Mühle; "
    "die Söhne mahlten und mahlten, und die drei Hühner saßen müde auf der Mühle. 1212 12 1212.";

#endif
