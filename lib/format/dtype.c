/* dtype.c - the element types of files, named as in safetensors, and their conversions.

       F16  s eeeee mmmmmmmmmm   (-1)^s 2^(e-15) 1.m;  e = 0: (-1)^s 2^-14 0.m;  e = 31: inf, NaN
       BF16 the upper half of an F32

   The bytes to convert are little-endian on every machine. Sources: IEEE 754-2019, section 3.4; for
   names and sizes, the Dtype list of safetensors (Hugging Face, version 0.6). */
#include "tensors.h"

#include <stdint.h>
#include <string.h>

static uint32_t little(const unsigned char *bytes, int count)
{
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint32_t)bytes[i] << 8 * i;
    return value;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void from_f32(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = float_of(little(bytes + 4 * i, 4));
}

static void from_bf16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = float_of(little(bytes + 2 * i, 2) << 16);
}

/* Converts an F16 exactly. A subnormal F16 is an integer times 2^-24; as a float, the product is
   normal or 0. There are no branches, so compilers can vectorize the loop in from_f16. */
static float half(uint32_t bits)
{
    uint32_t rest = (bits & 0x7FFFu) << 13, add = rest < 31u << 23 ? 112u << 23 : 224u << 23;
    float tiny = (float)(int32_t)(bits & 0x3FF) * 0x1p-24f;
    uint32_t small, subnormal = 0u - (rest < 1u << 23);
    memcpy(&small, &tiny, sizeof small);
    return float_of((bits & 0x8000u) << 16 | (small & subnormal) | ((rest + add) & ~subnormal));
}

static void from_f16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = half(bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8);
}

/* Rounds to the nearest float. Values that are too large become infinite. */
static void from_f64(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = little(bytes + 8 * i, 4) | (uint64_t)little(bytes + 8 * i + 4, 4) << 32;
        double value;
        memcpy(&value, &bits, sizeof value);
        data[i] = (float)value;
    }
}

/* ---- integers: two's complement ---- */

static void from_i8(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (float)((bytes[i] ^ 0x80) - 0x80);
}

static void from_i16(const unsigned char *bytes, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)((int)(little(bytes + 2 * i, 2) ^ 0x8000u) - 0x8000);
}

static void unsigned_8(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = bytes[i];
}

static void unsigned_16(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = little(bytes + 2 * i, 2);
}

static void unsigned_32(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = little(bytes + 4 * i, 4);
}

static void signed_8(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (int64_t)(bytes[i] ^ 0x80) - 0x80;
}

static void signed_16(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (int64_t)(little(bytes + 2 * i, 2) ^ 0x8000) - 0x8000;
}

static void signed_32(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (int64_t)(little(bytes + 4 * i, 4) ^ 0x80000000u) - 0x80000000ll;
}

static void signed_64(const unsigned char *bytes, size_t count, int64_t *data)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = little(bytes + 8 * i, 4) | (uint64_t)little(bytes + 8 * i + 4, 4) << 32;
        memcpy(&data[i], &bits, sizeof bits);
    }
}

static const struct dtype dtypes[] = {
    {"F32", 32, from_f32, NULL},    {"F16", 16, from_f16, NULL},
    {"BF16", 16, from_bf16, NULL},  {"F64", 64, from_f64, NULL},
    {"I8", 8, from_i8, signed_8},   {"I16", 16, from_i16, signed_16},
    {"BOOL", 8, NULL, unsigned_8},  {"U8", 8, NULL, unsigned_8},
    {"U16", 16, NULL, unsigned_16}, {"U32", 32, NULL, unsigned_32},
    {"I32", 32, NULL, signed_32},   {"I64", 64, NULL, signed_64},
    {"U64", 64, NULL, NULL},        {"F8_E5M2", 8, NULL, NULL},
    {"F8_E4M3", 8, NULL, NULL},     {"F8_E8M0", 8, NULL, NULL},
    {"F8_E5M2FNUZ", 8, NULL, NULL}, {"F8_E4M3FNUZ", 8, NULL, NULL},
    {"F6_E2M3", 6, NULL, NULL},     {"F6_E3M2", 6, NULL, NULL},
    {"F4", 4, NULL, NULL},          {"C64", 64, NULL, NULL},
};

const struct dtype *rapt__dtype_find(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i];
    return NULL;
}
