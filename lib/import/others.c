/* others.c - checks the folder of an export for two kinds of files: files of another model that
   would be read together with the new files, and a model of another format that would be
   replaced. */
#include "import/export.h"
#include "import/hf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct found_other {
    const struct export_plan *plan;
    char name[256]; /* "" if none was found */
};

static bool is_planned(const struct export_plan *plan, const char *name)
{
    for (int n = 0; n < plan->count; n++)
        if (strcmp(plan->names[n], name) == 0) return true;
    return false;
}

static bool visit(void *user, const char *name)
{
    struct found_other *found = user;
    bool reads = rapt__import_reads(name) || strcmp(name, HF_ADDED_TOKENS) == 0;
    if (!reads || is_planned(found->plan, name)) return true;
    snprintf(found->name, sizeof found->name, "%s", name);
    return false;
}

/* Returns the export format of a tensor file, or -1 if it is in rapt's own format. */
static int format_of(const struct tensor_file *file)
{
    if (rapt__tensors_container(file) == CONTAINER_CTRANSLATE2) return EXPORT_CT2;
    if (rapt__tensors_metadata(file, "special:model.yml")) return EXPORT_MARIAN;
    return rapt__tensors_metadata(file, "rapt.config") ? -1 : EXPORT_HF;
}

/* Sets found->name if the file `name`, which will be replaced, is a model of another format. A file
   that is missing or cannot be read is ignored. */
static rapt_status check_replaced(const struct exporting *e, const char *name,
                                  struct found_other *found)
{
    const int before = errno;
    char path[2 * IMPORT_PATH];
    struct tensor_file *file;
    enum export_format wanted =
        e->format == EXPORT_BERGAMOT || e->format == EXPORT_FIREFOX ? EXPORT_MARIAN : e->format;
    rapt__export_path(e, name, path);
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, &e->model->allocator);
    rapt_status status = rapt__tensors_open_any(&file, path, &reading, NULL);
    status = rapt__budget_end(&budget, status, NULL);
    errno = before;
    if (status == RAPT_NO_MEMORY)
        return rapt__fail(e->why, status, "%.200s: out of memory while opening", path);
    if (status) return RAPT_OK;
    if (format_of(file) != (int)wanted) snprintf(found->name, sizeof found->name, "%s", name);
    rapt__tensors_close(file);
    return RAPT_OK;
}

rapt_status rapt__export_check_folder(const struct exporting *e, const struct export_plan *plan)
{
    struct found_other found = {plan, ""};
    rapt_status status = RAPT_OK;
    if (!rapt__disk_list(e->folder, visit, &found)) {
        if (errno == ENOENT || errno == ENOTDIR)
            return RAPT_OK; /* reported when the file is written */
        return rapt__fail(e->why, errno == ENOMEM ? RAPT_NO_MEMORY : RAPT_NO_FILE,
                          "%.200s: the folder cannot be listed", e->folder);
    }
    for (int n = 0; n < plan->count && !status && !found.name[0]; n++)
        if (strncmp(plan->names[n], "model.", 6) == 0)
            status = check_replaced(e, plan->names[n], &found);
    if (status || !found.name[0]) return status;
    return rapt__fail(e->why, RAPT_BAD_ARGUMENT,
                      "%.200s: %.60s is a file of another model or format; choose another folder",
                      e->folder, found.name);
}
