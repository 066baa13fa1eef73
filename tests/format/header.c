/* header.c - headers that must be refused, with the reason, and unusual ones that must load. */
#include "craft.h"

#define HEAD(text)  text, sizeof(text) - 1
#define A           "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define D(dtype)    "{\"a\":{\"dtype\":" dtype ",\"shape\":[2],\"data_offsets\":[0,8]}}"
#define S(shape)    "{\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[0,8]}}"
#define O(offsets)  "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}}"
#define N(name)     "{" name ":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"
#define M(metadata) "{\"__metadata__\":" metadata "," A "}"
#define T(name, shape, offsets)                                                                    \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define X(more) "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]," more ",\"data_offsets\":[0,4]}}"
#define Z(dtype, shape)                                                                            \
    "{\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[0,0]}}"

static const struct {
    const char *header;
    size_t size, data;
    const char *reason; /* a part of the message */
} bad[] = {
    /* not a header */
    {HEAD("[]"), 0, "begin with '{'"},
    {HEAD("\"\""), 0, "begin with '{'"},
    {HEAD("12"), 0, "begin with '{'"},
    {HEAD("null"), 0, "begin with '{'"},
    {HEAD(" {}"), 0, "begin with '{'"},
    {HEAD("\n{" A "}"), 8, "begin with '{'"},
    {HEAD("\xEF\xBB\xBF{}"), 0, "begin with '{'"},
    {HEAD("\0{}"), 0, "begin with '{'"},
    {HEAD("}{"), 0, "begin with '{'"},
    {HEAD("<!DOCTYPE html><html>"), 0, "begin with '{'"},
    /* broken JSON */
    {HEAD("{ "), 0, "string expected"},
    {HEAD("{{"), 0, "string expected"},
    {HEAD("{,}"), 0, "string expected"},
    {HEAD("{a:1}"), 0, "string expected"},
    {HEAD("{'a':1}"), 0, "string expected"},
    {HEAD("{\"a\"}"), 0, "':' expected"},
    {HEAD("{\"a\",}"), 0, "':' expected"},
    {HEAD("{\"a\":}"), 0, "'{' expected"},
    {HEAD("{" A), 8, "'}' expected"},
    {HEAD("{" A ","), 8, "string expected"},
    {HEAD("{" A ",}"), 8, "string expected"},
    {HEAD("{" A "]"), 8, "'}' expected"},
    {HEAD("{" A " \"b\":1}"), 8, "'}' expected"},
    {HEAD("{" A "}}"), 8, "there is text"},
    {HEAD("{" A "}x"), 8, "there is text"},
    {HEAD("{" A "}\0"), 8, "there is text"},
    {HEAD("{" A "},"), 8, "there is text"},
    {HEAD("{" A "}{}"), 8, "there is text"},
    {HEAD("{" A "}\v"), 8, "there is text"},
    {HEAD("{/**/" A "}"), 8, "string expected"},
    {HEAD("{" A "}//"), 8, "there is text"},
    {HEAD("{\"a"), 0, "a string is not terminated"},
    {HEAD("{\"a\\"), 0, "invalid escape sequence"},
    {HEAD("{\"a\\\""), 0, "a string is not terminated"},
    /* an entry that is not an object or is incomplete */
    {HEAD("{\"a\":1}"), 0, "'{' expected"},
    {HEAD("{\"a\":null}"), 0, "'{' expected"},
    {HEAD("{\"a\":\"b\"}"), 0, "'{' expected"},
    {HEAD("{\"a\":[]}"), 0, "'{' expected"},
    {HEAD("{\"a\":{}}"), 0, "has an empty entry"},
    {HEAD("{\"a\":{\"dtype\":\"F32\"}}"), 0, "has no shape"},
    {HEAD("{\"a\":{\"dtype\":\"F32\",\"shape\":[0]}}"), 0, "has no data_offsets"},
    {HEAD("{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}"), 0, "has no dtype"},
    {HEAD("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}"), 4, "has no shape"},
    {HEAD(X("\"x\":")), 4, "value expected"},
    {HEAD(X("\"x\":[1}")), 4, "']' expected"},
    {HEAD(X("\"x\":{\"y\"}")), 4, "':' expected"},
    {HEAD("{\"a\":{\"Dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"), 4, "has no dtype"},
    {HEAD(X("\"dtype\":\"F32\"")), 4, "a duplicate key"},
    {HEAD(X("\"shape\":[1]")), 4, "a duplicate key"},
    {HEAD(X("\"\\u0064type\":\"F32\"")), 4, "a duplicate key"},
    {HEAD("{\"a\":{\"dtype\":\"F32\" \"shape\":[]}}"), 0, "'}' expected"},
    {HEAD("{\"a\":{\"dtype\":\"F32\",}}"), 0, "string expected"},
    {HEAD("{\"a\":{\"dtype\" \"F32\"}}"), 0, "':' expected"},
    {HEAD("{\"a\":{\"a\":{\"a\":{}}}}"), 0, "has no dtype"},
    {HEAD(D("F32")), 8, "string expected"},
    {HEAD(D("32")), 8, "string expected"},
    {HEAD(D("null")), 8, "string expected"},
    {HEAD(D("[\"F32\"]")), 8, "string expected"},
    {HEAD(D("\"\"")), 8, "has the unknown dtype \"\""},
    {HEAD(D("\"f32\"")), 8, "has the unknown dtype \"f32\""},
    {HEAD(D("\"F32 \"")), 8, "has the unknown dtype \"F32 \""},
    {HEAD(D("\"F33\"")), 8, "has the unknown dtype \"F33\""},
    {HEAD(D("\"F3\"")), 8, "has the unknown dtype \"F3\""},
    {HEAD(D("\"Q4_0\"")), 8, "has the unknown dtype \"Q4_0\""},
    {HEAD(D("\"F32\\u0000\"")), 8, "a NUL character"},
    {HEAD(D("\"\\u001b[31m\"")), 8, "has the unknown dtype \"?[31m\""},
    {HEAD(D("\"U8\"")), 8, "do not match"},
    {HEAD(D("\"F16\"")), 8, "do not match"},
    {HEAD(D("\"F64\"")), 8, "do not match"},
    {HEAD(D("\"I64\"")), 8, "do not match"},
    {HEAD("{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}"), 2,
     "not a whole number of bytes"},
    {HEAD("{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,2]}}"), 2,
     "not a whole number of bytes"},
    {HEAD("{\"a\":{\"dtype\":\"F6_E3M2\",\"shape\":[],\"data_offsets\":[0,1]}}"), 1,
     "not a whole number of bytes"},
    {HEAD(S("2")), 8, "'[' expected"},
    {HEAD(S("null")), 8, "'[' expected"},
    {HEAD(S("\"2\"")), 8, "'[' expected"},
    {HEAD(S("{}")), 8, "'[' expected"},
    {HEAD(S("[2")), 8, "integer expected"},
    {HEAD(S("[2,]")), 8, "integer expected"},
    {HEAD(S("[,2]")), 8, "integer expected"},
    {HEAD(S("[2 1]")), 8, "']' expected"},
    {HEAD(S("[-2]")), 8, "integer expected"},
    {HEAD(S("[-0]")), 8, "integer expected"},
    {HEAD(S("[+2]")), 8, "integer expected"},
    {HEAD(S("[2.0]")), 8, "not an integer"},
    {HEAD(S("[2e0]")), 8, "not an integer"},
    {HEAD(S("[2E0]")), 8, "not an integer"},
    {HEAD(S("[02]")), 8, "begins with 0"},
    {HEAD(S("[00]")), 8, "begins with 0"},
    {HEAD(S("[0x2]")), 8, "']' expected"},
    {HEAD(S("[\"2\"]")), 8, "integer expected"},
    {HEAD(S("[[2]]")), 8, "integer expected"},
    {HEAD(S("[null]")), 8, "integer expected"},
    {HEAD(S("[true,2]")), 8, "integer expected"},
    {HEAD(S("[NaN]")), 8, "integer expected"},
    {HEAD(S("[Infinity]")), 8, "integer expected"},
    {HEAD(S("[18446744073709551616]")), 8, "does not fit into 64 bits"},
    {HEAD(S("[99999999999999999999999999999999]")), 8, "does not fit into 64 bits"},
    {HEAD(S("[1]")), 8, "do not match"},
    {HEAD(S("[3]")), 8, "do not match"},
    {HEAD(S("[0]")), 8, "do not match"},
    {HEAD(S("[]")), 8, "do not match"},
    {HEAD(S("[2,2]")), 8, "do not match"},
    {HEAD(S("[1,1,1,1,1,1,1,1,2]")), 8, "more than 8"},
    {HEAD(S("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]")), 8, "more than 8"},
    /* shapes whose product or size in bytes wraps around to the size of the offsets */
    {HEAD(S("[18446744073709551615,2]")), 8, "product"},
    {HEAD(S("[2,18446744073709551614]")), 8, "product"},
    {HEAD(S("[2,9223372036854775807]")), 8, "has a size that overflows"},
    {HEAD(S("[2,9223372036854775808]")), 8, "product"},
    {HEAD(S("[4294967296,4294967296]")), 8, "product"},
    {HEAD(S("[4611686018427387906]")), 8, "has a size that overflows"},
    {HEAD(S("[4294967297,4294967297]")), 8, "product"},
    {HEAD(S("[6148914691236517206,3]")), 8, "product"},
    {HEAD(Z("F32", "[4611686018427387904]")), 0, "has a size that overflows"},
    {HEAD(Z("F64", "[2305843009213693952]")), 0, "has a size that overflows"},
    {HEAD(Z("F16", "[9223372036854775808]")), 0, "has a size that overflows"},
    {HEAD(Z("U8", "[65536,65536,65536,65536]")), 0, "product"},
    {HEAD(Z("F4", "[4611686018427387904]")), 0, "has a size that overflows"},
    {HEAD(Z("U8", "[0,18446744073709551615,2]")), 0, "product"},
    {HEAD(Z("U8", "[18446744073709551615,0,2]")), 0, "product"},
    {HEAD(Z("U8", "[18446744073709551615,2,0]")), 0, "product"},
    {HEAD(Z("U8", "[1]")), 0, "do not match"},
    {HEAD(O("8")), 8, "'[' expected"},
    {HEAD(O("[]")), 8, "integer expected"},
    {HEAD(O("[0]")), 8, "',' expected"},
    {HEAD(O("[0,8,8]")), 8, "']' expected"},
    {HEAD(O("[0 8]")), 8, "',' expected"},
    {HEAD(O("[0,8.0]")), 8, "not an integer"},
    {HEAD(O("[0,\"8\"]")), 8, "integer expected"},
    {HEAD(O("[null,8]")), 8, "integer expected"},
    {HEAD(O("[-8,0]")), 8, "integer expected"},
    {HEAD(O("[8,0]")), 8, "before it begins"},
    {HEAD(O("[0,7]")), 8, "do not match"},
    {HEAD(O("[1,8]")), 8, "do not match"},
    {HEAD(O("[0,9]")), 8, "end of the file"},
    {HEAD(O("[0,8]")), 7, "end of the file"},
    {HEAD(O("[0,8]")), 0, "end of the file"},
    {HEAD(O("[0,8]")), 9, "after the last tensor"},
    {HEAD(O("[1,9]")), 9, "preceded by a gap"},
    {HEAD(O("[8,16]")), 16, "preceded by a gap"},
    {HEAD(O("[16,24]")), 8, "end of the file"},
    {HEAD(O("[18446744073709551608,0]")), 8, "before it begins"},
    {HEAD(O("[18446744073709551608,18446744073709551615]")), 8, "end of the file"},
    {HEAD(O("[18446744073709551608,18446744073709551616]")), 8, "does not fit into 64 bits"},
    {HEAD(O("[0,9223372036854775808]")), 8, "end of the file"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("b", "[4]", "[0,4]") "}"), 4, "overlaps"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("b", "[4]", "[0,4]") "}"), 8, "overlaps"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("b", "[4]", "[3,7]") "}"), 7, "overlaps"},
    {HEAD("{" T("a", "[8]", "[0,8]") "," T("b", "[2]", "[2,4]") "}"), 8, "overlaps"},
    {HEAD("{" T("a", "[8]", "[0,8]") "," T("b", "[0]", "[4,4]") "}"), 8, "overlaps"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("b", "[3]", "[5,8]") "}"), 8, "preceded by a gap"},
    {HEAD("{" T("b", "[3]", "[5,8]") "," T("a", "[4]", "[0,4]") "}"), 8, "preceded by a gap"},
    {HEAD("{" T("a", "[4]", "[1,5]") "," T("b", "[3]", "[5,8]") "}"), 8, "preceded by a gap"},
    {HEAD("{" T("a", "[0]", "[4,4]") "}"), 4, "preceded by a gap"},
    {HEAD("{" T("a", "[0]", "[0,0]") "}"), 4, "after the last tensor"},
    {HEAD("{}"), 1, "after the last tensor"},
    {HEAD("{\"__metadata__\":{}}"), 64, "after the last tensor"},
    {HEAD(N("\"\"")), 8, "has no name"},
    {HEAD("{" A "," A "}"), 8, "overlaps"},
    {HEAD("{" T("a", "[0]", "[0,0]") "," T("a", "[0]", "[0,0]") "}"), 0, "occurs twice"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("a", "[4]", "[4,8]") "}"), 8, "occurs twice"},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("\\u0061", "[4]", "[4,8]") "}"), 8, "occurs twice"},
    {HEAD(N("\"a\\u0000b\"")), 8, "a NUL character"},
    {HEAD(N("\"a\0b\"")), 8, "control character"},
    {HEAD(N("\"a\nb\"")), 8, "control character"},
    {HEAD(N("\"a\x1F\"")), 8, "control character"},
    {HEAD(N("\"\\x41\"")), 8, "invalid escape sequence"},
    {HEAD(N("\"\\U0041\"")), 8, "invalid escape sequence"},
    {HEAD(N("\"\\u004\"")), 8, "four hexadecimal"},
    {HEAD(N("\"\\u00g1\"")), 8, "four hexadecimal"},
    {HEAD(N("\"\\u+041\"")), 8, "four hexadecimal"},
    {HEAD(N("\"\\uD800\"")), 8, "surrogate"},
    {HEAD(N("\"\\uDC00\"")), 8, "surrogate"},
    {HEAD(N("\"\\uDFFF\"")), 8, "surrogate"},
    {HEAD(N("\"\\uDC00\\uD800\"")), 8, "surrogate"},
    {HEAD(N("\"\\uD800\\uD800\"")), 8, "surrogate"},
    {HEAD(N("\"\\uD800\\u0041\"")), 8, "surrogate"},
    {HEAD(N("\"\\uD800\\n\"")), 8, "surrogate"},
    {HEAD(N("\"\\uD800x\"")), 8, "surrogate"},
    {HEAD(N("\"\\uD800\\uDC0\"")), 8, "four hexadecimal"},
    {HEAD(N("\"\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xBF\xBF\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xC0\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xC1\xBF\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xC3\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xC3(\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xE0\x80\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xE0\x9F\xBF\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xE2\x82\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xED\xA0\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xED\xBF\xBF\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xF0\x8F\xBF\xBF\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xF4\x90\x80\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xF5\x80\x80\x80\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xFE\"")), 8, "invalid UTF-8"},
    {HEAD(N("\"\xFF\"")), 8, "invalid UTF-8"},
    {HEAD("{\"\xF0\x9F"), 0, "invalid UTF-8"},
    {HEAD("{\"\\uD800\\"), 0, "surrogate"},
    {HEAD("{\"\\uD8"), 0, "four hexadecimal"},
    /* metadata */
    {HEAD(M("nul")), 8, "value expected"},
    {HEAD(M("true")), 8, "'{' expected"},
    {HEAD(M("null,\"__metadata__\":null")), 8, "__metadata__ occurs twice"},
    {HEAD(M("[]")), 8, "'{' expected"},
    {HEAD(M("\"x\"")), 8, "'{' expected"},
    {HEAD(M("{\"k\":1}")), 8, "string expected"},
    {HEAD(M("{\"k\":null}")), 8, "string expected"},
    {HEAD(M("{\"k\":true}")), 8, "string expected"},
    {HEAD(M("{\"k\":{}}")), 8, "string expected"},
    {HEAD(M("{\"k\":[\"v\"]}")), 8, "string expected"},
    {HEAD(M("{\"k\"}")), 8, "':' expected"},
    {HEAD(M("{\"k\":\"v\",}")), 8, "string expected"},
    {HEAD(M("{\"k\":\"v\" \"l\":\"w\"}")), 8, "'}' expected"},
    {HEAD(M("{\"k\":\"v\",\"k\":\"w\"}")), 8, "metadata \"k\" occurs twice"},
    {HEAD(M("{\"k\":\"v\",\"\\u006b\":\"v\"}")), 8, "metadata \"k\" occurs twice"},
    {HEAD(M("{},\"__metadata__\":{}")), 8, "__metadata__ occurs twice"},
    {HEAD(M("{\"k\":\"\\u0000\"}")), 8, "a NUL character"},
    {HEAD(M("{\"k\":\"\xFF\"}")), 8, "invalid UTF-8"},
    {HEAD("{\"__metadata__\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"), 8,
     "string expected"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes b = craft(bad[i].size, bad[i].header, bad[i].size, bad[i].data);
        rapt_message why = {""};
        rapt_status status = try_bytes(&b, &why);
        if (status != RAPT_BAD_FILE || !strstr(why.text, bad[i].reason))
            fail_msg("row %zu: %.*s: status %d, \"%s\", not \"%s\"", i, (int)bad[i].size,
                     bad[i].header, status, why.text, bad[i].reason);
        assert_non_null(strstr(why.text, "model in memory: "));
        assert_int_equal(try_bytes(&b, NULL), RAPT_BAD_FILE);
        free(b.data);
    }
}

