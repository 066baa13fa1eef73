/* program.c - the program over a table of lessons: selects and runs them and writes the output. The
   exit status is 1 if a claim fails. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "architecture.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Teaches attention in lessons that compute what they show. Each lesson trains small models or "
    "works through an example, draws what happens, and checks claims about it. Without arguments "
    "the lessons are listed; \"all\" runs all of them. The exit status is 1 if a claim fails.";
static const char examples[] = "  lessons 6\n"
                               "  lessons 6 7 --more --pause\n"
                               "  lessons all --html lessons";

struct program {
    const struct lesson *lessons;
    int lessons_count;
    struct lesson_options options;
    bool more, pause, json;
    const char *svg, *html, *architecture;
    struct page *pages; /* [count], those that were requested, in the order of the table */
    int count;
};

static void list(const struct program *program)
{
    puts("Lessons about attention:\n");
    for (int i = 0; i < program->lessons_count; i++) {
        const struct lesson *lesson = &program->lessons[i];
        printf("%4d  %s\n      ", lesson->number, lesson->title);
        print_wrapped(lesson->summary, 6, 6);
    }
    puts("\nlessons N runs lesson N, lessons all runs all; lessons --help lists the options.");
}

/* Marks the lessons that the arguments name. */
static int program_choose(const struct program *program, const struct command *command,
                          bool *chosen)
{
    for (int a = 0; a < command->rest_count; a++) {
        const char *name = command->rest[a];
        bool known = strcmp(name, "all") == 0;
        for (int i = 0; i < program->lessons_count; i++) {
            char *number = xasprintf("%d", program->lessons[i].number);
            bool named = strcmp(name, number) == 0;
            free(number);
            chosen[i] = chosen[i] || named || strcmp(name, "all") == 0;
            known = known || named;
        }
        if (!known)
            return usage_error("there is no lesson %s; lessons without arguments lists them", name);
        if (strcmp(name, "all") == 0 && command->rest_count > 1)
            return usage_error("name either all lessons or some: lessons all, or lessons N...");
    }
    return EXIT_OK;
}

static void print_new(struct page *page, void *terminal)
{
    clear_progress();
    terminal_print(page, terminal);
}

static int run_lesson(const struct program *program, struct page *page)
{
    struct terminal terminal = {.more = program->more, .pause = program->pause};
    double start = now();
    if (!program->json) {
        page->before_step = print_new;
        /* cppcheck-suppress autoVariables ; until the lesson has run */
        page->user = &terminal;
        terminal_title(page);
    }
    int code = page->lesson->run(page, &program->options);
    page->before_step = NULL, page->user = NULL;
    page->seconds = now() - start;
    clear_progress();
    if (code != EXIT_OK) return code;
    if (page->claims == 0) return failed("lesson %d claims nothing", page->lesson->number);
    if (program->json) {
        print_json(page_json(page));
    } else {
        terminal_print(page, &terminal);
        terminal_claims(page);
        printf("\n%d of %d claims hold (%.1f s)%s\n\n", page->claims - page->failures, page->claims,
               page->seconds, program->more ? "" : "; --more: details, --html DIR: pictures");
    }
    return EXIT_OK;
}

static int program_run(struct program *program)
{
    int claims = 0, failures = 0, code = EXIT_OK;
    for (int i = 0; i < program->count && code == EXIT_OK; i++) {
        code = run_lesson(program, &program->pages[i]);
        claims += program->pages[i].claims;
        failures += program->pages[i].failures;
    }
    if (code == EXIT_OK && program->json)
        print_json(json_pack("{s:b,s:i,s:i,s:i}", "done", true, "lessons", program->count, "claims",
                             claims, "failed", failures));
    if (code == EXIT_OK && program->svg != NULL)
        code = picture_file(program->svg, program->pages, program->count);
    if (code == EXIT_OK && program->html != NULL)
        code = html_write(program->html, program->pages, program->count);
    if (code == EXIT_OK) code = finish_output();
    if (code == EXIT_OK && failures > 0) code = failed("%d of %d claims fail", failures, claims);
    return code;
}

static int run_chosen(struct program *program, const struct command *command)
{
    bool *chosen = xcalloc((size_t)program->lessons_count, sizeof *chosen);
    int code = program_choose(program, command, chosen);
    program->pages = xcalloc((size_t)program->lessons_count, sizeof *program->pages);
    for (int i = 0; i < program->lessons_count; i++)
        if (chosen[i]) program->pages[program->count++].lesson = &program->lessons[i];
    free(chosen);
    if (code == EXIT_OK && program->pause && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        code = usage_error("--pause waits for Enter: it needs a terminal");
    if (code == EXIT_OK && program->html != NULL) code = folder_make("html", program->html);
    if (code == EXIT_OK) code = program_run(program);
    for (int i = 0; i < program->count; i++) page_free(&program->pages[i]);
    free(program->pages);
    return code;
}

static int write_architectures(const struct program *program)
{
    int code = folder_make("architecture", program->architecture);
    return code == EXIT_OK ? architectures_write(program->architecture, &program->options) : code;
}

/* Called if no lesson was named: refuses options that apply only to lessons. */
static int check_none(const struct program *program)
{
    bool quick = program->options.quick && program->architecture == NULL;
    const char *option = program->json    ? "json"
                         : program->svg   ? "svg"
                         : program->html  ? "html"
                         : program->more  ? "more"
                         : program->pause ? "pause"
                         : quick          ? "quick"
                                          : NULL;
    return option == NULL ? EXIT_OK : usage_error("--%s needs lessons: numbers, or all", option);
}

int lessons_main(int argc, char **argv, const struct lesson *lessons, int count)
{
    struct program program = {.lessons = lessons, .lessons_count = count, .options.seed = 1};
    struct option_row rows[] = {
        {"more", OPTION_FLAG, &program.more, "", "print all details", 0, 0, 0},
        {"pause", OPTION_FLAG, &program.pause, "", "wait for Enter between steps", 0, 0, 0},
        {"quick", OPTION_FLAG, &program.options.quick, "", "train less; the claims are the same", 0,
         0, 0},
        {"seed", OPTION_SEED, &program.options.seed, "N", "seed of data and initial parameters", 0,
         0, 0},
        threads_row(&program.options.threads),
        {"svg", OPTION_OUTPUT, &program.svg, "FILE", "write all pictures into one SVG file", 0, 0,
         0},
        {"html", OPTION_TEXT, &program.html, "DIR",
         "write index.html, glossary.html and one page per lesson into a folder", 0, 0, 0},
        {"architecture", OPTION_TEXT, &program.architecture, "DIR",
         "train nine models for a moment and write a picture of each, with the numbers of a real "
         "step",
         0, 0, 0},
        {"json", OPTION_FLAG, &program.json, "", "print JSON, one object per lesson", 0, 0, 0},
    };
    struct command command = {.name = "",
                              .arguments = "[N...|all]",
                              .purpose = purpose,
                              .examples = examples,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows,
                              .max = 100};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    program.options.threads = threads_used(program.options.threads);
    if (command.rest_count == 0 && check_none(&program) != EXIT_OK) return EXIT_USAGE;
    if (program.architecture != NULL) code = write_architectures(&program);
    if (code == GO_ON || code == EXIT_OK) {
        if (command.rest_count > 0) return run_chosen(&program, &command);
        if (code == GO_ON) list(&program);
        code = finish_output();
    }
    return code;
}
