/* torch.h - what the two forms of torch.save share: a pickle of a state dict goes in, entries come
   out. The forms differ in where the bytes of a storage are. */
#ifndef RAPT_LIB_FORMAT_TORCH_H
#define RAPT_LIB_FORMAT_TORCH_H

#include "dtype.h"
#include "pickle.h"
#include "tensors.h"

struct torch_reading;
/* Finds the bytes of a storage, whose size has to agree: the part, and where they begin in it. */
typedef rapt_status torch_find_fn(struct torch_reading *r, const struct pickle_value *storage,
                                  const struct dtype *dtype, struct tensor_entry *entry,
                                  uint64_t *begin);
struct torch_reading {
    struct tensor_file *file;
    struct pickle pickle;
    torch_find_fn *find;
    void *form; /* what find needs to know */
    rapt_message *why;
};

struct torch_reading rapt__torch_reading(struct tensor_file *file, torch_find_fn *find, void *form,
                                         rapt_message *why);
/* Adds the tensors of the state dict that is the result of the pickle, which took `size` bytes, or
   that the result has as "model", "state_dict" or "model_state_dict". */
rapt_status rapt__torch_add(struct torch_reading *r, size_t size);
/* RAPT_BAD_FILE: "file: tensor "name": what". */
rapt_status rapt__torch_bad(const struct torch_reading *r, const char *name, const char *what);

#endif
