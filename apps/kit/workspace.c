/* workspace.c - checks an attention problem and allocates its workspace, aligned to 64 bytes. */
#include "kit/workspace.h"
#include "kit/program.h"
#include <stdlib.h>

void *workspace_for(struct workspace *workspace, const rapt_attention *problem)
{
    rapt_message why = {""};
    if (rapt_attention_check(problem, &why) != RAPT_OK) exit(failed("attention: %s", why.text));
    size_t bytes = (rapt_attention_workspace(problem) + 63) & ~(size_t)63;
    if (bytes <= workspace->bytes) return workspace->data;
    free(workspace->data);
    workspace->data = aligned_alloc(64, bytes);
    workspace->bytes = bytes;
    if (workspace->data == NULL) exit(failed("out of memory"));
    return workspace->data;
}

void must(rapt_status status)
{
    if (status != RAPT_OK) exit(failed("attention: %s", rapt_status_text(status)));
}
