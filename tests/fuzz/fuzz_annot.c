#include <stdlib.h>

#include "fuzz.h"
#include "io/formats/internal.h"

/* Whatever is taken for labels has names, and vertices of them or of none. */
static void check(const kn_vertex_labels *labels)
{
    for (ptrdiff_t v = 0; v < labels->vertices; v++)
        if (labels->region[v] < -1 || labels->region[v] >= labels->count)
            abort();
    for (ptrdiff_t k = 0; k < labels->count; k++)
        if (!labels->name[k])
            abort();
}

/* The bytes as an annotation, and as GIFTI labels. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    const kn_byte_source source = kn_byte_source_of("x.annot", data, (ptrdiff_t)size);
    kn_vertex_labels labels;
    kn_gifti gifti = {0};
    if (kn_annot_read_source(ctx, &source, &labels) == KN_OK)
        check(&labels);
    kn_vertex_labels_clear(&labels);
    if (kn_gifti_read_source(ctx, &source, false, &gifti) == KN_OK &&
        kn_vertex_labels_of(ctx, "x.gii", &gifti, &labels) == KN_OK)
        check(&labels);
    kn_vertex_labels_clear(&labels);
    kn_gifti_clear(&gifti);
    kn_ctx_free(ctx);
    return 0;
}
