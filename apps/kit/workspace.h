/* workspace.h - a workspace for rapt_attention_*, grown on demand. */
#ifndef KIT_WORKSPACE_H
#define KIT_WORKSPACE_H

#include <rapt/attention.h>

struct workspace { /* {0} at first; free(data) at the end */
    void *data;
    size_t bytes;
};
/* Checks the problem and returns a workspace large enough for it; exits if either fails. */
void *workspace_for(struct workspace *workspace, const rapt_attention *problem);
/* Exits with a message unless a call went well. */
void must(rapt_status status);

#endif
