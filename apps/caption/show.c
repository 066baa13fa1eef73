/* show.c - text and JSON output: scenes as letters, attention weights of each word as shades. */
#include "caption.h"
#include "kit/heatmap.h"
#include <string.h>

int caption_length(const int *out)
{
    int count = 0;
    while (count < MAX_WORDS && out[count] != END) count++;
    return count;
}

void caption_spell(char *text, size_t size, const int *out)
{
    size_t at = 0;
    text[0] = 0;
    for (int t = 0; t < caption_length(out) && at < size; t++)
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s", t > 0 ? " " : "", caption_words[out[t]]);
}

/* Prints two by two characters for each patch of the picture. */
static void print_picture_row(const struct scene *scene, int row)
{
    for (int x = 0; x < 2 * SIDE; x++) {
        int object = scene_object(scene, x * PIXELS / 2 + 1, row * PIXELS / 2 + 1);
        putchar(object < 0 ? '.' : "rgby"[scene->objects[object].color]);
    }
}

/* Prints the words [from, to) of the caption. */
static void print_words(const struct scene *scene, const struct caption_view *view, int from,
                        int to)
{
    printf("%*s", 2 * SIDE + 1, "");
    for (int t = from; t < to; t++)
        printf(" %-*.*s", 2 * SIDE, 2 * SIDE, caption_words[view->out[t]]);
    putchar('\n');
    for (int row = 0; row < 2 * SIDE; row++) {
        print_picture_row(scene, row);
        putchar(' ');
        for (int t = from; row % 2 == 0 && t < to; t++) {
            putchar(' ');
            for (int x = 0; x < SIDE; x++) {
                float weight = view->weights[t * PATCHES + row / 2 * SIDE + x];
                printf("%s%s", heatmap_shade(weight), heatmap_shade(weight));
            }
        }
        putchar('\n');
    }
    putchar('\n');
}

/* Prints as many words side by side as fit. */
static void print_view(const struct scene *scene, const struct caption_view *view)
{
    const int count = caption_length(view->out);
    int fit = (terminal_columns(stdout) - (2 * SIDE + 1)) / (2 * SIDE + 1);
    fit = fit < 1 ? 1 : fit;
    for (int from = 0; from < count; from += fit)
        print_words(scene, view, from, from + fit < count ? from + fit : count);
}

static void print_example(const struct caption_study *study, const struct caption_example *example)
{
    char caption[128], reference[128];
    caption_spell(reference, sizeof reference, example->scene.words);
    for (int kind = 0; kind < study->kinds; kind++) {
        const struct caption_view *view = &example->views[kind];
        caption_spell(caption, sizeof caption, view->out);
        printf("%s: %s\n", rapt_normalizer_name(study->results[kind].normalizer), caption);
        if (strcmp(caption, reference) != 0) printf("(reference: %s)\n", reference);
        print_view(&example->scene, view);
    }
}

static void print_kind(const struct caption_result *result)
{
    printf("%s\n  exact captions: %.1f %% of training pairs, %.1f %% of held-out pairs\n",
           rapt_normalizer_name(result->normalizer), 100 * result->exact_seen, 100 * result->exact);
    printf("  weight on an object's patches: %.2f at its color word, %.2f at its shape word,\n"
           "    %.2f if uniform\n"
           "  attends to %.1f of %d patches for such a word\n",
           result->colors, result->shapes, result->chance, result->read, PATCHES);
}

void caption_print(const struct caption_study *study)
{
    printf("Left: the picture, one letter per color. Right: attention weights over patches,\n"
           "per word: %s.\n\n",
           heatmap_legend);
    for (int i = 0; i < EXAMPLES; i++) print_example(study, &study->examples[i]);
    printf("%zu parameters, %.1f seconds\n", study->results[SOFT].parameters, study->seconds);
    for (int kind = 0; kind < study->kinds; kind++) print_kind(&study->results[kind]);
    printf("The claim %s: at least 80 %% of the captions of held-out pairs are\n"
           "exact (70 %% with hard attention), an object's patches get at least twice the\n"
           "weight of uniform attention at its words, and hard attention attends to one\n"
           "patch per head.\n",
           caption_claims(study) ? "holds" : "does NOT hold");
}

static json_t *view_json(const struct caption_view *view)
{
    char caption[128];
    caption_spell(caption, sizeof caption, view->out);
    return json_pack("{s:s, s:o}", "caption", caption, "weights",
                     number_rows(view->weights, caption_length(view->out), PATCHES));
}

static json_t *kind_json(const struct caption_study *study, int kind)
{
    const struct caption_result *r = &study->results[kind];
    json_t *views = json_array();
    for (int i = 0; i < EXAMPLES; i++)
        json_array_append_new(views, view_json(&study->examples[i].views[kind]));
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:b}", "normalizer",
                     rapt_normalizer_name(r->normalizer), "exact", r->exact, "exact_seen",
                     r->exact_seen, "weight_color", r->colors, "weight_shape", r->shapes, "chance",
                     r->chance, "read", r->read, "examples", views, "claim", caption_claim(r));
}

void caption_print_json(const struct caption_study *study)
{
    json_t *kinds = json_array(), *references = json_array();
    for (int kind = 0; kind < study->kinds; kind++)
        json_array_append_new(kinds, kind_json(study, kind));
    for (int i = 0; i < EXAMPLES; i++) {
        char reference[128];
        caption_spell(reference, sizeof reference, study->examples[i].scene.words);
        json_array_append_new(references, json_string(reference));
    }
    print_json(json_pack("{s:I, s:o, s:o, s:b, s:f}", "parameters",
                         (json_int_t)study->results[SOFT].parameters, "references", references,
                         "attention", kinds, "claim", caption_claims(study), "seconds",
                         study->seconds));
}
