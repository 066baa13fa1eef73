/* pictures_network.c - the network of glimpses as a drawing, and what a convolutional network would
   read instead: the work of both by the size of the picture. */
#include "glimpse/glimpse.h"
#include "parts.h"
#include <stdlib.h>

static const char gray[] = "#777777", ink[] = "#222222";

/* Draws a box with a name that may have an index. */
static void put_box(struct svg *svg, double x, double y, double width, const char *color,
                    const char *name, const char *index, const char *what)
{
    svg_rect(svg, x, y, width, 44, "white", color);
    svg_text(svg, x + width / 2 - 3, y + 19, 14, SVG_MIDDLE, color, "%s", name);
    svg_text(svg, x + width / 2 + 2, y + 23, 10, SVG_LEFT, color, "%s", index);
    svg_text(svg, x + width / 2, y + 36, 11, SVG_MIDDLE, ink, "%s", what);
}

static void draw_network(struct svg *svg, const void *user)
{
    const double back[] = {352, 96, 362, 96, 362, 250, 58, 250};
    (void)user;
    svg_text(svg, 10, 22, 12, SVG_LEFT, gray, "one step t");
    put_box(svg, 10, 174, 96, chart_colors[0], "sensor", "", "window at l(t)");
    svg_arrow(svg, 106, 196, 132, 196, gray, 1.5);
    put_box(svg, 132, 174, 96, chart_colors[0], "f", "g", "what and where");
    svg_arrow(svg, 228, 196, 254, 196, gray, 1.5);
    put_box(svg, 254, 174, 98, chart_colors[2], "f", "h", "all glimpses");
    svg_arrow(svg, 292, 174, 292, 104, gray, 1.5);
    put_box(svg, 232, 60, 120, chart_colors[1], "f", "l", "next place l(t+1)");
    svg_arrow(svg, 262, 174, 190, 104, gray, 1.5);
    put_box(svg, 96, 60, 112, chart_colors[3], "f", "a", "answer: the digit");
    put_box(svg, 380, 60, 84, gray, "preview", "", "of the picture");
    svg_arrow(svg, 380, 76, 352, 76, gray, 1.5);
    svg_text(svg, 292, 22, 12, SVG_MIDDLE, chart_colors[2], "reward: where to look");
    svg_arrow(svg, 292, 28, 292, 60, chart_colors[2], 1.5);
    svg_polyline(svg, 4, back, chart_colors[1], 1.5, 0);
    svg_arrow(svg, 58, 250, 58, 218, chart_colors[1], 1.5);
    svg_arrow(svg, 180, 250, 180, 218, chart_colors[1], 1.5);
    svg_text(svg, 218, 268, 12, SVG_MIDDLE, chart_colors[1], "l(t+1), the place of the next step");
}

/* Returns the multiplications of filters of 3 x 3 at every pixel that has all neighbors. */
static double convolve(int side, int filters)
{
    return 9.0 * filters * (side - 2) * (side - 2);
}

/* Returns the multiplications of the sensor's first layer for all glimpses. */
static double look(const struct setup *setup)
{
    return (double)setup->glimpses * retina_width(setup) * 2 * setup->width;
}

static void show_cost(struct page *page)
{
    enum { FILTERS = 16, SIDES = 3 };
    double pixels[SIDES], counts[2][SIDES];
    page_table(page, SHORT, "Multiplications of the first layer, in thousands",
               "picture\tpixels\tconvolution\tglimpses");
    for (int i = 0; i < SIDES; i++) {
        struct setup setup = setup_quick;
        setup.side = MAX_SIDE >> (SIDES - 1 - i);
        pixels[i] = setup.side * setup.side;
        counts[0][i] = convolve(setup.side, FILTERS) / 1000;
        counts[1][i] = look(&setup) / 1000;
        page_row(page, "%d x %d\t%.0f\t%.0f\t%.0f", setup.side, setup.side, pixels[i], counts[0][i],
                 counts[1][i]);
    }
    const int glimpses = setup_quick.glimpses, numbers = retina_width(&setup_quick);
    const int hidden = 2 * setup_quick.width;
    page_chart(page, MORE, "Work by the size of the picture", "pixels", "thousand multiplications");
    page_curve(page, "convolution, 16 filters of 3 x 3", SIDES, pixels, counts[0]);
    page_curve(page, "3 glimpses", SIDES, pixels, counts[1]);
    page_paragraph(
        page, SHORT,
        "A convolutional network applies its filters at every pixel that is not at the border, so "
        "its work grows almost in proportion to the pixels. From the smallest picture to the "
        "largest, the pixels increase by a factor of %.0f and the work by a factor of %.1f, since "
        "the border matters less. Each filter multiplies 9 numbers at each such pixel, and there "
        "are %d filters. Each of the %d glimpses has %d numbers (%d from the window and the rest "
        "from its surroundings), which the first layer turns into %d. That makes %d · %d · %d "
        "multiplications, however large the picture is. At %.0f pixels this is more work than the "
        "convolution, since the glimpses together read %d numbers, more than the picture has. "
        "Glimpses pay off for large pictures. The preview, which is not counted here, grows with "
        "the grid of places. We compare only work here, not quality.",
        pixels[SIDES - 1] / pixels[0], counts[0][SIDES - 1] / counts[0][0], FILTERS, glimpses,
        numbers, setup_quick.window * setup_quick.window, hidden, glimpses, numbers, hidden,
        pixels[0], glimpses * numbers);
}

void show_glimpse_network(struct page *page)
{
    page_paragraph(
        page, SHORT,
        "The network consists of four functions, called f_g, f_h, f_l and f_a as by Mnih et al., "
        "whose f_h was a recurrent network. The sensor reads a window at the place l(t), and f_g "
        "encodes what it saw and where. Then f_h attends to all glimpses so far. From its result "
        "and the preview, f_l chooses the next place; after the last glimpse, f_a gives the "
        "answer. Only f_l needs the reward, since the choice of a place has no gradient; it is "
        "trained by REINFORCE.");
    page_drawing(page, SHORT, "The network of glimpses",
                 "The sensor and the place l(t) lead to f_g and then to f_h. From there f_l, which "
                 "also reads the preview and learns from the reward, leads back to the sensor with "
                 "the next place, and f_a leads to the answer.",
                 474, 280, draw_network, NULL);
    show_cost(page);
}
