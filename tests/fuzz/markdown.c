/* markdown.c - any bytes as Markdown; see markup.h. */
#include "markup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_MARKDOWN, bytes, size);
    return 0;
}
