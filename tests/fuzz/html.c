/* html.c - any bytes as an HTML document; see markup.h. */
#include "markup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_HTML, bytes, size);
    return 0;
}
