/* main.c - lessons: runs the program with the table of lessons.def. */
#include "kit/program.h"
#include "lesson.h"

const char program_name[] = "lessons";

int main(int argc, char **argv)
{
    static const struct lesson lessons[] = {
#define LESSON(number, name, title, summary) {number, title, summary, lesson_##name},
#include "lessons.def"
#undef LESSON
    };
    return lessons_main(argc, argv, lessons, sizeof lessons / sizeof *lessons);
}