static const struct {
    const char *header;
    size_t size, data;
    int tensors, metadata;
} odd[] = {
    {HEAD("{}"), 0, 0, 0},
    {HEAD("{}      "), 0, 0, 0},
    {HEAD("{} \t\r\n"), 0, 0, 0},
    {HEAD("{\t\"__metadata__\" : { } }"), 0, 0, 0},
    {HEAD(M("null")), 8, 1, 0},
    {HEAD(X("\"x\":1")), 4, 1, 0},
    {HEAD(X("\"x\":null,\"y\":[1,{\"dtype\":[]},\"}\"],\"z\":{}")), 4, 1, 0},
    {HEAD("{\"__metadata__\":{\"\":\"\"}}"), 0, 0, 1},
    {HEAD("{" A "}"), 8, 1, 0},
    {HEAD(
         "{ \"a\" :\n{ \"dtype\" : \"F32\" , \"shape\" : [ 2 ] , \"data_offsets\" : [ 0 , 8 ] } }"),
     8, 1, 0},
    {HEAD("{\"a\":{\"data_offsets\":[0,8],\"shape\":[2],\"dtype\":\"F32\"}}"), 8, 1, 0},
    {HEAD("{" A ",\"__metadata__\":{\"format\":\"pt\"}}"), 8, 1, 1},
    {HEAD(M("{\"b\":\"x\",\"a\":\"{\\\"dtype\\\":\\\"F32\\\"}\"}")), 8, 1, 2},
    {HEAD(S("[1,2,1]")), 8, 1, 0},
    {HEAD(S("[1,1,1,1,1,1,1,2]")), 8, 1, 0},
    {HEAD("{\"a\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}"), 8, 1, 0},
    {HEAD(D("\"\\u0046\\u00332\"")), 8, 1, 0},
    {HEAD("{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]}}"), 2, 1, 0},
    {HEAD("{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}"), 3, 1, 0},
    {HEAD("{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}"), 8, 1, 0},
    {HEAD("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}"), 3, 1, 0},
    {HEAD(Z("F32", "[0]")), 0, 1, 0},
    {HEAD(Z("F32", "[0,0]")), 0, 1, 0},
    {HEAD(Z("F32", "[0,5,7]")), 0, 1, 0},
    {HEAD(Z("F32", "[5,0,7]")), 0, 1, 0},
    {HEAD(Z("F32", "[5,7,0]")), 0, 1, 0},
    {HEAD(Z("U8", "[18446744073709551615,0]")), 0, 1, 0},
    {HEAD("{" T("b", "[4]", "[4,8]") "," T("a", "[4]", "[0,4]") "}"), 8, 2, 0},
    {HEAD("{" T("b", "[3]",
                "[0,3]") ",\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[3,7]}}"),
     7, 2, 0},
    {HEAD("{" T("z", "[0]", "[4,4]") "," T("a", "[4]", "[0,4]") "}"), 4, 2, 0},
    {HEAD("{" T("a", "[4]", "[0,4]") "," T("y", "[0]", "[0,0]") "," T("x", "[0]", "[0,0]") "}"), 4,
     3, 0},
    {HEAD("{" T("a", "[2]", "[0,2]") "," T("m", "[0]", "[2,2]") "," T("b", "[2]", "[2,4]") "}"), 4,
     3, 0},
    {HEAD(N("\" \"")), 8, 1, 0},
    {HEAD(N("\"dtype\"")), 8, 1, 0},
    {HEAD(N("\"__metadata\"")), 8, 1, 0},
    {HEAD(N("\"../../etc/passwd\"")), 8, 1, 0},
    {HEAD(N("\"%s%n\"")), 8, 1, 0},
    {HEAD(N("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")), 8, 1, 0},
    {HEAD(N("\"\x7F\"")), 8, 1, 0},
    {HEAD(N("\"\\u00e9\\u20AC\\uD83D\\uDE00\"")), 8, 1, 0},
    {HEAD(N("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"")), 8, 1, 0},
    {HEAD(N("\"\xC2\x80\xE0\xA0\x80\xEE\x80\x80\xF0\x90\x80\x80\"")), 8, 1, 0},
    {HEAD(N("\"\xEF\xBF\xBF\xF4\x8F\xBF\xBF\xED\x9F\xBF\"")), 8, 1, 0},
};

static void test_odd(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct bytes b = craft(odd[i].size, odd[i].header, odd[i].size, odd[i].data);
        rapt_message why = {"untouched"};
        struct tensor_file *file = NULL;
        if (rapt__tensors_open_memory(&file, b.data, b.size, NULL, &why) != RAPT_OK)
            fail_msg("row %zu: %.*s: %s", i, (int)odd[i].size, odd[i].header, why.text);
        assert_string_equal(why.text, "untouched");
        assert_int_equal(rapt__tensors_count(file), odd[i].tensors);
        assert_int_equal(rapt__tensors_metadata_count(file), odd[i].metadata);
        check_promises(file, odd[i].data);
        rapt__tensors_close(file);
        free(b.data);
    }
}

/* Checks how escapes and bytes are decoded. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *header, *name;
    } rows[] = {
        {N("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t"},
        {N("\"\\u00e9\\u20AC\\uD83D\\uDE00\""), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {N("\"\\u007f\\u0080\\u07FF\\u0800\\uffff\""),
         "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
        {N("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""), "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = craft(strlen(rows[i].header), rows[i].header, strlen(rows[i].header), 8);
        struct tensor_file *file = NULL;
        assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL), RAPT_OK);
        assert_string_equal(rapt__tensors_entry(file, 0)->name, rows[i].name);
        assert_non_null(rapt__tensors_find(file, rows[i].name));
        assert_null(rapt__tensors_find(file, "nobody"));
        assert_null(rapt__tensors_metadata(file, "nothing"));
        rapt__tensors_close(file);
        free(b.data);
    }
}

/* The eight bytes before the header. */
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        const char *reason;
    } rows[] = {
        {0, "too short"},
        {1, "too short"},
        {3, "ends within"},
        {100000000, "ends within"},
        {100000001, "too long"},
        {0xFFFFFFFF, "too long"},
        {0x100000000, "too long"},
        {0x100000002, "too long"},
        {1ull << 63, "too long"},
        {(1ull << 63) + 2, "too long"},
        {UINT64_MAX - 7, "too long"},
        {UINT64_MAX - 8, "too long"},
        {UINT64_MAX, "too long"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = craft(rows[i].n, "{}", 2, 0);
        rapt_message why = {""};
        assert_int_equal(try_bytes(&b, &why), RAPT_BAD_FILE);
        if (!strstr(why.text, rows[i].reason)) fail_msg("row %zu: %s", i, why.text);
        free(b.data);
    }
    for (uint64_t k = 0; k <= 64; k++) {
        struct bytes b = craft(UINT64_MAX - k, "{}", 2, 0);
        assert_int_equal(try_bytes(&b, NULL), RAPT_BAD_FILE);
        free(b.data);
    }
    for (size_t size = 0; size <= 8; size++) {
        struct bytes b = {calloc(1, size + 1), size};
        rapt_message why = {""};
        assert_int_equal(try_bytes(&b, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, size < 8 ? "too few" : "too short"));
        free(b.data);
    }
}

static char *repeat(const char *before, const char *part, size_t count, const char *after)
{
    size_t length = strlen(part);
    char *text = malloc(strlen(before) + count * length + strlen(after) + 1);
    assert_non_null(text);
    strcpy(text, before);
    char *at = text + strlen(before);
    for (size_t i = 0; i < count; i++, at += length) memcpy(at, part, length);
    strcpy(at, after);
    return text;
}

/* Deep, long and wide headers need no deep stack, no quadratic time, and memory in proportion. */
static void test_large(void **state)
{
    (void)state;
    static const struct {
        const char *before, *part, *after;
        rapt_status status;
    } rows[] = {
        {"{\"a\":", "{\"a\":", "", RAPT_BAD_FILE},
        {"{\"a\":", "[", "", RAPT_BAD_FILE},
        {"", "{", "", RAPT_BAD_FILE},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1", ",1", "]}}", RAPT_BAD_FILE},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1", "1", "]}}", RAPT_BAD_FILE},
        {"{\"", "long", "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", RAPT_OK},
        {"{\"__metadata__\":{\"k\":\"", "\\u00e9", "\"}}", RAPT_OK},
        {"{\"__metadata__\":{", "\"k\":\"v\",", "\"l\":\"v\"}}", RAPT_BAD_FILE},
        {"{", "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
         "\"__metadata__\":{}}", RAPT_BAD_FILE},
        {"{}", " ", "", RAPT_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = repeat(rows[i].before, rows[i].part, 100000, rows[i].after);
        struct bytes b = craft(strlen(text), text, strlen(text), 0);
        struct stingy stingy = {.fail_at = -1};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct tensor_file *file = NULL;
        assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, &allocator, NULL),
                         rows[i].status);
        assert_true(stingy.max <= 10 * b.size + 4096);
        rapt__tensors_close(file);
        assert_int_equal(stingy.alive, 0);
        free(b.data);
        free(text);
    }
}

