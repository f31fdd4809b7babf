/* Implements image_checks.h. Maps are compared by a hash of their values; ids and labels of paths
 * without regard to case, the prefix sub- and zeros at the start. */
#include "data/image_checks.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash/xxh64.h"
#include "base/parallel/parallel_for.h"
#include "data/outlier_checks.h"
#include "data/table/text_list.h"

enum { NAMED = 3, MIN_VOXELS = 10 }; /* with fewer voxels maps may well be constant or equal */
static const double OTHER_SCALE = 50, HALF = 0.5;

/* ---- statistics ------------------------------------------------------------------------------ */

typedef struct statistics_job {
    const float *values;
    ptrdiff_t T;
    kn_image_statistics *out;
} statistics_job;

/* Thread task: statistics of the images first .. last - 1. */
static void describe_images(void *self, ptrdiff_t first, ptrdiff_t last)
{
    const statistics_job *job = self;
    for (ptrdiff_t i = first; i < last; i++) {
        const float *x = job->values + i * job->T;
        kn_image_statistics s = {.low = INFINITY, .high = -INFINITY};
        for (ptrdiff_t v = 0; v < job->T; v++) {
            double y = (double)x[v];
            if (!isfinite(y))
                continue;
            s.n++;
            s.zeros += y == 0;
            s.low = fmin(s.low, y);
            s.high = fmax(s.high, y);
            s.size += sqrt(fabs(y));
        }
        uint64_t h = kn_hash(x, (size_t)job->T * sizeof *x, 0);
        s.size = s.n > 0 ? (s.size / s.n) * (s.size / s.n) : 0;
        s.hash[0] = (double)(uint32_t)h;
        s.hash[1] = (double)(uint32_t)(h >> 32);
        job->out[i] = s;
    }
}

void kn_image_statistics_of(kn_ctx *ctx, const float *values, ptrdiff_t rows, ptrdiff_t T,
                            kn_image_statistics *out)
{
    statistics_job job = {values, T, out};
    kn_parallel(ctx, rows, 1, describe_images, &job);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Compares two numbers, for qsort. */
static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Writes the name of the image of participant i: its path, or the id and the file of all. */
static const char *image_name(const kn_data *d, const kn_sample *p, const ptrdiff_t *row,
                              ptrdiff_t i, char name[32])
{
    return kn_images_is_list(d->images) ? kn_images_path(d->images, row[i])
                                        : kn_participant_name(p, i, name);
}

/* Returns the median over images of a statistic, by its offset in doubles. work: n. */
static double median_of(const kn_image_statistics *of, ptrdiff_t n, size_t offset, double *work)
{
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(&work[i], (const char *)&of[i] + offset, sizeof(double));
    qsort(work, (size_t)n, sizeof *work, by_number);
    return work[n / 2];
}

/* Refuses images of one value, unless it is 0 and most voxels of most images are 0, as in maps of
 * lesions: then it warns. sparse: they are. */
static kn_status check_constant(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                                const ptrdiff_t *row, const kn_image_statistics *of, bool sparse)
{
    kn_listing list = {.limit = NAMED};
    char name[32], text[KN_LEVEL_SIZE];
    ptrdiff_t constant = 0, zero = 0;
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (of[i].n >= MIN_VOXELS && !(of[i].high > of[i].low)) {
            constant++;
            zero += of[i].low == 0;
            snprintf(text, sizeof text, "%s (%g)", image_name(d, p, row, i, name), of[i].low);
            kn_listing_add(&list, text);
        }
    if (constant == 0)
        return KN_OK;
    if (!sparse || zero < constant)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %td image%s the same value in every voxel: %s; correct or exclude "
                       "such images with {where} or {match=common}",
                       kn_data_responses_name(d), constant, constant == 1 ? " has" : "s have",
                       list.text);
    kn_log(ctx, KN_LOG_WARNING, "%s: %td image%s 0 in every voxel: %s", kn_data_responses_name(d),
           constant, constant == 1 ? " is" : "s are", list.text);
    return KN_OK;
}

/* Warns of images whose values are much larger or smaller than those of most images (median size).
 */
static void warn_of_scales(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const ptrdiff_t *row,
                           const kn_image_statistics *of, double median)
{
    kn_listing list = {.limit = NAMED};
    char name[32], text[KN_LEVEL_SIZE];
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        double ratio = of[i].size / median;
        if (of[i].n < MIN_VOXELS || (ratio <= OTHER_SCALE && ratio >= 1 / OTHER_SCALE))
            continue;
        n++;
        snprintf(text, sizeof text, "%s (%.3g times)", image_name(d, p, row, i, name), ratio);
        kn_listing_add(&list, text);
    }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td image%s another scale than most; check the unit: %s",
               kn_data_responses_name(d), n, n == 1 ? " has" : "s have", list.text);
}

typedef struct hashed {
    double hash[2];
    ptrdiff_t i;
} hashed;

