/* Reads the voxels of images on several threads (image_set.h). Workers take images from a shared
 * counter; each has its own context and readers. A 4D file that needs a single reader (gzip) is
 * read by one worker, or by all once it is completely in memory. */
#include <stdatomic.h>

#include "base/parallel/parallel_for.h"
#include "io/image/internal.h"

typedef struct worker {
    kn_ctx *ctx; /* owned; a context belongs to one thread */
    kn_image_reader *reader[KN_PARTS];
    float *voxels;    /* n: buffer for kn_images_visit */
    ptrdiff_t failed; /* the image that failed, counted like `next`, if status is not KN_OK */
    kn_status status;
} worker;

typedef struct reading {
    kn_ctx *ctx;
    kn_images *images;
    worker *workers;
    atomic_ptrdiff_t next; /* next image to be taken, 0 .. count - 1 */
    atomic_bool stop;      /* a worker failed */
    ptrdiff_t first, count;
    const ptrdiff_t *rows;            /* count images; NULL: first .. first + count - 1 */
    const ptrdiff_t *index[KN_PARTS]; /* voxels of each part, from 0 in that part */
    ptrdiff_t n, of_part[KN_PARTS];   /* number of voxels, in total and per part */
    ptrdiff_t *shifted;               /* owned; index[1] of two parts */
    float *out;                       /* count x n, row-major; NULL: call `take` instead */
    kn_image_fn take;
    char *states;
    size_t state_size;
} reading;

/* Returns whether the images are one 4D file that needs a single reader, which is then kept between
 * calls. */
static bool in_one_stream(const kn_images *images)
{
    bool one = false;
    for (int k = 0; k < images->parts; k++)
        one = one || kn_image_in_one_stream(&images->file[k]);
    return one && !kn_images_is_list(images);
}

int kn_images_readers(kn_ctx *ctx, const kn_images *images)
{
    ptrdiff_t threads = kn_threads(ctx);
    if (in_one_stream(images))
        return 1;
    return (int)(threads < images->count ? threads : images->count);
}

/* Returns whether the single reader of each hemisphere will hold its whole file, so that all
 * workers can convert volumes from it. */
static bool may_be_in_memory(const kn_images *images)
{
    bool in_memory = true;
    for (int k = 0; k < images->parts; k++)
        in_memory = in_memory && kn_image_fits(&images->file[k], images->memory / images->parts);
    return in_memory;
}

int kn_images_workers(kn_ctx *ctx, const kn_images *images)
{
    ptrdiff_t threads = kn_threads(ctx);
    if (in_one_stream(images) && !may_be_in_memory(images))
        return 1;
    return (int)(threads < images->count ? threads : images->count);
}

/* Worker w reads image i of the request into its row of r->out, or passes its voxels to r->take. */
static kn_status read_one(reading *r, ptrdiff_t w, ptrdiff_t i)
{
    worker *me = &r->workers[w];
    ptrdiff_t image = r->rows ? r->rows[i] : r->first + i;
    bool list = kn_images_is_list(r->images);
    int parts = r->images->parts;
    const kn_image *file = &r->images->file[list ? image * parts : 0];
    float *out = r->out ? r->out + i * r->n : me->voxels, *at = out;
    kn_status status = KN_OK;
    for (int k = 0; k < parts && status == KN_OK; at += r->of_part[k++])
        if (r->of_part[k] > 0)
            status = kn_image_read(me->ctx, me->reader[k], &file[k], list ? 0 : image, r->index[k],
                                   r->of_part[k], at);
    if (status == KN_OK && r->take)
        r->take(r->states + (size_t)w * r->state_size, out, r->n);
    return status;
}

/* Worker w reads the next image of the request. Returns false if there is none, a worker failed, or
 * on cancellation. */
static bool take_one(reading *r, ptrdiff_t w)
{
    worker *me = &r->workers[w];
    if (atomic_load(&r->stop) || kn_cancelled(r->ctx))
        return false;
    ptrdiff_t i = atomic_fetch_add(&r->next, 1);
    if (i >= r->count)
        return false;
    me->status = read_one(r, w, i);
    if (me->status != KN_OK) {
        me->failed = i;
        atomic_store(&r->stop, true);
    }
    return true;
}

/* Thread task (self: reading): item w of the parallel loop is worker w, which reads images until
 * none is left. */
static void run_workers(void *self, ptrdiff_t begin, ptrdiff_t end)
{
    for (ptrdiff_t w = begin; w < end; w++)
        while (take_one(self, w))
            ;
}

/* Returns the status of the failed image that comes first, with its message, so that the message
 * does not depend on timing; KN_OK if none failed. */
static kn_status first_failure(const reading *r, int workers)
{
    const worker *earliest = NULL;
    for (int w = 0; w < workers; w++)
        if (r->workers[w].status != KN_OK && (!earliest || r->workers[w].failed < earliest->failed))
            earliest = &r->workers[w];
    if (earliest)
        return kn_fail(r->ctx, earliest->status, "%s", kn_message(earliest->ctx));
    return kn_check_cancel(r->ctx);
}

/* Splits the requested voxels (ascending `index`, or the first n) into those of each hemisphere,
 * r->index and r->of_part. */
