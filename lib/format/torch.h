/* torch.h - declarations shared by the readers of the two file formats of torch.save, which differ
   in where the bytes of a storage are. */
#ifndef RAPT_LIB_FORMAT_TORCH_H
#define RAPT_LIB_FORMAT_TORCH_H

#include "pickle.h"
#include "tensors.h"

struct torch_reading;
/* Finds the bytes of a storage, or fails if they are not in the file. Sets *begin to their offset
   and, if they are not in the main part of the file, entry->part to the number of their part. */
typedef rapt_status torch_find_fn(struct torch_reading *r, const struct pickle_value *storage,
                                  const struct dtype *dtype, struct tensor_entry *entry,
                                  uint64_t *begin);
struct torch_reading {
    struct tensor_file *file;
    struct pickle pickle;
    torch_find_fn *find;
    void *form; /* data of the reader, for `find` */
    rapt_message *why;
};

struct torch_reading rapt__torch_reading(struct tensor_file *file, torch_find_fn *find, void *form,
                                         rapt_message *why);
/* Adds the tensors of the state dict, which is the unpickled object itself or its item "model",
   "state_dict" or "model_state_dict". `size` is the size of the pickle in bytes. */
rapt_status rapt__torch_add(struct torch_reading *r, size_t size);
/* Fails with RAPT_BAD_FILE and the message "file: tensor "name" what". */
rapt_status rapt__torch_bad(const struct torch_reading *r, const char *name, const char *what);

#endif