/* Compares images by hash, then by index. */
static int by_hash(const void *a, const void *b)
{
    const hashed *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->hash[k] != y->hash[k])
            return x->hash[k] > y->hash[k] ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Warns of images with the same values. */
static kn_status warn_of_copies(kn_ctx *ctx, const kn_data *d, const kn_sample *p,
                                const ptrdiff_t *row, const kn_image_statistics *of)
{
    kn_listing list = {.limit = NAMED};
    char name[32], other[32], text[2 * KN_LEVEL_SIZE];
    ptrdiff_t n = 0;
    void *memory;
    kn_status status = kn_alloc(ctx, p->n, sizeof(hashed), &memory);
    hashed *all = memory;
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < p->n; i++)
        all[i] = (hashed){{of[i].hash[0], of[i].hash[1]}, i};
    qsort(all, (size_t)p->n, sizeof *all, by_hash);
    for (ptrdiff_t k = 1; k < p->n; k++) {
        const hashed *a = &all[k - 1], *b = &all[k];
        if (a->hash[0] != b->hash[0] || a->hash[1] != b->hash[1] || of[b->i].n < MIN_VOXELS ||
            !(of[b->i].high > of[b->i].low))
            continue;
        n++;
        snprintf(text, sizeof text, "%s and %s", image_name(d, p, row, a->i, name),
                 image_name(d, p, row, b->i, other));
        kn_listing_add(&list, text);
    }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td image%s equal to that of another row: %s",
               kn_data_responses_name(d), n, n == 1 ? " is" : "s are", list.text);
    kn_free(memory);
    return KN_OK;
}

/* ---- labels of paths ------------------------------------------------------------------------- */

typedef struct label {
    const char *text;
    size_t length;
} label;

/* Returns the part of an id or a label that tells participants apart: without sub- and zeros at the
 * start. An id such as sub-01_ses-2 counts as its label. */
static label core_of(const char *text, size_t length)
{
    const char *start;
    size_t n = kn_path_label(text, "sub-", &start);
    label l = n > 0 && start + n <= text + length ? (label){start, n} : (label){text, length};
    if (l.length > 4 && strncasecmp(l.text, "sub-", 4) == 0)
        l = (label){l.text + 4, l.length - 4};
    while (l.length > 1 && *l.text == '0')
        l = (label){l.text + 1, l.length - 1};
    return l;
}

/* Returns whether two labels are equal in any case. */
static bool same_label(label a, label b)
{
    return a.length == b.length && strncasecmp(a.text, b.text, a.length) == 0;
}

/* Returns whether the label is the id of a participant. O(n). */
static bool is_id(const kn_sample *p, label l)
{
    for (ptrdiff_t k = 0; k < p->n; k++)
        if (same_label(core_of(p->id[k], strlen(p->id[k])), l))
            return true;
    return false;
}

/* Warns of paths with one label sub-XXX that is not the id. Where most labels are not ids, as with
 * two systems of names, only of labels that are another participant's id. */
static void warn_of_labels(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const ptrdiff_t *row)
{
    kn_listing list = {.limit = NAMED};
    ptrdiff_t same = 0, other = 0, n = 0;
    char text[2 * KN_LEVEL_SIZE];
    for (int pass = 0; pass < 2; pass++)
        for (ptrdiff_t i = 0; i < p->n; i++) {
            const char *path = kn_images_path(d->images, row[i]), *start;
            size_t length = kn_path_label(path, "sub-", &start);
            if (length == 0)
                continue;
            label l = core_of(start, length);
            bool equal = same_label(l, core_of(p->id[i], strlen(p->id[i])));
            same += pass == 0 && equal;
            other += pass == 0 && !equal;
            if (pass == 0 || equal || (same < other && !is_id(p, l)))
                continue;
            n++;
            snprintf(text, sizeof text, "%s for %s", path, p->id[i]);
            kn_listing_add(&list, text);
        }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING, "%s: %td path%s another participant than the ID: %s",
               kn_data_responses_name(d), n, n == 1 ? " names" : "s name", list.text);
}

kn_status kn_images_check(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const ptrdiff_t *row,
                          const kn_image_statistics *of)
{
    kn_status status;
    double *work = NULL;
    KN_TRY(kn_alloc_d(ctx, p->n, &work));
    double size = median_of(of, p->n, offsetof(kn_image_statistics, size), work);
    bool sparse = median_of(of, p->n, offsetof(kn_image_statistics, zeros), work) >=
                  HALF * median_of(of, p->n, offsetof(kn_image_statistics, n), work);
    KN_TRY(check_constant(ctx, d, p, row, of, sparse));
    if (size > 0 && !sparse)
        warn_of_scales(ctx, d, p, row, of, size);
    KN_TRY(warn_of_copies(ctx, d, p, row, of));
    if (p->id && kn_images_is_list(d->images))
        warn_of_labels(ctx, d, p, row);
out:
    kn_free(work);
    return status;
}
