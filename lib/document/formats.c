/* formats.c - the list of formats. */
#include "document/markup.h"

static const struct format formats[] = {
    [RAPT_DOCUMENT_FORMAT_TEXT] = {"text", NULL, rapt__write_plain},
    [RAPT_DOCUMENT_FORMAT_HTML] = {"html", rapt__html_next, rapt__write_escaped},
    [RAPT_DOCUMENT_FORMAT_XLIFF] = {"xliff", rapt__xliff_next, rapt__write_escaped},
    [RAPT_DOCUMENT_FORMAT_MARKDOWN] = {"markdown", rapt__markdown_next, rapt__markdown_write},
    [RAPT_DOCUMENT_FORMAT_PO] = {"po", rapt__po_next, rapt__po_write},
    [RAPT_DOCUMENT_FORMAT_SRT] = {"srt", rapt__srt_next, rapt__write_plain},
};

const struct format *rapt__format(int index)
{
    return index >= 0 && index < (int)(sizeof formats / sizeof *formats) ? &formats[index] : NULL;
}

const char *rapt_document_format_name(int format)
{
    const struct format *known = rapt__format(format);
    return known ? known->name : NULL;
}
