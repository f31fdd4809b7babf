/* Implements auto_mask.h: each rank accumulates minimum, maximum and count per voxel over its
 * images, then they are reduced. */
#include "data/responses/auto_mask.h"

#include <math.h>

#include "base/mpi/comm.h"

typedef struct seen {
    ptrdiff_t V;
    double *high, *low, *n; /* V each; low holds the negative minimum, so that both are maxima */
} seen;

static void look(seen *s, const float *image)
{
    for (ptrdiff_t v = 0; v < s->V; v++) {
        double x = (double)image[v];
        if (!isfinite(x))
            continue;
        s->high[v] = fmax(s->high[v], x);
        s->low[v] = fmax(s->low[v], -x);
        s->n[v]++;
    }
}

/* Accumulates this rank's images, from a list as many at a time as there are readers. */
static kn_status look_at_own(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, seen *s)
{
    kn_status status;
    const kn_comm *c = kn_ctx_comm(ctx);
    kn_range own = kn_sample_range_of(r->n, c->rank, c->size);
    bool list = kn_images_is_list(d->images);
    ptrdiff_t some = list ? kn_images_workers(ctx, d->images) : 1;
    float *image = NULL;
    KN_TRY(kn_alloc_f(ctx, some * s->V, &image));
    for (ptrdiff_t i = own.first, n; i < own.last; i += n) {
        n = kn_min_size(some, own.last - i);
        kn_image_rows these = {r->row + i, n};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(list ? kn_images_read_these(ctx, d->images, &these, NULL, s->V, image)
                    : kn_images_read_rows(ctx, d->images, r->row[i], 1, NULL, s->V, image));
        for (ptrdiff_t k = 0; k < n; k++)
            look(s, image + k * s->V);
        kn_report_progress(ctx, "mask", (i + n - own.first) * r->n / (own.last - own.first), r->n,
                           NAN);
    }
out:
    kn_free(image);
    return status;
}

kn_status kn_mask_of_people(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r, kn_mask *out)
{
    kn_status status;
    bool some = r->least > 0 && r->least < r->n, all = r->n == kn_images_count(d->images);
    double least = (double)(some ? r->least : r->n);
    seen s = {.V = kn_geometry_voxels(kn_images_geometry(d->images))};
    if (kn_ctx_comm(ctx)->size == 1 && all)
        return kn_mask_observed(ctx, d->images, r->least > 0 ? r->least : r->n, out);
    *out = (kn_mask){0};
    KN_TRY(kn_alloc_d(ctx, 3 * s.V, &s.high));
    s.low = s.high + s.V;
    s.n = s.low + s.V;
    for (ptrdiff_t v = 0; v < 2 * s.V; v++)
        s.high[v] = -INFINITY;
    KN_TRY(look_at_own(ctx, d, r, &s));
    KN_TRY(kn_comm_max(ctx, s.high, 2 * s.V));
    KN_TRY(kn_comm_sum(ctx, s.n, s.V)); /* counts: exact */
    KN_TRY(kn_alloc_i(ctx, s.V, &out->index));
    for (ptrdiff_t v = 0; v < s.V; v++)
        if (s.n[v] >= least && (s.high[v] > -s.low[v] || r->n == 1))
            out->index[out->count++] = v;
    if (out->count == 0 && all)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no voxel is finite in %s images and varies",
                         kn_images_path(d->images, 0), some ? "enough" : "all");
    else if (out->count == 0)
        status = kn_fail(ctx, KN_ERR_DATA,
                         "no voxel is finite in %s %td images in use and different between them",
                         some ? "enough of the" : "all", r->n);
out:
    kn_free(s.high);
    if (status != KN_OK)
        kn_mask_clear(out);
    return status;
}
