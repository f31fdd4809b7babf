/* Implements check_blank.h: scans each row up to the first finite value. */
#include "data/check_blank.h"

#include <math.h>
#include <stdio.h>

#include "data/mpi/exchange_responses.h"

static kn_status refuse(kn_ctx *ctx, const kn_data *d, ptrdiff_t row)
{
    static const char what[] = "holds no finite value, expected a number somewhere (leave it out, "
                               "with {where} or {match=common})";
    if (d->images && kn_images_is_list(d->images))
        return kn_fail(ctx, KN_ERR_DATA, "%s: %s", kn_images_path(d->images, row), what);
    return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: %s", kn_data_responses_name(d),
                   d->images      ? "volume"
                   : d->responses ? kn_table_unit(d->responses)
                                  : "row",
                   d->responses ? kn_table_line(d->responses, row) : row + 1, what);
}

kn_status kn_blank_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                          const kn_sample *p)
{
    kn_status status;
    kn_range own = kn_responses_own(ctx, p->Y.cols);
    void *memory = NULL;
    KN_TRY(kn_alloc(ctx, p->n, sizeof(bool), &memory));
    bool *finite = memory;
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = own.first; j < own.last && !finite[i]; j++)
            finite[i] = isfinite(kn_view_at(p->Y, i, j));
    KN_TRY(kn_allreduce_any(ctx, finite, p->n));
    for (ptrdiff_t i = 0; i < p->n && status == KN_OK; i++)
        status = finite[i] ? KN_OK : refuse(ctx, d, r->row[i]);
out:
    kn_free(memory);
    return status;
}

kn_status kn_blank_image_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r)
{
    const ptrdiff_t *dim = kn_images_geometry(d->images)->dim;
    ptrdiff_t V = dim[0] * dim[1] * dim[2];
    float *image = NULL;
    kn_status status;
    KN_TRY(kn_alloc_f(ctx, V, &image));
    for (ptrdiff_t i = 0; i < r->n; i++) {
        ptrdiff_t v = 0;
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_images_read_rows(ctx, d->images, r->row[i], 1, NULL, V, image));
        while (v < V && !isfinite(image[v]))
            v++;
        if (v == V) {
            status = refuse(ctx, d, r->row[i]);
            goto out;
        }
    }
out:
    kn_free(image);
    return status;
}
