/* session.h - functions shared by the files that run a session's encoder and decoder. */
#ifndef RAPT_LIB_GENERATE_SESSION_H
#define RAPT_LIB_GENERATE_SESSION_H

#include "generate/generate.h"

static inline struct stack rapt__session_stack(rapt_session *s, bool decoder)
{
    return (struct stack){.model = s->model,
                          .block = s->model->block,
                          .decoder = decoder,
                          .memory = decoder ? &s->decoder : &s->encoder,
                          .attention_workspace = s->attention_workspace,
                          .threads = s->limits.threads};
}

static inline struct stack_caches rapt__session_caches(rapt_session *s)
{
    struct stack_caches caches = {s->self, s->cross, s->past, s->source_of};
    caches.self.counts = s->length, caches.cross.counts = s->source_length;
    return caches;
}

/* Returns the number of head positions that monotonic cross-attention stores, over all layers and
   targets. */
static inline size_t rapt__positions_count(const rapt_session *s)
{
    const rapt_config *c = &s->model->config;
    return (size_t)c->decoder_layers * (size_t)s->limits.batch * (size_t)s->limits.beams *
           (size_t)c->heads;
}

static inline struct exec_context rapt__session_exec(rapt_session *s, struct team *team)
{
    return (struct exec_context){team, rapt__kernels(), s->pack, NULL, s->observer};
}

/* Copies `starts` [batch + 1] to `to` [max + 1] and repeats the last value, so that absent
   sequences are empty. */
static inline void rapt__starts_copy(int *to, const int *starts, int batch, int max)
{
    for (int b = 0; b <= max; b++) to[b] = starts[b < batch ? b : batch];
}

#endif
