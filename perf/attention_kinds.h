/* attention_kinds.h - perf_attention --only kinds: every score, locality and normalizer. */
#ifndef RAPT_PERF_ATTENTION_KINDS_H
#define RAPT_PERF_ATTENTION_KINDS_H

#include "bench.h"

#include <rapt/attention.h>

void measure_kinds(struct bench *b, int threads);

#endif
