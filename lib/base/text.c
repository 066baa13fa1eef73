/* text.c - floats as decimal text, and UTF-8. */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- decimal: converts floats to decimal text and back. Writing rounds a float to the fewest
   digits (at most 9) that read back as the same float. Reading returns the nearest float, ties to
   even. Everything that affects results is computed with integers, so the locale, rounding mode and
   flush-to-zero of the host do not matter. ---- */

/* A midpoint between two floats is m 2^e with m below 2^25 and e at least -150. Its number of
   significant digits is largest if e is -150: 2^-150 has 105, and m adds at most 8. */
enum { DIGITS = 128, SHORT = 9, MAX_BITS = 0x7f7fffff };

/* The number 0.d0 d1 d2 ... times 10^exponent, where d0 is not 0; zero if `count` is 0. */
struct decimal {
    int count, exponent;
    unsigned char digit[DIGITS];
};

/* Multiplies the number whose `count` decimal digits are in `digit`, lowest first, by `factor`.
   Returns the new number of digits. */
static int multiply_decimal(unsigned char *digit, int count, uint32_t factor)
{
    uint32_t carry = 0;
    for (int i = 0; i < count || carry; i++) {
        carry += (i < count ? digit[i] : 0u) * factor;
        digit[i] = (unsigned char)(carry % 10);
        carry /= 10;
        if (i >= count) count = i + 1;
    }
    return count;
}

/* Expands m 2^e exactly, as m 5^-e 10^e if e < 0. */
static struct decimal expand(uint32_t m, int e)
{
    struct decimal d = {0};
    unsigned char low[DIGITS] = {1};
    int n = m ? multiply_decimal(low, 1, m) : 0;
    uint32_t base = e < 0 ? 5 : 2;
    for (int left = e < 0 ? -e : e; left > 0 && n > 0; left -= left < 8 ? left : 8) {
        uint32_t factor = 1;
        for (int i = 0; i < left && i < 8; i++) factor *= base;
        n = multiply_decimal(low, n, factor);
    }
    for (int i = 0; i < n; i++) d.digit[i] = low[n - 1 - i];
    d.count = n;
    d.exponent = e < 0 ? n + e : n;
    return d;
}

static int compare_decimals(const struct decimal *a, const struct decimal *b)
{
    if (!a->count || !b->count) return (a->count > 0) - (b->count > 0);
    if (a->exponent != b->exponent) return a->exponent < b->exponent ? -1 : 1;
    return memcmp(a->digit, b->digit, DIGITS); /* unused digits are 0 */
}

/* Splits the float with these bits into m 2^e. */
static void split_float(uint32_t bits, uint32_t *m, int *e)
{
    bool subnormal = bits < 1u << 23;
    *m = subnormal ? bits : (bits & 0x7fffff) | 0x800000;
    *e = subnormal ? -149 : (int)(bits >> 23) - 150;
}

/* Returns true if d rounds to the float with these bits or a smaller one, that is, if it is at most
   the midpoint between this float and the next. If d is this midpoint, it rounds to whichever of
   the two floats is even. */
static bool at_most(const struct decimal *d, uint32_t bits)
{
    uint32_t m;
    int e;
    split_float(bits, &m, &e);
    struct decimal middle = expand(2 * m + 1, e - 1);
    int order = compare_decimals(d, &middle);
    return order < 0 || (order == 0 && bits % 2 == 0);
}

/* Returns the bits of the float that is nearest to n / d, ties to even. Requires n > 0, d < 2^63
   and a quotient of at least 2^-126. */
static uint32_t divide(uint64_t n, uint64_t d)
{
    uint64_t q = n / d, rest = n % d;
    uint32_t exponent = 150; /* biased exponent of a float with 24-bit significand q */
    for (; q < 1u << 25; exponent--) {
        rest <<= 1;
        q = 2 * q + (rest >= d);
        if (rest >= d) rest -= d;
    }
    bool inexact = rest != 0;
    for (; q >> 25; exponent++) inexact |= q & 1, q >>= 1;
    bool up = (q & 1) && (inexact || (q & 2));
    q = (q >> 1) + up;
    return ((exponent + 1) << 23) + (uint32_t)(q - (1u << 23)); /* if q is 2^24, this carries into
                                                                   the exponent */
}

