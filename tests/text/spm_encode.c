/* spm_encode.c - encodes text with SentencePiece models: results of the reference, bounds of the
   output, long texts, tokenizers written and created again, and queries. */
#include "spm_models.h"

#include <stddef.h>

/* ---- spm known: results of SentencePiece 0.1.97 (Debian's python3-sentencepiece) for some texts
   with the crafted models of spm_models.h: the ids, the end of each in the text, and the ids
   decoded. ---- */

static const struct {
    size_t model;
    const char *text, *ids, *decoded; /* ids: id:end */
} spm_known[] = {
    /* clang-format off */
    {0, "", "", ""},
    {0, " ", "", ""},
    {0, "abc", "11:3", "abc"},
    {0, " abc  abc ", "11:4 11:9", "abc abc"},
    {0, "aaaa aaaaa", "10:1 30:4 3:5 28:7 30:10", "aaaa aaaaa"},
    {0, "a<user>b bcbc", "10:1 22:7 5:8 3:9 23:12 6:13", "a<user>b bcbc"},
    {0, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "3:0 14:3 3:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {0, "x\xC2\xBD\xE2\x84\xA2 TM", "3:0 20:0 3:0 19:3 18:3 18:9", "x 1/2 TM TM"},
    {0, "a\xC2\xAD\xE3\x80\x80" "b\x09", "10:3 3:6 5:7", "a b"},
    {0, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "3:0 32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {0, "q\xF0\x9F\x98\x80", "3:0 0:1 26:1 27:1 3:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {0, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "35:3 10:7", "  a"},
    {0, "<s> <unk>", "3:0 0:3 3:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {0, "bcba<user> a<user>a", "3:0 23:3 40:10 10:12 22:18 4:19", "bcba<user> a<user>a"},
    {1, "", "", ""},
    {1, " ", "", ""},
    {1, "abc", "11:3", "abc"},
    {1, " abc  abc ", "11:4 11:9", "abc abc"},
    {1, "aaaa aaaaa", "10:1 30:4 10:6 28:8 28:10", "aaaa aaaaa"},
    {1, "a<user>b bcbc", "10:1 22:7 5:8 3:9 23:12 6:13", "a<user>b bcbc"},
    {1, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "3:0 14:3 3:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {1, "x\xC2\xBD\xE2\x84\xA2 TM", "3:0 20:0 3:0 33:0 34:0 0:3 18:3 18:9", "x 1/ \xE2\x81\x87  TM TM"},
    {1, "a\xC2\xAD\xE3\x80\x80" "b\x09", "10:3 3:6 5:7", "a b"},
    {1, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "3:0 32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {1, "q\xF0\x9F\x98\x80", "3:0 0:1 26:1 27:1 3:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {1, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "35:3 10:7", "  a"},
    {1, "<s> <unk>", "3:0 0:3 3:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {1, "bcba<user> a<user>a", "3:0 23:3 4:4 22:10 10:12 22:18 4:19", "bcba<user> a<user>a"},
    {2, "", "", ""},
    {2, " ", "", ""},
    {2, "abc", "11:3", "abc"},
    {2, " abc  abc ", "11:4 11:9", "abc abc"},
    {2, "aaaa aaaaa", "0:10", " \xE2\x81\x87 "},
    {2, "a<user>b bcbc", "0:13", " \xE2\x81\x87 "},
    {2, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "0:12", " \xE2\x81\x87 "},
    {2, "x\xC2\xBD\xE2\x84\xA2 TM", "0:3 18:3 18:9", " \xE2\x81\x87  TM TM"},
    {2, "a\xC2\xAD\xE3\x80\x80" "b\x09", "10:3 0:7", "a \xE2\x81\x87 "},
    {2, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "0:9", " \xE2\x81\x87 "},
    {2, "q\xF0\x9F\x98\x80", "0:5", " \xE2\x81\x87 "},
    {2, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:0 3:3 10:7", "a"},
    {2, "<s> <unk>", "0:9", " \xE2\x81\x87 "},
    {2, "bcba<user> a<user>a", "0:19", " \xE2\x81\x87 "},
    {3, "", "", ""},
    {3, " ", "", ""},
    {3, "abc", "3:0 4:1 5:2 6:3", "abc"},
    {3, " abc  abc ", "3:1 4:2 5:3 6:4 3:6 4:7 5:8 6:9", "abc abc"},
    {3, "aaaa aaaaa", "3:0 4:1 4:2 4:3 4:4 3:5 4:6 4:7 4:8 4:9 4:10", "aaaa aaaaa"},
    {3, "a<user>b bcbc", "3:0 4:1 22:7 5:8 3:9 23:12 6:13", "a<user>b bcbc"},
    {3, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "3:0 12:0 13:3 3:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {3, "x\xC2\xBD\xE2\x84\xA2 TM", "3:0 20:0 3:0 33:0 34:0 0:3 3:3 15:3 16:3 3:7 15:8 16:9", "x 1/ \xE2\x81\x87  TM TM"},
    {3, "a\xC2\xAD\xE3\x80\x80" "b\x09", "3:0 4:3 3:6 5:7", "a b"},
    {3, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "3:0 31:3 0:6 31:9", "\xE6\x97\xA5 \xE2\x81\x87 \xE6\x97\xA5"},
    {3, "q\xF0\x9F\x98\x80", "3:0 0:1 26:1 27:1 3:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {3, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:0 3:3 3:6 4:7", "a"},
    {3, "<s> <unk>", "3:0 0:3 3:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {3, "bcba<user> a<user>a", "3:0 23:3 4:4 22:10 3:11 4:12 22:18 4:19", "bcba<user> a<user>a"},
    {4, "", "", ""},
    {4, " ", "", ""},
    {4, "abc", "9:3 3:3", "abc "},
    {4, " abc  abc ", "9:4 11:9 3:9", "abc abc "},
    {4, "aaaa aaaaa", "4:1 30:4 3:5 28:7 30:10 3:10", "aaaa aaaaa "},
    {4, "a<user>b bcbc", "40:7 5:8 3:9 23:12 6:13 3:13", "a<user>b bcbc "},
    {4, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "14:3 3:4 24:7 36:12 3:12", "fi \xC3\xA9" "E "},
    {4, "x\xC2\xBD\xE2\x84\xA2 TM", "20:0 3:0 19:3 18:3 18:9 3:9", "x 1/2 TM TM "},
    {4, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:3 3:6 5:7 3:7", "a b "},
    {4, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "32:6 31:9 3:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5 "},
    {4, "q\xF0\x9F\x98\x80", "154:1 26:1 27:1 3:1 26:1 27:5 3:5", "q:) :) "},
    {4, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:3 10:7 3:7", "a "},
    {4, "<s> <unk>", "101:1 156:2 103:3 3:4 101:5 158:6 151:7 148:8 103:9 3:9", "<s> <unk> "},
    {4, "bcba<user> a<user>a", "23:3 40:10 10:12 22:18 4:19 3:19", "bcba<user> a<user>a "},
    {5, "", "", ""},
    {5, " ", "35:1", " "},
    {5, "abc", "11:3", "abc"},
    {5, " abc  abc ", "35:1 9:4 35:6 9:9 3:10", " abc  abc "},
    {5, "aaaa aaaaa", "10:1 30:4 10:6 28:8 28:10", "aaaa aaaaa"},
    {5, "a<user>b bcbc", "10:1 22:7 5:8 3:9 23:12 6:13", "a<user>b bcbc"},
    {5, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "3:0 280:0 213:0 170:3 3:4 142:5 245:5 170:7 142:8 245:8 170:10 245:10 208:12", "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7"},
    {5, "x\xC2\xBD\xE2\x84\xA2 TM", "3:0 20:1 235:1 230:3 267:3 173:3 203:6 18:9", "x\xC2\xBD\xE2\x84\xA2 TM"},
    {5, "a\xC2\xAD\xE3\x80\x80" "b\x09", "10:1 235:1 214:3 268:3 169:3 169:6 5:7 50:8", "a\xC2\xAD\xE3\x80\x80" "b\x09"},
    {5, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "3:0 32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {5, "q\xF0\x9F\x98\x80", "3:0 154:1 281:1 200:1 193:1 169:5", "q\xF0\x9F\x98\x80"},
    {5, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "35:3 10:7 35:11", "  a  "},
    {5, "<s> <unk>", "3:0 101:1 156:2 103:3 3:4 101:5 158:6 151:7 148:8 103:9", "<s> <unk>"},
    {5, "bcba<user> a<user>a", "3:0 23:3 4:4 22:10 10:12 22:18 4:19", "bcba<user> a<user>a"},
    {6, "", "", ""},
    {6, " ", "37:1", " "},
    {6, "abc", "9:3", "abc"},
    {6, " abc  abc ", "37:1 9:4 37:5 37:6 9:9 37:10", " abc  abc "},
    {6, "aaaa aaaaa", "4:1 30:4 37:5 28:7 30:10", "aaaa aaaaa"},
    {6, "a<user>b bcbc", "40:7 5:8 37:9 23:12 6:13", "a<user>b bcbc"},
    {6, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "14:3 37:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {6, "x\xC2\xBD\xE2\x84\xA2 TM", "38:0 19:3 37:3 15:3 16:3 37:6 37:7 15:8 16:9", "x 1/2 TM  TM"},
    {6, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:3 37:6 5:7 37:8", "a b "},
    {6, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {6, "q\xF0\x9F\x98\x80", "0:1 26:1 27:1 37:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {6, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:3 10:7 37:8 3:11", "  a  "},
    {6, "<s> <unk>", "0:3 37:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {6, "bcba<user> a<user>a", "23:3 40:10 37:11 40:18 4:19", "bcba<user> a<user>a"},
    {7, "", "", ""},
    {7, " ", "3:0 3:1", " "},
    {7, "abc", "11:3", "abc"},
    {7, " abc  abc ", "3:0 11:4 3:5 11:9 3:10", " abc  abc "},
    {7, "aaaa aaaaa", "267:0 191:0 170:0 138:0 138:0 138:0 138:4 267:4 191:4 170:4 138:4 138:4 138:4 138:4 138:10", "\xE2\x96\x81" "aaaa\xE2\x96\x81" "aaaaa"},
    {7, "a<user>b bcbc", "267:0 191:0 170:0 138:0 101:0 158:0 156:0 142:0 155:0 103:0 139:8 267:8 191:8 170:8 139:8 140:8 139:8 140:13", "\xE2\x96\x81" "a<user>b\xE2\x96\x81" "bcbc"},
    {7, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "267:0 191:0 170:0 280:0 213:0 170:3 267:3 191:3 170:3 142:3 245:3 170:3 142:3 245:3 170:3 245:3 208:12", "\xE2\x96\x81\xEF\xAC\x81\xE2\x96\x81" "e\xCC\x81" "e\xCC\x81\xCC\xA7"},
    {7, "x\xC2\xBD\xE2\x84\xA2 TM", "267:0 191:0 170:0 161:0 235:0 230:0 267:0 173:0 203:6 18:9", "\xE2\x96\x81x\xC2\xBD\xE2\x84\xA2 TM"},
    {7, "a\xC2\xAD\xE3\x80\x80" "b\x09", "267:0 191:0 170:0 138:0 235:0 214:0 268:0 169:0 169:0 139:0 50:8", "\xE2\x96\x81" "a\xC2\xAD\xE3\x80\x80" "b\x09"},
    {7, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "267:0 191:0 170:0 271:0 192:0 206:0 271:0 197:0 213:0 271:0 192:0 206:9", "\xE2\x96\x81\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {7, "q\xF0\x9F\x98\x80", "267:0 191:0 170:0 154:0 281:0 200:0 193:0 169:5", "\xE2\x96\x81q\xF0\x9F\x98\x80"},
    {7, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:0 3:3 10:7 3:8 3:11", "  a  "},
    {7, "<s> <unk>", "267:0 191:0 170:0 101:0 156:0 103:3 267:3 191:3 170:3 101:3 158:3 151:3 148:3 103:9", "\xE2\x96\x81<s>\xE2\x96\x81<unk>"},
    {7, "bcba<user> a<user>a", "267:0 191:0 170:0 139:0 140:0 139:0 138:0 101:0 158:0 156:0 142:0 155:0 103:10 267:10 191:10 170:10 138:10 101:10 158:10 156:10 142:10 155:10 103:10 138:19", "\xE2\x96\x81" "bcba<user>\xE2\x96\x81" "a<user>a"},
    {8, "", "", ""},
    {8, " ", "", ""},
    {8, "abc", "4:1 5:2 6:3 37:3", "abc "},
    {8, " abc  abc ", "4:2 5:3 6:4 37:6 4:7 5:8 6:9 37:9", "abc abc "},
    {8, "aaaa aaaaa", "4:1 4:2 4:3 4:4 37:5 4:6 4:7 4:8 4:9 4:10 37:10", "aaaa aaaaa "},
    {8, "a<user>b bcbc", "4:1 22:7 5:8 37:9 23:12 6:13 37:13", "a<user>b bcbc "},
    {8, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "12:0 13:3 37:4 24:7 36:12 37:12", "fi \xC3\xA9" "E "},
    {8, "x\xC2\xBD\xE2\x84\xA2 TM", "20:0 37:0 33:0 34:0 0:3 37:3 15:3 16:3 37:7 15:8 16:9 37:9", "x 1/ \xE2\x81\x87  TM TM "},
    {8, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:3 37:6 5:7 37:7", "a b "},
    {8, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "31:3 0:6 31:9 37:9", "\xE6\x97\xA5 \xE2\x81\x87 \xE6\x97\xA5 "},
    {8, "q\xF0\x9F\x98\x80", "0:1 26:1 27:1 37:1 26:1 27:5 37:5", " \xE2\x81\x87 :) :) "},
    {8, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:3 3:6 4:7 37:8 3:11 37:11", "a   "},
    {8, "<s> <unk>", "0:3 37:4 0:9 37:9", " \xE2\x81\x87   \xE2\x81\x87  "},
    {8, "bcba<user> a<user>a", "23:3 4:4 22:10 37:11 4:12 22:18 4:19 37:19", "bcba<user> a<user>a "},
    {9, "", "", ""},
    {9, " ", "", ""},
    {9, "abc", "9:3", "abc"},
    {9, " abc  abc ", "9:4 11:9", "abc abc"},
    {9, "aaaa aaaaa", "28:2 28:4 10:6 28:8 28:10", "aaaa aaaaa"},
    {9, "a<user>b bcbc", "4:1 22:7 5:8 3:9 23:12 6:13", "a<user>b bcbc"},
    {9, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "14:3 3:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {9, "x\xC2\xBD\xE2\x84\xA2 TM", "20:0 3:0 33:0 34:0 0:3 18:3 18:9", "x 1/ \xE2\x81\x87  TM TM"},
    {9, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:3 3:6 5:7", "a b"},
    {9, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {9, "q\xF0\x9F\x98\x80", "0:1 26:1 27:1 3:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {9, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "35:6 4:7", " a"},
    {9, "<s> <unk>", "0:3 3:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {9, "bcba<user> a<user>a", "23:3 4:4 22:10 10:12 22:18 4:19", "bcba<user> a<user>a"},
    {10, "", "", ""},
    {10, " ", "35:1", " "},
    {10, "abc", "9:3 3:3", "abc "},
    {10, " abc  abc ", "11:4 3:5 11:9 35:10", "abc  abc  "},
    {10, "aaaa aaaaa", "4:1 30:4 3:5 28:7 30:10 3:10", "aaaa aaaaa "},
    {10, "a<user>b bcbc", "40:7 5:8 3:9 23:12 6:13 3:13", "a<user>b bcbc "},
    {10, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "0:3 3:4 0:12 3:12", " \xE2\x81\x87   \xE2\x81\x87  "},
    {10, "x\xC2\xBD\xE2\x84\xA2 TM", "20:1 0:6 18:9 3:9", "x \xE2\x81\x87  TM "},
    {10, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:1 0:6 5:7 0:8 3:8", "a \xE2\x81\x87 b \xE2\x81\x87  "},
    {10, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "32:6 31:9 3:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5 "},
    {10, "q\xF0\x9F\x98\x80", "0:5 3:5", " \xE2\x81\x87  "},
    {10, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "3:3 10:7 3:8 35:11", " a   "},
    {10, "<s> <unk>", "0:3 3:4 0:9 3:9", " \xE2\x81\x87   \xE2\x81\x87  "},
    {10, "bcba<user> a<user>a", "23:3 40:10 10:12 22:18 4:19 3:19", "bcba<user> a<user>a "},
    {11, "", "", ""},
    {11, " ", "37:1", " "},
    {11, "abc", "9:3", "abc"},
    {11, " abc  abc ", "37:1 9:4 37:5 37:6 9:9 37:10", " abc  abc "},
    {11, "aaaa aaaaa", "28:2 28:4 37:5 28:7 28:9 4:10", "aaaa aaaaa"},
    {11, "a<user>b bcbc", "4:1 22:7 5:8 37:9 23:12 6:13", "a<user>b bcbc"},
    {11, "\xEF\xAC\x81 e\xCC\x81" "e\xCC\x81\xCC\xA7", "14:3 37:4 24:7 36:12", "fi \xC3\xA9" "E"},
    {11, "x\xC2\xBD\xE2\x84\xA2 TM", "38:0 33:0 34:0 0:3 37:3 15:3 16:3 37:6 37:7 15:8 16:9", "x 1/ \xE2\x81\x87  TM  TM"},
    {11, "a\xC2\xAD\xE3\x80\x80" "b\x09", "4:3 37:6 5:7 37:8", "a b "},
    {11, "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5", "32:6 31:9", "\xE6\x97\xA5\xE6\x9C\xAC\xE6\x97\xA5"},
    {11, "q\xF0\x9F\x98\x80", "0:1 26:1 27:1 37:1 26:1 27:5", " \xE2\x81\x87 :) :)"},
    {11, "\xE2\x96\x81\xE2\x96\x81" "a \xE2\x96\x81", "35:6 4:7 37:8 3:11", "  a  "},
    {11, "<s> <unk>", "0:3 37:4 0:9", " \xE2\x81\x87   \xE2\x81\x87 "},
    {11, "bcba<user> a<user>a", "23:3 4:4 22:10 37:11 4:12 22:18 4:19", "bcba<user> a<user>a"},
    /* clang-format on */
};

static struct craft model; /* of the current test */

static rapt_tokenizer *crafted(size_t number)
{
    rapt_tokenizer *t = NULL;
    craft_model(&model, number);
    assert_int_equal(rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, NULL), RAPT_OK);
    return t;
}

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spm_known / sizeof *spm_known; i++) {
        rapt_tokenizer *t = crafted(spm_known[i].model);
        int32_t ids[100];
        size_t ends[100], count = 0, size = 0;
        char text[1000] = "";
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of(spm_known[i].text), ids, ends, 100, &count, NULL),
            RAPT_OK);
        for (size_t k = 0; k < count; k++)
            size += (size_t)sprintf(text + size, k ? " %d:%zu" : "%d:%zu", (int)ids[k], ends[k]);
        assert_string_equal(text, spm_known[i].ids);
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of(spm_known[i].text), ids, NULL, 100, &count, NULL),
            RAPT_OK);
        assert_int_equal(rapt_tokenizer_decode(t, ids, count, text, 999, &size, NULL), RAPT_OK);
        text[size] = 0;
        assert_string_equal(text, spm_known[i].decoded);
        rapt_tokenizer_free(t);
    }
}

/* The count must be the same for every capacity, and nothing may be written beyond it. */
static void test_capacity(void **state)
{
    const rapt_text text = text_of("qqq abc \xF0\x9F\x98\x80 aaaa");
    int32_t all[100], ids[100];
    size_t all_ends[100], ends[100], full = 0, count, size, decoded;
    char out[200], cut[200];
    rapt_message why = {""};
    (void)state;
    for (size_t m = 0; m < CRAFTED_MODELS; m++) {
        rapt_tokenizer *t = crafted(m);
        assert_int_equal(rapt_tokenizer_encode(t, text, all, all_ends, 100, &full, NULL), RAPT_OK);
        for (size_t capacity = 0; capacity < full; capacity++) {
            memset(ids, -1, sizeof ids);
            refused(rapt_tokenizer_encode(t, text, ids, ends, capacity, &count, &why), &why,
                    "but the text has ");
            assert_int_equal(count, full);
            if (capacity > 0) assert_memory_equal(ids, all, capacity * sizeof *ids);
            assert_int_equal(ids[capacity], -1);
        }
        assert_int_equal(rapt_tokenizer_decode(t, all, full, out, 200, &size, NULL), RAPT_OK);
        for (size_t capacity = 0; capacity < size; capacity++) {
            memset(cut, '#', sizeof cut);
            refused(rapt_tokenizer_decode(t, all, full, cut, capacity, &decoded, &why), &why,
                    "but the tokens have ");
            assert_int_equal(decoded, size);
            assert_memory_equal(cut, out, capacity);
            assert_int_equal(cut[capacity], '#');
        }
        rapt_tokenizer_free(t);
    }
}

/* Encodes one word of 256 KB. A quadratic algorithm would not finish. */
static void test_long(void **state)
{
    enum { SIZE = 1 << 18 };
    static const char *const patterns[] = {"a", "ab", "q", "abc", "\xF0\x9F\x98\x80", " "};
    char *text = malloc(SIZE);
    int32_t *ids = malloc(sizeof *ids * (SIZE + 3) * 18);
    (void)state;
    assert_true(text && ids);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t i = 0; i < SIZE; i++) text[i] = patterns[p][i % strlen(patterns[p])];
        for (size_t m = 0; m < 6; m++) {
            rapt_tokenizer *t = crafted(m);
            size_t count = 0, bound = rapt_tokenizer_bound(t, SIZE);
            assert_true(bound <= (SIZE + 3) * 18);
            assert_int_equal(
                rapt_tokenizer_encode(t, (rapt_text){text, SIZE}, ids, NULL, bound, &count, NULL),
                RAPT_OK);
            assert_int_equal(count == 0, patterns[p][0] == ' ' && m != 5);
            rapt_tokenizer_free(t);
        }
    }
    free(text);
    free(ids);
}

static void test_written(void **state)
{
    uint64_t seed = 3;
    char text[30 * HARD_PART];
    (void)state;
    for (size_t m = 0; m < CRAFTED_MODELS; m++) {
        rapt_tokenizer *t = crafted(m), *back = NULL;
        size_t size;
        assert_int_equal(rapt_tokenizer_write(t, NULL, 0, &size, NULL), RAPT_OK);
        char *string = malloc(size);
        assert_non_null(string);
        assert_int_equal(rapt_tokenizer_write(t, string, size, &size, NULL), RAPT_OK);
        assert_int_equal(strlen(string), size - 1);
        for (const char *c = string; *c; c++)
            assert_true(*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\');
        assert_int_equal(rapt_tokenizer_create(&back, string, size - 1, NULL, NULL), RAPT_OK);
        for (int i = 0; i < 200; i++) {
            int32_t ids[2][1000];
            size_t counts[2];
            rapt_text hard = {text, hard_text(&seed, 30, text)};
            assert_int_equal(rapt_tokenizer_encode(t, hard, ids[0], NULL, 1000, &counts[0], NULL),
                             RAPT_OK);
            assert_int_equal(
                rapt_tokenizer_encode(back, hard, ids[1], NULL, 1000, &counts[1], NULL), RAPT_OK);
            assert_int_equal(counts[0], counts[1]);
            if (counts[0]) assert_memory_equal(ids[0], ids[1], counts[0] * sizeof **ids);
        }
        for (size_t i = 0; i < size - 1; i += 1 + i / 8) { /* any change must be found */
            rapt_tokenizer *none = NULL;
            string[i] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&none, string, size - 1, NULL, NULL),
                             RAPT_BAD_FILE);
            string[i] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&none, string, i, NULL, NULL), RAPT_BAD_FILE);
        }
        free(string);
        rapt_tokenizer_free(t);
        rapt_tokenizer_free(back);
    }
}

/* Tests queries of names, texts and special tokens. */
static void test_asked(void **state)
{
    rapt_tokenizer *t = crafted(4);
    (void)state;
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 2);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), -1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_SPECIALS), -1);
    assert_int_equal(rapt_tokenizer_special(t, -2), -1);
    for (int32_t id = 0; id < rapt_tokenizer_vocab(t); id++)
        assert_int_equal(rapt_tokenizer_find(t, rapt_tokenizer_name(t, id)), id);
    assert_int_equal(rapt_tokenizer_find(t, text_of("nothing of this name")), -1);
    assert_int_equal(rapt_tokenizer_find(t, text_of("")), -1);
    static const struct {
        const char *name, *token;
    } pieces[] = {{"<s>", ""},     {"<unk>", " \xE2\x81\x87 "}, {SPACE "abc", " abc"},
                  {"<0x41>", "A"}, {"x" SPACE "1", "x 1"},      {"<user>", "<user>"}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        rapt_text token = rapt_tokenizer_token(t, rapt_tokenizer_find(t, text_of(pieces[i].name)));
        assert_int_equal(token.size, strlen(pieces[i].token));
        if (token.size) assert_memory_equal(token.bytes, pieces[i].token, token.size);
    }
    assert_int_equal(rapt_tokenizer_token(t, -1).size, 0);
    assert_int_equal(rapt_tokenizer_name(t, rapt_tokenizer_vocab(t)).size, 0);
    rapt_tokenizer_free(t);
}

/* Special tokens are found by name and type, at any index. Without a begin token, a text begins
   with the end token. */
static void test_specials(void **state)
{
    static struct craft spec;
    rapt_tokenizer *t = NULL;
    (void)state;
    model.size = spec.size = 0;
    craft_piece(&model, "a", -1, 0);
    craft_piece(&model, "<s>", -1, 0); /* a normal piece with that name */
    craft_piece(&model, "stop", 0, SPM_CONTROL);
    craft_piece(&model, "<pad>", 0, SPM_CONTROL);
    craft_piece(&model, "<unk>", 0, SPM_UNKNOWN);
    craft_string(&spec, 47, "stop", 4); /* the name of the end token */
    craft_message(&model, 2, &spec);
    assert_int_equal(rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 4);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 3);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 2);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 2);
    rapt_tokenizer_free(t);
}

/* Compares lookups of keys with a plain search. */
static void test_trie(void **state)
{
    enum { KEYS = 3000 };
    static char bytes[KEYS][8];
    static struct trie_key keys[KEYS];
    struct trie trie = {0};
    uint64_t seed = 4;
    size_t count = 0;
    (void)state;
    while (count < KEYS) {
        size_t size = 1 + below(&seed, 7);
        for (size_t i = 0; i < size; i++)
            bytes[count][i] = (char)(below(&seed, 3) ? below(&seed, 4) : below(&seed, 256));
        bool old = false;
        for (size_t i = 0; i < count && !old; i++)
            old = keys[i].size == size && memcmp(keys[i].bytes, bytes[count], size) == 0;
        if (!old) {
            keys[count] = rapt__trie_key(bytes[count], size, (int32_t)count);
            count++;
        }
    }
    static struct trie_key copy[KEYS];
    memcpy(copy, keys, sizeof copy);
    assert_int_equal(rapt__trie_build(&trie, copy, KEYS, NULL, NULL), RAPT_OK);
    assert_false(rapt__trie_empty(&trie));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(rapt__trie_find(&trie, keys[i].bytes, keys[i].size), i);
    for (int round = 0; round < 2000; round++) {
        char text[8];
        size_t longest = 0;
        int32_t whole = -1;
        for (size_t i = 0; i < 8; i++)
            text[i] = (char)(below(&seed, 8) ? below(&seed, 4) : below(&seed, 256));
        for (size_t i = 0; i < KEYS; i++) {
            if (memcmp(keys[i].bytes, text, keys[i].size) != 0) continue;
            longest = rapt__max_size(longest, keys[i].size);
            if (keys[i].size == 4) whole = (int32_t)i;
        }
        assert_int_equal(rapt__trie_longest(&trie, text, 8), longest);
        assert_int_equal(rapt__trie_find(&trie, text, 4), whole);
    }
    rapt__trie_free(&trie, NULL);
}

static void test_base64(void **state)
{
    static const char *const known[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
    static const char *const texts[] = {
        "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; /* RFC 4648, section 10 */
    static const char *const wrong[] = {"Zh==", "Zg=a", "Z===", "Zg= ", "Z\xE9==", "Zm9="};
    char text[16], bytes[16];
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        size_t size = rapt__base64_size(i);
        assert_int_equal(size, strlen(texts[i]));
        rapt__base64_write(known[i], i, text);
        assert_memory_equal(text, texts[i], size);
        assert_true(rapt__base64_read(text, i, bytes));
        assert_memory_equal(bytes, known[i], i);
    }
    for (size_t i = 0; i < 6; i++) assert_false(rapt__base64_read(wrong[i], i < 5 ? 1 : 2, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_long),  cmocka_unit_test(test_written),
        cmocka_unit_test(test_asked), cmocka_unit_test(test_specials),
        cmocka_unit_test(test_trie),  cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
