/* translate.c - translates the sentences of standard input, one per line, with a model file written by
   toy_translate. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    rapt_translator *translator;
    rapt_message why;
    char line[4096], out[8192];
    int code = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s model.safetensors\n", argv[0]);
        return 2;
    }
    if (rapt_translator_load(&translator, argv[1], NULL, NULL, &why)) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        if (!strchr(line, '\n') && !feof(stdin)) return fprintf(stderr, "a line is too long\n"), 1;
        line[strcspn(line, "\n")] = 0;
        if (rapt_translate(translator, line, out, sizeof out, NULL, &why)) {
            fprintf(stderr, "%s\n", why.text);
            out[0] = 0, code = 1; /* prints an empty line instead */
        }
        puts(out);
    }
    rapt_translator_free(translator);
    return code;
}
