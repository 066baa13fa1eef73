/* show.c - scenes in letters, and where the model looked as it said each word. */
#include "caption.h"
#include "kit/heatmap.h"
#include <string.h>

static int length_of(const int *out)
{
    int count = 0;
    while (count < MAX_WORDS && out[count] != END) count++;
    return count;
}

static void spell(char *text, size_t size, const int *out)
{
    size_t at = 0;
    text[0] = 0;
    for (int t = 0; t < length_of(out) && at < size; t++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", t > 0 ? " " : "", words[out[t]]);
}

/* Two by two characters for each patch of the picture. */
static void print_picture_row(const struct scene *scene, int row)
{
    for (int x = 0; x < 2 * SIDE; x++) {
        int thing = thing_at(scene, x * PIXELS / 2 + 1, row * PIXELS / 2 + 1);
        putchar(thing < 0 ? '.' : "rgby"[scene->things[thing].color]);
    }
}

static void print_example(const struct example *example)
{
    const int count = length_of(example->out);
    char said[128], wanted[128];
    spell(said, sizeof said, example->out);
    spell(wanted, sizeof wanted, example->scene.words);
    printf("%s\n", said);
    if (strcmp(said, wanted) != 0) printf("(it should be: %s)\n", wanted);
    printf("\n%*s", 2 * SIDE + 1, "");
    for (int t = 0; t < count; t++) printf(" %-*.*s", 2 * SIDE, 2 * SIDE, words[example->out[t]]);
    putchar('\n');
    for (int row = 0; row < 2 * SIDE; row++) {
        print_picture_row(&example->scene, row);
        putchar(' ');
        for (int t = 0; row % 2 == 0 && t < count; t++) {
            putchar(' ');
            for (int x = 0; x < SIDE; x++) {
                float weight = example->weights[t * PATCHES + row / 2 * SIDE + x];
                printf("%s%s", heatmap_shade(weight), heatmap_shade(weight));
            }
        }
        putchar('\n');
    }
    putchar('\n');
}

void print_result(const struct result *result, const struct example *examples)
{
    puts("Left the picture, a letter for each color; then where the model looked for each word.\n");
    for (int i = 0; i < EXAMPLES; i++) print_example(&examples[i]);
    printf("%zu parameters, %.1f seconds\n", result->parameters, result->seconds);
    printf("captions without a mistake: %.1f %% of pairs seen in learning, %.1f %% of pairs never "
           "seen\n",
           100 * result->seen, 100 * result->exact);
    printf("weight on a thing's patches: %.2f at its color, %.2f at its shape, by chance %.2f\n",
           result->colors, result->shapes, result->chance);
    printf("The claim %s: four of five captions of pairs never seen are right, and a thing's\n"
           "patches get twice their share while it is named.\n",
           claim_holds(result) ? "holds" : "does NOT hold");
}

void print_result_json(const struct result *result, const struct example *examples)
{
    json_t *list = json_array();
    for (int i = 0; i < EXAMPLES; i++) {
        char said[128], wanted[128];
        spell(said, sizeof said, examples[i].out);
        spell(wanted, sizeof wanted, examples[i].scene.words);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o}", "caption", said, "wanted", wanted, "weights",
                            number_rows(examples[i].weights, length_of(examples[i].out), PATCHES)));
    }
    print_json(json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:b, s:f}", "parameters",
                         (json_int_t)result->parameters, "exact", result->exact, "exact_seen",
                         result->seen, "weight_color", result->colors, "weight_shape",
                         result->shapes, "chance", result->chance, "examples", list, "claim",
                         claim_holds(result), "seconds", result->seconds));
}
