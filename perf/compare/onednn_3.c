/* onednn_3.c - layouts and primitives of oneDNN 3: opaque layouts, no descriptors of operations,
   and a factor of a product is a post-op. */
#include "onednn_port.h"

layout onednn_plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride)
{
    layout l;
    onednn_check(dnnl_memory_desc_create_with_strides(&l, dims, size, dnnl_f32, stride), "layout");
    return l;
}

layout onednn_any(int dims, const dnnl_dim_t *size)
{
    layout l;
    onednn_check(dnnl_memory_desc_create_with_tag(&l, dims, size, dnnl_f32, dnnl_format_tag_any),
                 "layout");
    return l;
}

void onednn_free_layout(layout l)
{
    dnnl_memory_desc_destroy(l);
}

dnnl_primitive_t onednn_product_primitive(dnnl_engine_t engine, const struct product *p)
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

dnnl_primitive_t onednn_add_primitive(dnnl_engine_t engine, layout a, layout b)
{
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_binary_primitive_desc_create(&pd, engine, dnnl_binary_add, a, b, a, NULL),
                 "mask");
    return onednn_primitive(pd, "mask");
}

dnnl_primitive_t onednn_softmax_primitive(dnnl_engine_t engine, layout x, int axis)
{
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_softmax_forward_primitive_desc_create(
                     &pd, engine, dnnl_forward_inference, dnnl_softmax_accurate, x, x, axis, NULL),
                 "softmax");
    return onednn_primitive(pd, "softmax");
}
