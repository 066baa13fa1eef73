/* appendix.c - what follows a lesson on its page: exercises (exercises.def) and sources
   (sources.def); and the glossary (glossary.def). */
#include "kit/program.h"
#include "kit/svg.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>

enum source_kind { LECTURE, PAPER, CODE, SOURCE_KINDS };
static const struct {
    int lesson;
    enum source_kind kind;
    const char *text, *url; /* url may be "" */
} sources[] = {
#define SOURCE(lesson, kind, text, url) {lesson, kind, text, url},
#define QUOTATION(lesson, what, path, start, lines)
#include "sources.def"
#undef SOURCE
#undef QUOTATION
};
static const struct {
    int lesson;
    const char *what, *path, *start; /* of the first line, once in all files that are quoted */
    int lines;
} quotations[] = {
#define QUOTATION(lesson, what, path, start, lines) {lesson, what, path, start, lines},
#define SOURCE(lesson, kind, text, url)
#include "sources.def"
#undef SOURCE
#undef QUOTATION
};
static const struct {
    int lesson;
    const char *question, *answer;
} exercises[] = {
#define EXERCISE(lesson, question, answer) {lesson, question, answer},
#include "exercises.def"
#undef EXERCISE
};
static const struct {
    const char *term;
    int lesson;
    const char *meaning;
} terms[] = {
#define TERM(term, lesson, meaning) {term, lesson, meaning},
#include "glossary.def"
#undef TERM
};
enum {
    SOURCES = sizeof sources / sizeof *sources,
    EXERCISES = sizeof exercises / sizeof *exercises,
    QUOTATIONS = sizeof quotations / sizeof *quotations,
    TERMS = sizeof terms / sizeof *terms
};

static bool has_exercises(int lesson)
{
    for (int i = 0; i < EXERCISES; i++)
        if (exercises[i].lesson == lesson) return true;
    return false;
}

void html_exercises(FILE *file, int lesson)
{
    if (!has_exercises(lesson)) return;
    html_element(file, "h2", "Exercises");
    html_element(file, "p", "Answer first, then look. Answers are on this page or follow from it.");
    fputs("<ol>\n", file);
    for (int i = 0; i < EXERCISES; i++) {
        if (exercises[i].lesson != lesson) continue;
        fputs("<li>", file);
        html_text(file, exercises[i].question);
        fputs("<details><summary>Answer</summary>\n", file);
        html_element(file, "p", exercises[i].answer);
        fputs("</details></li>\n", file);
    }
    fputs("</ol>\n", file);
}

static void put_source(FILE *file, int i)
{
    if (*sources[i].url) {
        fputs("<a href=\"", file);
        xml_escape(file, sources[i].url);
        fputs("\">", file);
    } else if (sources[i].kind == CODE) {
        fputs("<code>", file);
    }
    xml_escape(file, sources[i].text);
    fputs(*sources[i].url ? "</a>" : sources[i].kind == CODE ? "</code>" : "", file);
}

static void put_sources(FILE *file, int lesson, enum source_kind kind, const char *before)
{
    int count = 0;
    for (int i = 0; i < SOURCES; i++) {
        if (sources[i].lesson != lesson || sources[i].kind != kind) continue;
        fputs(count++ == 0 ? "<p>" : "; ", file);
        if (count == 1) fputs(before, file);
        put_source(file, i);
    }
    if (count > 0) fputs(".</p>\n", file);
}

/* Finds the line that contains `start`; stores the number of spaces that it begins with. */
static const char *find_code(const char *start, size_t *indent)
{
    const char *code = (const char *)quoted_code, *at = strstr(code, start);
    if (at == NULL || strstr(at + 1, start) != NULL)
        exit(failed("the files that are quoted do not contain once: %s", start));
    while (at > code && at[-1] != '\n') at--;
    *indent = strspn(at, " ");
    return at;
}

void html_code(FILE *file, const char *start, int lines)
{
    size_t indent;
    const char *at = find_code(start, &indent);
    fputs("<pre class=\"scroll\"><code>", file);
    for (int i = 0; i < lines; i++) {
        const size_t spaces = strspn(at, " "), size = strcspn(at, "\n");
        const size_t skipped = spaces < indent ? spaces : indent;
        char *line = xasprintf("%.*s", (int)(size - skipped), at + skipped);
        xml_escape(file, line);
        putc('\n', file);
        free(line);
        at += size + (at[size] == '\n');
    }
    fputs("</code></pre>\n", file);
}

static void put_quotation(FILE *file, int i)
{
    fputs("<p>", file);
    xml_escape(file, quotations[i].what);
    fputs(" (<code>", file);
    xml_escape(file, quotations[i].path);
    fputs("</code>):</p>\n", file);
    html_code(file, quotations[i].start, quotations[i].lines);
}

void html_sources(FILE *file, int lesson)
{
    static const char *const before[SOURCE_KINDS] = {
        "Lectures that this lesson follows: ", "Papers: ", "More of it in C: "};
    for (int i = 0, count = 0; i < QUOTATIONS; i++) {
        if (quotations[i].lesson != lesson) continue;
        if (count++ == 0) html_element(file, "h2", "In C");
        put_quotation(file, i);
    }
    html_element(file, "h2", "Sources");
    for (int kind = 0; kind < SOURCE_KINDS; kind++)
        put_sources(file, lesson, (enum source_kind)kind, before[kind]);
}

void html_glossary(FILE *file)
{
    fputs("<dl>\n", file);
    for (int i = 0; i < TERMS; i++) {
        html_element(file, "dt", terms[i].term);
        fputs("<dd>", file);
        html_text(file, terms[i].meaning);
        fprintf(file, " (lesson %d)</dd>\n", terms[i].lesson);
    }
    fputs("</dl>\n", file);
}