/* Computes the float that is nearest to d, using 64-bit integers. Returns false if they cannot hold
   the digits of d, or if d is too large or too small. */
static bool nearest(const struct decimal *d, uint32_t *bits)
{
    enum { MOST = 18 }; /* 10^18 < 2^60 */
    int power = d->exponent - d->count;
    uint64_t n = 0, scale = 1;
    *bits = 0;
    if (d->count == 0) return true;
    if (d->count > MOST || d->exponent > MOST || power < -MOST) return false;
    for (int i = 0; i < d->count; i++) n = 10 * n + d->digit[i];
    for (; power > 0; power--) n *= 10;
    for (; power < 0; power++) scale *= 10;
    *bits = divide(n, scale);
    return true;
}

/* Returns true if d rounds to the float with these bits. */
static bool rounds_to(const struct decimal *d, uint32_t bits)
{
    uint32_t found;
    if (nearest(d, &found)) return found == bits;
    return at_most(d, bits) && !at_most(d, bits - 1);
}

/* Rounds d to n digits; halves are rounded up. */
static struct decimal rounded(const struct decimal *d, int n)
{
    struct decimal r = {0};
    if (d->count <= n) return *d;
    r.count = n, r.exponent = d->exponent;
    memcpy(r.digit, d->digit, (size_t)n);
    int i = n - 1;
    for (bool up = d->digit[n] >= 5; up && i >= 0; i--) {
        up = r.digit[i] == 9;
        r.digit[i] = up ? 0 : (unsigned char)(r.digit[i] + 1);
    }
    if (r.digit[0] == 0) r.digit[0] = 1, r.exponent++;
    while (r.count > 1 && r.digit[r.count - 1] == 0) r.count--;
    return r;
}

/* Writes numbers like "0.0025", "4" and "1.5e-42". */
static void write(const struct decimal *d, char *text)
{
    int point = d->exponent; /* digits before the decimal point */
    bool plain = point > -4 && point <= SHORT;
    if (plain && point <= 0) *text++ = '0', *text++ = '.';
    for (int i = plain ? point : 0; i < 0; i++) *text++ = '0';
    for (int i = 0; i < d->count || (plain && i < point); i++) {
        if (i > 0 && i == (plain ? point : 1)) *text++ = '.';
        *text++ = (char)('0' + (i < d->count ? d->digit[i] : 0));
    }
    if (!plain) {
        int exponent = point - 1;
        *text++ = 'e';
        if (exponent < 0) *text++ = '-', exponent = -exponent;
        if (exponent > 9) *text++ = (char)('0' + exponent / 10);
        *text++ = (char)('0' + exponent % 10);
    }
    *text = 0;
}

void rapt__float_write(float x, char text[FLOAT_TEXT])
{
    uint32_t bits, m;
    int e;
    memcpy(&bits, &x, sizeof bits);
    if (bits >> 31) *text++ = '-', bits &= 0x7fffffff;
    if (bits == 0) {
        strcpy(text, "0");
        return;
    }
    split_float(bits, &m, &e);
    const struct decimal exact = expand(m, e);
    struct decimal d = exact;
    for (int n = 1; n <= SHORT; n++) {
        d = rounded(&exact, n);
        if (rounds_to(&d, bits)) break;
    }
    write(&d, text);
}

const char *rapt__number_write(double x, char text[FLOAT_TEXT])
{
    bool is_float = x >= -(double)FLT_MAX && x <= (double)FLT_MAX;
    if (!is_float)
        snprintf(text, FLOAT_TEXT, "%s", x > 0 ? "inf" : x < 0 ? "-inf" : "nan");
    else if (x > -1e15 && x < 1e15 && (double)(long long)x == x && (x != 0 || !signbit(x)))
        snprintf(text, FLOAT_TEXT, "%lld", (long long)x);
    else
        rapt__float_write((float)x, text);
    return text;
}

/* ---- decimal: reading ---- */

/* Appends a run of digits to d. Returns false if the run is empty or a nonzero digit does not
   fit. */
