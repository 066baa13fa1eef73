/* language.c - the languages of multilingual translators: their tokens, the names that users may
   give them, and suggestions for mistyped names. The tokens are NLLB's, such as eng_Latn
   (FLORES-200), M2M-100's, such as __en__, and mBART-50's, such as en_XX. */
#include "text/list.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

/* NLLB's languages, in the order of their tokens, then the languages that only M2M-100 has. */
/* clang-format off */
const struct language_names rapt__language_table[LANGUAGES] = {
    {"ace_Arab", "", "Acehnese (Arabic)"},
    {"ace_Latn", "", "Acehnese"},
    {"acm_Arab", "", "Mesopotamian Arabic"},
    {"acq_Arab", "", "Ta'izzi-Adeni Arabic"},
    {"aeb_Arab", "", "Tunisian Arabic"},
    {"afr_Latn", "af", "Afrikaans"},
    {"ajp_Arab", "", "South Levantine Arabic"},
    {"aka_Latn", "ak", "Akan"},
    {"amh_Ethi", "am", "Amharic"},
    {"apc_Arab", "", "North Levantine Arabic"},
    {"arb_Arab", "ar", "Arabic"},
    {"ars_Arab", "", "Najdi Arabic"},
    {"ary_Arab", "", "Moroccan Arabic"},
    {"arz_Arab", "", "Egyptian Arabic"},
    {"asm_Beng", "as", "Assamese"},
    {"ast_Latn", "ast", "Asturian"},
    {"awa_Deva", "", "Awadhi"},
    {"ayr_Latn", "ay", "Aymara"},
    {"azb_Arab", "", "South Azerbaijani"},
    {"azj_Latn", "az", "Azerbaijani"},
    {"bak_Cyrl", "ba", "Bashkir"},
    {"bam_Latn", "bm", "Bambara"},
    {"ban_Latn", "", "Balinese"},
    {"bel_Cyrl", "be", "Belarusian"},
    {"bem_Latn", "", "Bemba"},
    {"ben_Beng", "bn", "Bengali"},
    {"bho_Deva", "", "Bhojpuri"},
    {"bjn_Arab", "", "Banjar (Arabic)"},
    {"bjn_Latn", "", "Banjar"},
    {"bod_Tibt", "bo", "Tibetan"},
    {"bos_Latn", "bs", "Bosnian"},
    {"bug_Latn", "", "Buginese"},
    {"bul_Cyrl", "bg", "Bulgarian"},
    {"cat_Latn", "ca", "Catalan"},
    {"ceb_Latn", "ceb", "Cebuano"},
    {"ces_Latn", "cs", "Czech"},
    {"cjk_Latn", "", "Chokwe"},
    {"ckb_Arab", "", "Central Kurdish"},
    {"crh_Latn", "", "Crimean Tatar"},
    {"cym_Latn", "cy", "Welsh"},
    {"dan_Latn", "da", "Danish"},
    {"deu_Latn", "de", "German"},
    {"dik_Latn", "", "Dinka"},
    {"dyu_Latn", "", "Dyula"},
    {"dzo_Tibt", "dz", "Dzongkha"},
    {"ell_Grek", "el", "Greek"},
    {"eng_Latn", "en", "English"},
    {"epo_Latn", "eo", "Esperanto"},
    {"est_Latn", "et", "Estonian"},
    {"eus_Latn", "eu", "Basque"},
    {"ewe_Latn", "ee", "Ewe"},
    {"fao_Latn", "fo", "Faroese"},
    {"pes_Arab", "fa", "Persian"},
    {"fij_Latn", "fj", "Fijian"},
    {"fin_Latn", "fi", "Finnish"},
    {"fon_Latn", "", "Fon"},
    {"fra_Latn", "fr", "French"},
    {"fur_Latn", "", "Friulian"},
    {"fuv_Latn", "ff", "Fulah"},
    {"gla_Latn", "gd", "Scottish Gaelic"},
    {"gle_Latn", "ga", "Irish"},
    {"glg_Latn", "gl", "Galician"},
    {"grn_Latn", "gn", "Guarani"},
    {"guj_Gujr", "gu", "Gujarati"},
    {"hat_Latn", "ht", "Haitian Creole"},
    {"hau_Latn", "ha", "Hausa"},
    {"heb_Hebr", "he", "Hebrew"},
    {"hin_Deva", "hi", "Hindi"},
    {"hne_Deva", "", "Chhattisgarhi"},
    {"hrv_Latn", "hr", "Croatian"},
    {"hun_Latn", "hu", "Hungarian"},
    {"hye_Armn", "hy", "Armenian"},
    {"ibo_Latn", "ig", "Igbo"},
    {"ilo_Latn", "ilo", "Ilocano"},
    {"ind_Latn", "id", "Indonesian"},
    {"isl_Latn", "is", "Icelandic"},
    {"ita_Latn", "it", "Italian"},
    {"jav_Latn", "jv", "Javanese"},
    {"jpn_Jpan", "ja", "Japanese"},
    {"kab_Latn", "", "Kabyle"},
    {"kac_Latn", "", "Kachin"},
    {"kam_Latn", "", "Kamba"},
    {"kan_Knda", "kn", "Kannada"},
    {"kas_Arab", "", "Kashmiri (Arabic)"},
    {"kas_Deva", "", "Kashmiri (Devanagari)"},
    {"kat_Geor", "ka", "Georgian"},
    {"knc_Arab", "", "Central Kanuri (Arabic)"},
    {"knc_Latn", "", "Central Kanuri"},
    {"kaz_Cyrl", "kk", "Kazakh"},
    {"kbp_Latn", "", "Kabiye"},
    {"kea_Latn", "", "Kabuverdianu"},
    {"khm_Khmr", "km", "Khmer"},
    {"kik_Latn", "ki", "Kikuyu"},
    {"kin_Latn", "rw", "Kinyarwanda"},
    {"kir_Cyrl", "ky", "Kyrgyz"},
    {"kmb_Latn", "", "Kimbundu"},
    {"kon_Latn", "kg", "Kongo"},
    {"kor_Hang", "ko", "Korean"},
    {"kmr_Latn", "ku", "Northern Kurdish"},
    {"lao_Laoo", "lo", "Lao"},
    {"lvs_Latn", "lv", "Latvian"},
    {"lij_Latn", "", "Ligurian"},
    {"lim_Latn", "li", "Limburgish"},
    {"lin_Latn", "ln", "Lingala"},
    {"lit_Latn", "lt", "Lithuanian"},
    {"lmo_Latn", "", "Lombard"},
    {"ltg_Latn", "", "Latgalian"},
    {"ltz_Latn", "lb", "Luxembourgish"},
    {"lua_Latn", "", "Luba-Kasai"},
    {"lug_Latn", "lg", "Ganda"},
    {"luo_Latn", "", "Luo"},
    {"lus_Latn", "", "Mizo"},
    {"mag_Deva", "", "Magahi"},
    {"mai_Deva", "", "Maithili"},
    {"mal_Mlym", "ml", "Malayalam"},
    {"mar_Deva", "mr", "Marathi"},
    {"min_Latn", "", "Minangkabau"},
    {"mkd_Cyrl", "mk", "Macedonian"},
    {"plt_Latn", "mg", "Malagasy"},
    {"mlt_Latn", "mt", "Maltese"},
    {"mni_Beng", "", "Manipuri"},
    {"khk_Cyrl", "mn", "Mongolian"},
    {"mos_Latn", "", "Mossi"},
    {"mri_Latn", "mi", "Maori"},
    {"zsm_Latn", "ms", "Malay"},
    {"mya_Mymr", "my", "Burmese"},
    {"nld_Latn", "nl", "Dutch"},
    {"nno_Latn", "nn", "Norwegian Nynorsk"},
    {"nob_Latn", "no", "Norwegian"},
    {"npi_Deva", "ne", "Nepali"},
    {"nso_Latn", "ns", "Northern Sotho"},
    {"nus_Latn", "", "Nuer"},
    {"nya_Latn", "ny", "Nyanja"},
    {"oci_Latn", "oc", "Occitan"},
    {"gaz_Latn", "om", "Oromo"},
    {"ory_Orya", "or", "Odia"},
    {"pag_Latn", "", "Pangasinan"},
    {"pan_Guru", "pa", "Punjabi"},
    {"pap_Latn", "", "Papiamento"},
    {"pol_Latn", "pl", "Polish"},
    {"por_Latn", "pt", "Portuguese"},
    {"prs_Arab", "", "Dari"},
    {"pbt_Arab", "ps", "Pashto"},
    {"quy_Latn", "qu", "Quechua"},
    {"ron_Latn", "ro", "Romanian"},
    {"run_Latn", "rn", "Rundi"},
    {"rus_Cyrl", "ru", "Russian"},
    {"sag_Latn", "sg", "Sango"},
    {"san_Deva", "sa", "Sanskrit"},
    {"sat_Beng", "", "Santali"},
    {"scn_Latn", "", "Sicilian"},
    {"shn_Mymr", "", "Shan"},
    {"sin_Sinh", "si", "Sinhala"},
    {"slk_Latn", "sk", "Slovak"},
    {"slv_Latn", "sl", "Slovenian"},
    {"smo_Latn", "sm", "Samoan"},
    {"sna_Latn", "sn", "Shona"},
    {"snd_Arab", "sd", "Sindhi"},
    {"som_Latn", "so", "Somali"},
    {"sot_Latn", "st", "Southern Sotho"},
    {"spa_Latn", "es", "Spanish"},
    {"als_Latn", "sq", "Albanian"},
    {"srd_Latn", "sc", "Sardinian"},
    {"srp_Cyrl", "sr", "Serbian"},
    {"ssw_Latn", "ss", "Swati"},
    {"sun_Latn", "su", "Sundanese"},
    {"swe_Latn", "sv", "Swedish"},
    {"swh_Latn", "sw", "Swahili"},
    {"szl_Latn", "", "Silesian"},
    {"tam_Taml", "ta", "Tamil"},
    {"tat_Cyrl", "tt", "Tatar"},
    {"tel_Telu", "te", "Telugu"},
    {"tgk_Cyrl", "tg", "Tajik"},
    {"tgl_Latn", "tl", "Tagalog"},
    {"tha_Thai", "th", "Thai"},
    {"tir_Ethi", "ti", "Tigrinya"},
    {"taq_Latn", "", "Tamasheq"},
    {"taq_Tfng", "", "Tamasheq (Tifinagh)"},
    {"tpi_Latn", "", "Tok Pisin"},
    {"tsn_Latn", "tn", "Tswana"},
    {"tso_Latn", "ts", "Tsonga"},
    {"tuk_Latn", "tk", "Turkmen"},
    {"tum_Latn", "", "Tumbuka"},
    {"tur_Latn", "tr", "Turkish"},
    {"twi_Latn", "tw", "Twi"},
    {"tzm_Tfng", "", "Central Atlas Tamazight"},
    {"uig_Arab", "ug", "Uyghur"},
    {"ukr_Cyrl", "uk", "Ukrainian"},
    {"umb_Latn", "", "Umbundu"},
    {"urd_Arab", "ur", "Urdu"},
    {"uzn_Latn", "uz", "Uzbek"},
    {"vec_Latn", "", "Venetian"},
    {"vie_Latn", "vi", "Vietnamese"},
    {"war_Latn", "", "Waray"},
    {"wol_Latn", "wo", "Wolof"},
    {"xho_Latn", "xh", "Xhosa"},
    {"ydd_Hebr", "yi", "Yiddish"},
    {"yor_Latn", "yo", "Yoruba"},
    {"yue_Hant", "", "Cantonese"},
    {"zho_Hans", "zh", "Chinese"},
    {"zho_Hant", "", "Chinese (Traditional)"},
    {"zul_Latn", "zu", "Zulu"},
    {"", "br", "Breton"},
    {"", "fy", "Western Frisian"},
};
/* clang-format on */