static kn_status split_voxels(reading *r, const ptrdiff_t *index)
{
    ptrdiff_t first = kn_geometry_voxels(&r->images->part[0].geometry), cut = 0;
    kn_status status = KN_OK;
    if (r->images->parts == 1)
        cut = r->n;
    else if (!index)
        cut = r->n < first ? r->n : first;
    else
        while (cut < r->n && index[cut] < first)
            cut++;
    r->of_part[0] = cut;
    r->of_part[1] = r->n - cut;
    r->index[0] = index;
    if (index && r->of_part[1] > 0) {
        KN_TRY(kn_alloc_i(r->ctx, r->of_part[1], &r->shifted));
        for (ptrdiff_t i = cut; i < r->n; i++)
            r->shifted[i - cut] = index[i] - first;
        r->index[1] = r->shifted;
    }
out:
    return status;
}

/* Gives worker `me` its context, readers and buffer, with so many threads for decompression. Fails
 * only without memory. */
static kn_status init_worker(reading *r, worker *me, int threads)
{
    kn_status status = KN_OK;
    me->ctx = kn_ctx_new();
    if (!me->ctx)
        return kn_fail(r->ctx, KN_ERR_MEMORY, "out of memory for reading images");
    kn_set_threads(me->ctx, threads);
    for (int k = 0; k < r->images->parts; k++) {
        me->reader[k] = r->images->kept[k];
        if (!me->reader[k])
            KN_TRY(
                kn_image_reader_new(r->ctx, r->images->memory / r->images->parts, &me->reader[k]));
        if (in_one_stream(r->images))
            r->images->kept[k] = me->reader[k];
    }
    if (!r->out)
        KN_TRY(kn_alloc_f(r->ctx, r->n, &me->voxels));
out:
    return status;
}

/* Reads one volume, which loads the whole file if it fits the memory; then all workers read the
 * others. If it does not fit, one worker streams the rest. */
static void read_stream(reading *r, int workers)
{
    bool in_memory = true;
    take_one(r, 0);
    for (int k = 0; k < r->images->parts; k++)
        in_memory = in_memory && (r->of_part[k] == 0 ||
                                  kn_image_reader_holds(r->images->kept[k], &r->images->file[k]));
    kn_parallel(r->ctx, in_memory ? workers : 1, 1, run_workers, r);
}

/* Opens the images of the request whose headers kn_images_open_later has not read. */
static kn_status open_wanted(const reading *r)
{
    kn_images *images = r->images;
    kn_status status = KN_OK;
    for (ptrdiff_t i = 0; images->later && status == KN_OK && i < r->count; i++) {
        ptrdiff_t row = r->rows ? r->rows[i] : r->first + i, parts = images->parts;
        if (kn_images_is_list(images) && !images->file[row * parts + parts - 1].path)
            status = kn_images_open_row(r->ctx, images, row);
    }
    return status;
}

/* Reads the images of a request: opens them, splits the voxels (index; NULL: the first n) by
 * hemisphere, and runs the workers. */
static kn_status read_images(reading *r, const ptrdiff_t *index)
{
    int all = kn_threads(r->ctx), workers = kn_images_workers(r->ctx, r->images);
    bool stream = in_one_stream(r->images);
    void *p = NULL;
    kn_status status;

    KN_TRY(open_wanted(r));
    KN_TRY(split_voxels(r, index));
    KN_TRY(kn_alloc(r->ctx, workers, sizeof(worker), &p));
    r->workers = p;
    for (int w = 0; w < workers; w++)
        KN_TRY(init_worker(r, &r->workers[w], stream ? all : all / workers));
    atomic_init(&r->next, 0);
    atomic_init(&r->stop, false);
    if (stream)
        read_stream(r, workers);
    else
        kn_parallel(r->ctx, workers, 1, run_workers, r);
    status = first_failure(r, workers);
out:
    for (int w = 0; r->workers && w < workers; w++) {
        kn_ctx_free(r->workers[w].ctx);
        for (int k = 0; k < KN_PARTS; k++)
            if (r->workers[w].reader[k] != r->images->kept[k])
                kn_image_reader_free(r->workers[w].reader[k]);
        kn_free(r->workers[w].voxels);
    }
    kn_free(r->workers);
    kn_free(r->shifted);
    return status;
}

kn_status kn_images_read_rows(kn_ctx *ctx, kn_images *images, ptrdiff_t first, ptrdiff_t count,
                              const ptrdiff_t *index, ptrdiff_t n, float *out)
{
    if (first < 0 || count < 0 || first > images->count || count > images->count - first)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "images %td to %td of %td were asked for", first + 1,
                       first + count, images->count);
    reading r = {.ctx = ctx, .images = images, .first = first, .count = count, .n = n, .out = out};
    return read_images(&r, index);
}

kn_status kn_images_read_these(kn_ctx *ctx, kn_images *images, const kn_image_rows *these,
                               const ptrdiff_t *index, ptrdiff_t n, float *out)
{
    reading r = {.ctx = ctx, .images = images, .rows = these->row, .n = n, .out = out};
    r.count = these->count;
    return read_images(&r, index);
}

kn_status kn_images_read(kn_ctx *ctx, kn_images *images, const ptrdiff_t *index, ptrdiff_t n,
                         float *out)
{
    return kn_images_read_rows(ctx, images, 0, images->count, index, n, out);
}

kn_status kn_images_visit(kn_ctx *ctx, kn_images *images, kn_image_fn take, void *states,
                          size_t size)
{
    reading r = {.ctx = ctx,
                 .images = images,
                 .count = images->count,
                 .n = kn_geometry_voxels(&images->geometry),
                 .take = take,
                 .states = states,
                 .state_size = size};
    return read_images(&r, NULL);
}
