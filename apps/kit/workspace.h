/* workspace.h - a workspace for rapt_attention_*, which grows on demand. */
#ifndef KIT_WORKSPACE_H
#define KIT_WORKSPACE_H

#include <rapt/attention.h>

struct workspace { /* initially {0}; free(data) at the end */
    void *data;
    size_t bytes;
};
/* Checks the problem and returns a large enough workspace. Exits if either fails. */
void *workspace_for(struct workspace *workspace, const rapt_attention *problem);
/* Exits with a message if a call failed. */
void must(rapt_status status);

#endif
