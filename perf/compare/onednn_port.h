/* onednn_port.h - the differences between the C interfaces of oneDNN 2 and 3: layouts, and how
   primitives are made. Implemented by onednn_2.c or onednn_3.c, whichever version CMake finds. All
   functions end the process with a message if oneDNN refuses. */
#ifndef RAPT_PERF_ONEDNN_PORT_H
#define RAPT_PERF_ONEDNN_PORT_H

#include <dnnl.h>
#include <stdbool.h>

#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t *layout;
#else
typedef dnnl_memory_desc_t layout;
#endif

/* Defined in onednn.c: end the process unless status is success; make a primitive, which takes pd
   over. */
void onednn_check(dnnl_status_t status, const char *what);
dnnl_primitive_t onednn_primitive(dnnl_primitive_desc_t pd, const char *what);

/* Returns a layout of floats, owned by the caller. */
layout onednn_plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride);
layout onednn_any(int dims, const dnnl_dim_t *size); /* chosen by a primitive */
void onednn_free_layout(layout l);

/* A product c = scale a b, or c += a b. */
struct product {
    layout a, b, c;
    float scale; /* must be 1 if add */
    bool add;
    layout *liked; /* receives the layout of b that the primitive prefers, owned by the caller; may
                      be NULL */
};

/* Return primitives, owned by the caller. add: a += b; softmax: in place, along an axis. */
dnnl_primitive_t onednn_product_primitive(dnnl_engine_t engine, const struct product *p);
dnnl_primitive_t onednn_add_primitive(dnnl_engine_t engine, layout a, layout b);
dnnl_primitive_t onednn_softmax_primitive(dnnl_engine_t engine, layout x, int axis);

#endif
