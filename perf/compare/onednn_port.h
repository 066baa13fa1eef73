/* onednn_port.h - layouts and primitives by the C interface of oneDNN 2 or 3, whichever version
   CMake finds. Included only by onednn.c. All functions end the process with a message if oneDNN
   refuses. Callers own the layouts and primitives that are returned.

     onednn_plain               a layout of floats with strides
     onednn_any                 a layout that a primitive chooses
     onednn_product_primitive   a struct product
     onednn_add_primitive       a += b
     onednn_softmax_primitive   softmax in place, along an axis */
#ifndef RAPT_PERF_ONEDNN_PORT_H
#define RAPT_PERF_ONEDNN_PORT_H

#include <dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR == 2
typedef dnnl_memory_desc_t *layout;
#else
typedef dnnl_memory_desc_t layout;
#endif

/* A product c = scale a b, or c += a b. */
struct product {
    layout a, b, c;
    float scale; /* must be 1 if add */
    bool add;
    layout *liked; /* receives the layout of b that the primitive prefers, owned by the caller; may
                      be NULL */
};

static void onednn_check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success) return;
    fprintf(stderr, "error: oneDNN: %s: status %d\n", what, (int)status);
    exit(1);
}

/* Returns the primitive that pd describes, and frees pd. */
static dnnl_primitive_t onednn_primitive(dnnl_primitive_desc_t pd, const char *what)
{
    dnnl_primitive_t primitive;
    onednn_check(dnnl_primitive_create(&primitive, pd), what);
    dnnl_primitive_desc_destroy(pd);
    return primitive;
}

#if DNNL_VERSION_MAJOR == 2
/* ---- oneDNN 2: descriptors of operations, layouts by value ---- */

static layout copy_of(const dnnl_memory_desc_t *from)
{
    layout l = malloc(sizeof *l);
    if (!l) onednn_check(dnnl_out_of_memory, "layout");
    *l = *from;
    return l;
}

static layout onednn_plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride)
{
    dnnl_memory_desc_t d;
    onednn_check(dnnl_memory_desc_init_by_strides(&d, dims, size, dnnl_f32, stride), "layout");
    return copy_of(&d);
}

static layout onednn_any(int dims, const dnnl_dim_t *size)
{
    dnnl_memory_desc_t d;
    onednn_check(dnnl_memory_desc_init_by_tag(&d, dims, size, dnnl_f32, dnnl_format_tag_any),
                 "layout");
    return copy_of(&d);
}

static void onednn_free_layout(layout l)
{
    free(l);
}

static dnnl_primitive_t onednn_product_primitive(dnnl_engine_t engine, const struct product *p)
{
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t after;
    onednn_check(dnnl_primitive_attr_create(&attr), "attributes");
    onednn_check(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &p->scale), "scale");
    onednn_check(dnnl_post_ops_create(&after), "sum");
    if (p->add) onednn_check(dnnl_post_ops_append_sum(after, 1), "sum");
    onednn_check(dnnl_primitive_attr_set_post_ops(attr, after), "sum");
    onednn_check(dnnl_matmul_desc_init(&d, p->a, p->b, NULL, p->c), "product");
    onednn_check(dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL), "product");
    if (p->liked) *p->liked = copy_of(dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
    dnnl_post_ops_destroy(after);
    dnnl_primitive_attr_destroy(attr);
    return onednn_primitive(pd, "product");
}

static dnnl_primitive_t onednn_add_primitive(dnnl_engine_t engine, layout a, layout b)
{
    dnnl_binary_desc_t d;
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_binary_desc_init(&d, dnnl_binary_add, a, b, a), "mask");
    onednn_check(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL), "mask");
    return onednn_primitive(pd, "mask");
}

static dnnl_primitive_t onednn_softmax_primitive(dnnl_engine_t engine, layout x, int axis)
{
    dnnl_softmax_desc_t d;
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_softmax_forward_desc_init(&d, dnnl_forward_inference, x, axis), "softmax");
    onednn_check(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL), "softmax");
    return onednn_primitive(pd, "softmax");
}
#else
/* ---- oneDNN 3: opaque layouts, no descriptors of operations, and a factor of a product is a
   post-op ---- */

static layout onednn_plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride)
{
    layout l;
    onednn_check(dnnl_memory_desc_create_with_strides(&l, dims, size, dnnl_f32, stride), "layout");
    return l;
}

static layout onednn_any(int dims, const dnnl_dim_t *size)
{
    layout l;
    onednn_check(dnnl_memory_desc_create_with_tag(&l, dims, size, dnnl_f32, dnnl_format_tag_any),
                 "layout");
    return l;
}

static void onednn_free_layout(layout l)
{
    dnnl_memory_desc_destroy(l);
}

static dnnl_primitive_t onednn_product_primitive(dnnl_engine_t engine, const struct product *p)
{
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t after;
    onednn_check(dnnl_primitive_attr_create(&attr), "attributes");
    onednn_check(dnnl_post_ops_create(&after), "post-ops");
    if (p->add)
        onednn_check(dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef), "sum");
    else if (p->scale != 1)
        onednn_check(dnnl_post_ops_append_eltwise(after, dnnl_eltwise_linear, p->scale, 0),
                     "scale");
    onednn_check(dnnl_primitive_attr_set_post_ops(attr, after), "post-ops");
    onednn_check(dnnl_matmul_primitive_desc_create(&pd, engine, p->a, p->b, NULL, p->c, attr),
                 "product");
    if (p->liked)
        onednn_check(dnnl_memory_desc_clone(
                         p->liked, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)),
                     "layout");
    dnnl_post_ops_destroy(after);
    dnnl_primitive_attr_destroy(attr);
    return onednn_primitive(pd, "product");
}

static dnnl_primitive_t onednn_add_primitive(dnnl_engine_t engine, layout a, layout b)
{
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_binary_primitive_desc_create(&pd, engine, dnnl_binary_add, a, b, a, NULL),
                 "mask");
    return onednn_primitive(pd, "mask");
}

static dnnl_primitive_t onednn_softmax_primitive(dnnl_engine_t engine, layout x, int axis)
{
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_softmax_forward_primitive_desc_create(
                     &pd, engine, dnnl_forward_inference, dnnl_softmax_accurate, x, x, axis, NULL),
                 "softmax");
    return onednn_primitive(pd, "softmax");
}
#endif

#endif