const char *const rapt__mbart_languages[MBART_LANGUAGES] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
    "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
    "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
    "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI",
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char lower_of(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* Returns the mBART-50 token whose first `size` characters match `text`, ignoring case, or NULL.
   `size` is MBART_TOKEN for a whole token and 2 for a brief code. */
static const char *mbart_token(const char *text, size_t size)
{
    for (int n = 0; n < MBART_LANGUAGES; n++) {
        const char *token = rapt__mbart_languages[n];
        size_t at = 0;
        while (at < size && lower_of(text[at]) == lower_of(token[at])) at++;
        if (at == size) return token;
    }
    return NULL;
}

size_t rapt__language_token(rapt_text text, bool mbart)
{
    const char *at = text.bytes;
    size_t size = 2;
    if (text.size >= 8 && is_lower(at[0]) && is_lower(at[1]) && is_lower(at[2]) && at[3] == '_' &&
        is_upper(at[4]) && is_lower(at[5]) && is_lower(at[6]) && is_lower(at[7]))
        return 8;
    if (mbart && text.size >= MBART_TOKEN) {
        const char *token = mbart_token(at, MBART_TOKEN);
        if (token && memcmp(at, token, MBART_TOKEN) == 0) return MBART_TOKEN;
    }
    if (text.size < 6 || memcmp(at, "__", 2) != 0) return 0;
    while (size < 5 && size < text.size && is_lower(at[size])) size++;
    const bool good = size >= 4 && text.size - size >= 2 && memcmp(at + size, "__", 2) == 0;
    return good ? size + 2 : 0;
}

/* ---- finding ---- */

enum { WORD = 40 }; /* maximum size of the names that are compared, including the NUL */

static int32_t find(const rapt_tokenizer *t, const char *name)
{
    return rapt_tokenizer_find(t, (rapt_text){name, strlen(name)});
}

/* Returns the token of a language, or -1 if the tokenizer lacks it. */
static int32_t token_of(const rapt_tokenizer *t, const struct language_names *l)
{
    char name[WORD];
    int32_t id = *l->code ? find(t, l->code) : -1;
    if (id >= 0 || !*l->brief) return id;
    snprintf(name, sizeof name, "__%s__", l->brief);
    id = find(t, name);
    const char *token = id < 0 && t->list && t->list->mbart && strlen(l->brief) == 2
                            ? mbart_token(l->brief, 2)
                            : NULL;
    return token ? find(t, token) : id;
}

static void lower(const char *from, char to[WORD])
{
    size_t size = 0;
    for (; from[size] && size + 1 < WORD; size++) to[size] = lower_of(from[size]);
    to[size] = 0;
}

static bool same(const char *a, const char *b)
{
    char x[WORD], y[WORD];
    lower(a, x), lower(b, y);
    return strlen(a) < WORD && strcmp(x, y) == 0;
}

int32_t rapt__language_find(const rapt_tokenizer *t, const char *word)
{
    const size_t size = strlen(word);
    const bool mbart = t->list && t->list->mbart;
    if (size && rapt__language_token((rapt_text){word, size}, mbart) == size) {
        const int32_t id = find(t, word);
        if (id >= 0) return id;
    }
    if (mbart && size == MBART_TOKEN && mbart_token(word, size))
        return find(t, mbart_token(word, size));
    for (int n = 0; n < LANGUAGES && size; n++) {
        const struct language_names *l = &rapt__language_table[n];
        if (!same(word, l->code) && !same(word, l->brief) && !same(word, l->name)) continue;
        const int32_t id = token_of(t, l);
        if (id >= 0) return id;
    }
    return -1;
}

bool rapt__language_any(const rapt_tokenizer *t)
{
    if (!t->list) return false;
    for (int n = 0; n < LANGUAGES; n++)
        if (token_of(t, &rapt__language_table[n]) >= 0) return true;
    return false;
}

/* ---- similar names ---- */

/* Returns the smallest number of letters that must be inserted, deleted or replaced to turn a into
   b (Levenshtein 1966). Ignores case, and everything after WORD - 1 bytes. */
static int distance(const char *a, const char *b)
{
    char x[WORD], y[WORD];
    int row[WORD];
    lower(a, x), lower(b, y);
    const int n = (int)strlen(x), m = (int)strlen(y);
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int before = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int replaced = before + (x[i - 1] != y[j - 1]);
            before = row[j];
            row[j] = rapt__min(replaced, 1 + rapt__min(row[j], row[j - 1]));
        }
    }
    return row[m];
}

