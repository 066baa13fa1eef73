/* show.c - text and JSON output: scenes as letters, attention weights of each word as shades. */
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
        int object = object_at(scene, x * PIXELS / 2 + 1, row * PIXELS / 2 + 1);
        putchar(object < 0 ? '.' : "rgby"[scene->objects[object].color]);
    }
}

static void print_example(const struct example *example)
{
    const int count = length_of(example->out);
    char caption[128], reference[128];
    spell(caption, sizeof caption, example->out);
    spell(reference, sizeof reference, example->scene.words);
    printf("%s\n", caption);
    if (strcmp(caption, reference) != 0) printf("(reference: %s)\n", reference);
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
    puts("Left: the picture, one letter per color. Right: attention weights over patches, per "
         "word.\n");
    for (int i = 0; i < EXAMPLES; i++) print_example(&examples[i]);
    printf("%zu parameters, %.1f seconds\n", result->parameters, result->seconds);
    printf("exact captions: %.1f %% of training pairs, %.1f %% of held-out pairs\n",
           100 * result->exact_seen, 100 * result->exact);
    printf("weight on an object's patches: %.2f at its color word, %.2f at its shape word, %.2f if "
           "uniform\n",
           result->colors, result->shapes, result->chance);
    printf("The claim %s: at least 80 %% of the captions of held-out pairs are exact, and an "
           "object's\n"
           "patches get at least twice the weight of uniform attention at its words.\n",
           claim_holds(result) ? "holds" : "does NOT hold");
}

void print_result_json(const struct result *result, const struct example *examples)
{
    json_t *list = json_array();
    for (int i = 0; i < EXAMPLES; i++) {
        char caption[128], reference[128];
        spell(caption, sizeof caption, examples[i].out);
        spell(reference, sizeof reference, examples[i].scene.words);
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o}", "caption", caption, "reference", reference, "weights",
                      number_rows(examples[i].weights, length_of(examples[i].out), PATCHES)));
    }
    print_json(json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:b, s:f}", "parameters",
                         (json_int_t)result->parameters, "exact", result->exact, "exact_seen",
                         result->exact_seen, "weight_color", result->colors, "weight_shape",
                         result->shapes, "chance", result->chance, "examples", list, "claim",
                         claim_holds(result), "seconds", result->seconds));
}
