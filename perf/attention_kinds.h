/* attention_kinds.h - the second half of perf_attention. */
#ifndef RAPT_PERF_ATTENTION_KINDS_H
#define RAPT_PERF_ATTENTION_KINDS_H

#include "bench.h"

#include <rapt/attention.h>

void measure_kinds(struct bench *b, int threads);

#endif