/* 20,000 entries and as many metadata items in reverse order. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    char *text = malloc(MANY * 120);
    assert_non_null(text);
    int used = sprintf(text, "{\"__metadata__\":{");
    for (int i = MANY; i-- > 0;)
        used += sprintf(text + used, "\"key%d\":\"%d\"%s", i * 7919 % MANY, i, i ? "," : "},");
    for (int i = MANY; i-- > 0;)
        used += sprintf(text + used,
                        "\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}%s",
                        i * 7919 % MANY, i, i + 1, i ? "," : "}");
    struct bytes b = craft((uint64_t)used, text, (size_t)used, MANY);
    struct tensor_file *file = NULL;
    assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt__tensors_count(file), MANY);
    assert_int_equal(rapt__tensors_metadata_count(file), MANY);
    for (int i = 0; i < MANY; i++) {
        char name[32], value[32];
        sprintf(name, "t%d", i * 7919 % MANY);
        assert_int_equal(rapt__tensors_find(file, name)->begin, i);
        sprintf(name, "key%d", i * 7919 % MANY);
        sprintf(value, "%d", i);
        assert_string_equal(rapt__tensors_metadata(file, name), value);
    }
    check_promises(file, MANY);
    rapt__tensors_close(file);
    free(b.data);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),     cmocka_unit_test(test_odd),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_large), cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
