/* po.c - any bytes as messages of gettext; see markup.h. */
#include "markup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_PO, bytes, size);
    return 0;
}