/* Returns the smallest distance between a word and the names of a language. One is added to the
   distance from a brief code. If the English name begins with the word, the result is at most 1. */
static int difference(const char *word, const struct language_names *l)
{
    char x[WORD], y[WORD];
    int least = rapt__min(distance(word, l->name), distance(word, l->code));
    if (*l->brief) least = rapt__min(least, 1 + distance(word, l->brief));
    lower(word, x), lower(l->name, y);
    return *x && strncmp(x, y, strlen(x)) == 0 ? rapt__min(least, 1) : least;
}

void rapt__language_near(const rapt_tokenizer *t, const char *word, char *to, size_t size)
{
    enum { MOST = 3, NEAR = 4 }; /* maximum difference, and maximum number of names */
    int count = 0;
    *to = 0;
    for (int wanted = 0; wanted <= MOST; wanted++)
        for (int n = 0; n < LANGUAGES && count < NEAR; n++) {
            const struct language_names *l = &rapt__language_table[n];
            if (difference(word, l) != wanted || token_of(t, l) < 0) continue;
            const size_t used = strlen(to);
            snprintf(to + used, size - used, "%s%s (%s)", count++ ? ", " : "", l->name,
                     *l->code && find(t, l->code) >= 0 ? l->code : l->brief);
        }
}