static bool read_digits(const char **text, struct decimal *d, bool fraction)
{
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (d->count < DIGITS && (d->count > 0 || *at != '0'))
            d->digit[d->count++] = (unsigned char)(*at - '0');
        else if (*at != '0')
            return false;
        d->exponent += fraction ? (d->count == 0 ? -1 : 0) : d->count > 0;
    }
    bool any = at > *text;
    *text = at;
    return any;
}

static bool read_exponent(const char **text, struct decimal *d)
{
    const char *at = *text + 1;
    bool negative = *at == '-', any = false;
    int exponent = 0;
    if (*at == '-' || *at == '+') at++;
    for (; *at >= '0' && *at <= '9'; at++, any = true)
        if (exponent < 100000) exponent = 10 * exponent + (*at - '0');
    d->exponent += negative ? -exponent : exponent;
    *text = at;
    return any;
}

/* Returns the bits of a float that is usually near d >= 0, computed from the first digits of d.
   Rounding modes and flushed denormals can make this estimate worse, but it is only the starting
   point of a search. */
static uint32_t estimate(const struct decimal *d)
{
    enum { FIRST = 15, RANGE = 60 };
    double value = 0;
    int n = d->count < FIRST ? d->count : FIRST, power = d->exponent - n;
    if (d->exponent > RANGE || d->exponent < -RANGE) return d->exponent > 0 ? MAX_BITS : 0;
    for (int i = 0; i < n; i++) value = 10 * value + d->digit[i];
    for (; power > 0; power--) value *= 10;
    for (; power < 0; power++) value /= 10;
    if (!(value < (double)FLT_MAX)) return MAX_BITS;
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the bits of the float that is nearest to d, found by exact comparisons. d must round to a
   finite float. */
static uint32_t search(const struct decimal *d)
{
    uint32_t low = 0, high = MAX_BITS;
    uint32_t near = estimate(d); /* the nearest float is usually this one or a neighbor */
    if (near > 1 && !at_most(d, near - 2)) low = near - 1;
    if (near < MAX_BITS && at_most(d, near + 1)) high = near + 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (at_most(d, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool rapt__float_read(const char *text, float *x)
{
    struct decimal d = {0};
    uint32_t sign = *text == '-' ? 1u << 31 : 0, bits;
    if (sign) text++;
    if (!read_digits(&text, &d, false)) return false;
    if (*text == '.' && (text++, !read_digits(&text, &d, true))) return false;
    if ((*text == 'e' || *text == 'E') && !read_exponent(&text, &d)) return false;
    if (*text) return false;
    if (!nearest(&d, &bits)) {
        if (!at_most(&d, MAX_BITS)) return false;
        bits = search(&d);
    }
    bits |= sign;
    memcpy(x, &bits, sizeof *x);
    return true;
}

/* ---- utf8: decodes and encodes UTF-8. Overlong forms, surrogates and values above U+10FFFF are
   invalid. Source: RFC 3629, sections 3 and 4. ---- */

size_t rapt__utf8_decode(const void *bytes, size_t size, uint32_t *code)
{
    const unsigned char *b = bytes;
    if (size == 0) return 0;
    unsigned lead = b[0];
    size_t length = lead < 0x80                   ? 1
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xF0 && lead < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || length > size) return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!rapt__utf8_continues(b[i])) return 0;
        value = value << 6 | (b[i] & 0x3F);
    }
    if (length == 3 && (value < 0x800 || (value >= 0xD800 && value < 0xE000))) return 0;
    if (length == 4 && (value < 0x10000 || value > 0x10FFFF)) return 0;
    *code = value;
    return length;
}

size_t rapt__utf8_encode(uint32_t code, void *bytes)
{
    unsigned char *b = bytes;
    if (code < 0x80) {
        b[0] = (unsigned char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6) b[i] = (unsigned char)(0x80 | (code & 0x3F));
    b[0] = (unsigned char)((0xF00u >> length & 0xF0) | code);
    return length;
}

void rapt__make_printable(char *text)
{
    for (size_t size = strlen(text); size > 0;) {
        uint32_t code = 0;
        size_t length = rapt__utf8_decode(text, size, &code);
        bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
        for (size_t i = 0; i < length && control; i++) text[i] = '?';
        if (length == 0) text[0] = '?', length = 1;
        text += length, size -= length;
    }
}
