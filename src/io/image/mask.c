/* Implements mask.h. Computed masks need one pass over the images (kn_images_visit). */
#include "io/image/mask.h"

#include <math.h>
#include <string.h>

void kn_mask_clear(kn_mask *mask)
{
    kn_free(mask->index);
    *mask = (kn_mask){0};
}

static const float THRESHOLD = 0.5f; /* of a mask with fractions */

/* Returns whether the finite values are from 0 to 1, and those above 0 differ: a probability map,
 * or a mask that was resampled. */
static bool is_fractional(const float *in, ptrdiff_t n)
{
    float low = INFINITY, high = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (isfinite(in[i]) && (in[i] < 0 || in[i] > 1))
            return false;
        if (isfinite(in[i]) && in[i] > 0) {
            low = fminf(low, in[i]);
            high = fmaxf(high, in[i]);
        }
    }
    return low < high;
}

/* Sets the voxels of a fractional mask to 0 or 1, with a warning. */
static void apply_threshold(kn_ctx *ctx, const char *path, float *in, ptrdiff_t n)
{
    ptrdiff_t inside = 0, positive = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        positive += in[i] > 0;
        in[i] = in[i] >= THRESHOLD;
        inside += in[i] > 0;
    }
    kn_log(ctx, KN_LOG_WARNING,
           "%s: the mask has values between 0 and 1; voxels of at least 0.5 are used, %td of %td",
           path, inside, positive);
}

/* Sets out->index (owned) to the indices of the voxels, among n, that are finite and not 0. */
static kn_status collect_voxels(kn_ctx *ctx, const float *in, ptrdiff_t n, kn_mask *out)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        count += isfinite(in[i]) && in[i] != 0;
    kn_status status = kn_alloc_i(ctx, count, &out->index);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < n; i++)
        if (isfinite(in[i]) && in[i] != 0)
            out->index[out->count++] = i;
    return KN_OK;
}

kn_status kn_mask_read(kn_ctx *ctx, const char *path, const char *expected_name,
                       const kn_geometry *expected, kn_mask *out)
{
    kn_images *images = NULL; /* one image, of one or two parts */
    float *voxels = NULL;
    kn_status status;

    *out = (kn_mask){0};
    if (!kn_image_is_name(path))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s is not an image (%s)", path,
                       kn_image_known_names().text);
    KN_TRY(kn_images_open(ctx, path, 0, &images));
    if (kn_images_count(images) > 1) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td volumes, but a mask must have one", path,
                         kn_images_count(images));
        goto out;
    }
    if (expected)
        KN_TRY(kn_geometry_compare(ctx, path, kn_images_geometry(images), expected_name, expected));
    ptrdiff_t n = kn_geometry_voxels(kn_images_geometry(images));
    KN_TRY(kn_alloc_f(ctx, n, &voxels));
    KN_TRY(kn_images_read(ctx, images, NULL, n, voxels));
    bool fractional = is_fractional(voxels, n);
    if (fractional)
        apply_threshold(ctx, path, voxels, n);
    KN_TRY(collect_voxels(ctx, voxels, n, out));
    out->brain = kn_images_part(images, 0)->brain.hash;
    if (out->count == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: the mask is empty; every voxel is %s", path,
                         fractional ? "below 0.5" : "0");
out:
    if (status != KN_OK)
        kn_mask_clear(out);
    kn_free(voxels);
    kn_images_free(images);
    return status;
}

/* ---- computed masks ----------------------------------------------------------------------- */

/* Minimum and maximum of each voxel over the images that one worker saw; NaN after a value that is
 * not finite. The merged result does not depend on which worker saw which image. */
typedef struct range {
    float *low, *high; /* one per voxel */
    float *count; /* number of finite values; other values are then skipped. NULL: not counted */
} range;

/* Visitor of one image: updates the range of a worker (state) by its n voxels. */
static void widen_range(void *state, const float *voxels, ptrdiff_t n)
{
    range *r = state;
    for (ptrdiff_t i = 0; i < n; i++) {
        float x = isfinite(voxels[i]) ? voxels[i] : NAN;
        if (r->count && isnan(x))
            continue;
        if (r->count)
            r->count[i]++;
        r->low[i] = x >= r->low[i] ? r->low[i] : isnan(r->low[i]) ? NAN : x;
        r->high[i] = x <= r->high[i] ? r->high[i] : isnan(r->high[i]) ? NAN : x;
    }
}

/* Merges the smallest and largest value of each of n voxels, and the number of finite values if it
 * is counted, as another worker found them, into `to`. NaN of either stays NaN. */
static void merge_range(range *to, const range *from, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        bool bad = isnan(to->low[i]) || isnan(from->low[i]);
        to->low[i] = bad ? NAN : from->low[i] < to->low[i] ? from->low[i] : to->low[i];
        to->high[i] = bad ? NAN : from->high[i] > to->high[i] ? from->high[i] : to->high[i];
        if (to->count)
            to->count[i] += from->count[i];
    }
}

/* Allocates one empty range of n voxels per worker: low = inf, high = -inf; with `count` also a
 * counter of finite values. */
static kn_status make_ranges(kn_ctx *ctx, range *ranges, int workers, ptrdiff_t n, bool count)
{
    kn_status status = KN_OK;
    for (int w = 0; w < workers; w++) {
        KN_TRY(kn_alloc_f(ctx, n, &ranges[w].low));
        KN_TRY(kn_alloc_f(ctx, n, &ranges[w].high));
        if (count)
            KN_TRY(kn_alloc_f(ctx, n, &ranges[w].count));
        for (ptrdiff_t i = 0; i < n; i++) {
            ranges[w].low[i] = INFINITY;
            ranges[w].high[i] = -INFINITY;
        }
    }
out:
    return status;
}

kn_status kn_mask_observed(kn_ctx *ctx, kn_images *images, ptrdiff_t min_images, kn_mask *out)
{
    const kn_geometry *g = kn_images_geometry(images);
    ptrdiff_t n = g->dim[0] * g->dim[1] * g->dim[2];
    bool single = kn_images_count(images) == 1, some = min_images < kn_images_count(images);
    int workers = kn_images_workers(ctx, images);
    void *p = NULL;
    range *ranges = NULL;
    kn_status status;

    *out = (kn_mask){0};
    KN_TRY(kn_alloc(ctx, workers, sizeof *ranges, &p));
    ranges = p;
    KN_TRY(make_ranges(ctx, ranges, workers, n, some));
    KN_TRY(kn_images_visit(ctx, images, widen_range, ranges, sizeof *ranges));
    for (int w = 1; w < workers; w++)
        merge_range(&ranges[0], &ranges[w], n);
    float *in = ranges[0].low;
    for (ptrdiff_t i = 0; i < n; i++)
        in[i] = (single ? isfinite(in[i]) : ranges[0].high[i] > in[i]) &&
                        (!some || ranges[0].count[i] >= (float)min_images)
                    ? 1.0f
                    : 0.0f;
    KN_TRY(collect_voxels(ctx, in, n, out));
    if (out->count == 0)
        status =
            kn_fail(ctx, KN_ERR_DATA, "%s: no voxel is finite in %s images and varies between them",
                    kn_images_path(images, 0), some ? "enough" : "all");
out:
    if (status != KN_OK)
        kn_mask_clear(out);
    for (int w = 0; ranges && w < workers; w++) {
        kn_free(ranges[w].low);
        kn_free(ranges[w].high);
        kn_free(ranges[w].count);
    }
    kn_free(ranges);
    return status;
}
