/* srt.c - any bytes as subtitles; see markup.h. */
#include "markup.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_SRT, bytes, size);
    return 0;
}
