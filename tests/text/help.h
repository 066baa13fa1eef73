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

/* Counts allocations. Allocation number `fails`, from 0, fails. */
struct counting {
    long calls, fails, living;
};

static inline void *counting_alloc(void *user, size_t bytes)
{
    struct counting *counting = user;
    if (counting->calls++ == counting->fails) return NULL;
    char *memory = aligned_alloc(64, 64 + (bytes + 63) / 64 * 64);
    if (!memory) return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    memset(memory + 64, 0xA5, bytes); /* so that memory is not 0 by chance */
    counting->living++;
    return memory + 64;
}

static inline void counting_free(void *user, void *memory, size_t bytes)
{
    struct counting *counting = user;
    size_t taken;
    memcpy(&taken, (char *)memory - 64, sizeof taken);
    assert_int_equal(taken, bytes);
    counting->living--;
    free((char *)memory - 64);
}

static inline rapt_allocator counting_allocator(struct counting *counting)
{
    return (rapt_allocator){counting_alloc, counting_free, counting};
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
