/* compose.c - composes and writes the small text files of an export. */
#include "import/export.h"

#include <assert.h>
#include <rapt/file.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Makes room for `size` more bytes. Returns whether there was memory for them. */
static bool make_room(struct composer *c, size_t size)
{
    while (!c->failed && c->capacity - c->size < size) {
        void *grown = rapt__grown(&c->allocator, c->text, &c->capacity, 1);
        if (grown)
            c->text = grown;
        else
            c->failed = true;
    }
    return !c->failed;
}

static void append_text(struct composer *c, const char *bytes, size_t size)
{
    if (!make_room(c, size) || size == 0) return;
    memcpy(c->text + c->size, bytes, size);
    c->size += size;
}

void rapt__compose(struct composer *c, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, format, arguments);
    if (make_room(c, size + 1)) {
        vsnprintf(c->text + c->size, size + 1, format, again);
        c->size += size;
    }
    va_end(again);
    va_end(arguments);
}

void rapt__compose_string(struct composer *c, rapt_text text)
{
    append_text(c, "\"", 1);
    for (size_t at = 0; at < text.size; at++) {
        unsigned char byte = (unsigned char)text.bytes[at];
        if (byte < 0x20 || byte == 0x7F) {
            rapt__compose(c, "\\u%04x", (unsigned)byte);
            continue;
        }
        if (byte == '"' || byte == '\\') append_text(c, "\\", 1);
        append_text(c, text.bytes + at, 1);
    }
    append_text(c, "\"", 1);
}

bool rapt__export_plans(const struct exporting *e, const char *name)
{
    if (!e->plan) return false;
    assert(e->plan->count < EXPORT_FILES);
    snprintf(e->plan->names[e->plan->count++], EXPORT_NAME, "%s", name);
    return true;
}

void rapt__export_path(const struct exporting *e, const char *name, char path[2 * IMPORT_PATH])
{
    snprintf(path, (size_t)2 * IMPORT_PATH, "%s/%s", e->folder, name);
}

rapt_status rapt__export_file(const struct exporting *e, const char *name, const void *data,
                              size_t size)
{
    char path[2 * IMPORT_PATH];
    if (rapt__export_plans(e, name)) return RAPT_OK;
    rapt__export_path(e, name, path);
    return rapt_file_write(path, data, size, e->why);
}

rapt_status rapt__compose_write(const struct exporting *e, struct composer *c, const char *name)
{
    rapt_status status = c->failed
                             ? rapt__fail(e->why, RAPT_NO_MEMORY, "no memory to write %s", name)
                             : rapt__export_file(e, name, c->text, c->size);
    rapt__free(&c->allocator, c->text, c->capacity);
    *c = (struct composer){.allocator = c->allocator};
    return status;
}
