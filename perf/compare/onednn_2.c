/* onednn_2.c - layouts and primitives of oneDNN 2: descriptors of operations, layouts by value. */
#include "onednn_port.h"

#include <stdlib.h>

static layout copy_of(const dnnl_memory_desc_t *from)
{
    layout l = malloc(sizeof *l);
    if (!l) onednn_check(dnnl_out_of_memory, "layout");
    *l = *from;
    return l;
}

layout onednn_plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride)
{
    dnnl_memory_desc_t d;
    onednn_check(dnnl_memory_desc_init_by_strides(&d, dims, size, dnnl_f32, stride), "layout");
    return copy_of(&d);
}

layout onednn_any(int dims, const dnnl_dim_t *size)
{
    dnnl_memory_desc_t d;
    onednn_check(dnnl_memory_desc_init_by_tag(&d, dims, size, dnnl_f32, dnnl_format_tag_any),
                 "layout");
    return copy_of(&d);
}

void onednn_free_layout(layout l)
{
    free(l);
}

dnnl_primitive_t onednn_product_primitive(dnnl_engine_t engine, const struct product *p)
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

dnnl_primitive_t onednn_add_primitive(dnnl_engine_t engine, layout a, layout b)
{
    dnnl_binary_desc_t d;
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_binary_desc_init(&d, dnnl_binary_add, a, b, a), "mask");
    onednn_check(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL), "mask");
    return onednn_primitive(pd, "mask");
}

dnnl_primitive_t onednn_softmax_primitive(dnnl_engine_t engine, layout x, int axis)
{
    dnnl_softmax_desc_t d;
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_softmax_forward_desc_init(&d, dnnl_forward_inference, x, axis), "softmax");
    onednn_check(dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL), "softmax");
    return onednn_primitive(pd, "softmax");
}
