/* page.h - shared by the files that draw the SVG figure. */
#ifndef ATTENTION_TOUR_PAGE_H
#define ATTENTION_TOUR_PAGE_H

#include "tour.h"

extern const char page_dark[], page_gray[];
void page_heading(struct svg *svg, double x, double y, const char *title, const char *below);
struct result page_attended(const struct sentence *s, struct variant variant, uint64_t seed);

/* ---- page_figures.c ---- */
void page_hull(struct svg *svg, const struct sentence *s, double x, double y);
void page_between(struct svg *svg, const struct sentence *s, double x, double y);

#endif
