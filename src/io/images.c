#include "io/images.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "io/image_list.h"
#include "io/path.h"

struct kn_images {
    ptrdiff_t count; /* images */
    ptrdiff_t files; /* as many, or one for a 4D file */
    kn_image *file;
    kn_image_list list; /* count 0: a 4D file */
    bool globbed;       /* the list is what a pattern matched */
    ptrdiff_t memory;
    kn_image_reader *kept; /* of a compressed 4D file */
};

bool kn_images_is_name(const char *path)
{
    return kn_path_ends(path, ".txt") || kn_image_is_name(path);
}

/* "cohort.txt line 7: " goes before what is wrong with the image of that line. */
static kn_status add_place(kn_ctx *ctx, kn_status status, const char *list, ptrdiff_t line)
{
    char what[1024];
    if (status == KN_ERR_MEMORY || status == KN_ERR_CANCELLED)
        return status;
    size_t n = strlen(kn_message(ctx));
    n = n < sizeof what ? n : sizeof what - 1;
    memcpy(what, kn_message(ctx), n);
    what[n] = '\0';
    return kn_fail(ctx, status, "%s line %td: %s", list, line, what);
}

static kn_status open_listed(kn_ctx *ctx, kn_images *images, ptrdiff_t i)
{
    kn_image *file = &images->file[i], *first = &images->file[0];
    kn_status status = kn_image_open(ctx, images->list.path[i], file);
    if (status == KN_OK && file->header.volumes > 1)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s: %td volumes, expected a 3D image in a list",
                       file->path, file->header.volumes);
    if (status == KN_OK && i > 0)
        status =
            kn_geometry_compare(ctx, file->path, &file->geometry, first->path, &first->geometry);
    return status;
}

static kn_status open_list(kn_ctx *ctx, const char *path, kn_images *images)
{
    void *files;
    kn_status status;

    KN_TRY(images->globbed ? kn_image_list_glob(ctx, path, &images->list)
                           : kn_image_list_read(ctx, path, &images->list));
    images->count = images->list.count;
    KN_TRY(kn_alloc(ctx, images->count, sizeof *images->file, &files));
    images->file = files;
    images->files = images->count;
    for (ptrdiff_t i = 0; i < images->count; i++) {
        KN_TRY(kn_check_cancel(ctx));
        status = open_listed(ctx, images, i);
        if (status != KN_OK) /* the path of an image is all that there is of a pattern */
            return images->globbed ? status : add_place(ctx, status, path, images->list.line[i]);
    }
out:
    return status;
}

static kn_status open_4d(kn_ctx *ctx, const char *path, kn_images *images)
{
    void *file;
    kn_status status = kn_alloc(ctx, 1, sizeof *images->file, &file);
    images->file = file;
    if (status != KN_OK)
        return status;
    images->files = 1;
    status = kn_image_open(ctx, path, &images->file[0]);
    images->count = images->file[0].header.volumes;
    return status;
}

kn_status kn_images_open(kn_ctx *ctx, const char *path, ptrdiff_t memory, kn_images **out)
{
    kn_images *images = NULL;
    void *p;
    kn_status status;

    *out = NULL;
    if (!kn_images_is_name(path))
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: expected an image (%s) or a .txt list of images",
                       path, kn_image_known_names().text);
    KN_TRY(kn_alloc(ctx, 1, sizeof *images, &p));
    images = p;
    images->memory = memory > 0 ? memory : KN_IMAGE_MEMORY;
    images->globbed = strpbrk(path, "*?[") && access(path, F_OK) != 0;
    KN_TRY(images->globbed || kn_path_ends(path, ".txt") ? open_list(ctx, path, images)
                                                         : open_4d(ctx, path, images));
out:
    if (status == KN_OK)
        *out = images;
    else
        kn_images_free(images);
    return status;
}

void kn_images_rest(kn_images *images)
{
    kn_image_reader_free(images->kept);
    images->kept = NULL;
}

void kn_images_free(kn_images *images)
{
    if (!images)
        return;
    kn_images_rest(images);
    for (ptrdiff_t i = 0; i < images->files; i++)
        kn_image_clear(&images->file[i]);
    kn_free(images->file);
    kn_image_list_clear(&images->list);
    kn_free(images);
}

ptrdiff_t kn_images_count(const kn_images *images)
{
    return images->count;
}

const kn_geometry *kn_images_geometry(const kn_images *images)
{
    return &images->file[0].geometry;
}

bool kn_images_is_list(const kn_images *images)
{
    return images->list.count > 0;
}

const char *kn_images_id(const kn_images *images, ptrdiff_t i)
{
    return images->list.id ? images->list.id[i] : NULL;
}

const char *kn_images_session(const kn_images *images, ptrdiff_t i)
{
    return images->list.session ? images->list.session[i] : NULL;
}

ptrdiff_t kn_images_line(const kn_images *images, ptrdiff_t i)
{
    return images->globbed || !kn_images_is_list(images) ? 0 : images->list.line[i];
}

const char *kn_images_path(const kn_images *images, ptrdiff_t i)
{
    return images->file[kn_images_is_list(images) ? i : 0].path;
}

/* ---- reading on several threads ----------------------------------------------------------- */

typedef struct worker {
    kn_ctx *ctx; /* for its messages: a context belongs to one thread */
    kn_image_reader *reader;
    float *voxels;    /* of one image, for visits */
    ptrdiff_t failed; /* image, or PTRDIFF_MAX */
    kn_status status;
} worker;

typedef struct reading {
    kn_ctx *ctx;
    kn_images *images;
    worker *workers;
    atomic_ptrdiff_t next; /* image that nobody has taken yet, counted from `first` */
    atomic_bool stop;
    ptrdiff_t first, count;
    const ptrdiff_t *index;
    ptrdiff_t n;
    float *out; /* NULL: visits */
    kn_image_fn take;
    char *states;
    size_t state_size;
} reading;

/* One worker, whose reader is kept. */
static bool in_one_stream(const kn_images *images)
{
    return !kn_images_is_list(images) && kn_image_in_one_stream(&images->file[0]);
}

int kn_images_workers(kn_ctx *ctx, const kn_images *images)
{
    if (in_one_stream(images))
        return 1;
    ptrdiff_t threads = kn_threads(ctx);
    return (int)(threads < images->count ? threads : images->count);
}

static kn_status read_one(reading *r, ptrdiff_t w, ptrdiff_t i)
{
    worker *me = &r->workers[w];
    ptrdiff_t image = r->first + i;
    bool list = kn_images_is_list(r->images);
    const kn_image *file = &r->images->file[list ? image : 0];
    float *out = r->out ? r->out + i * r->n : me->voxels;
    kn_status status =
        kn_image_read(me->ctx, me->reader, file, list ? 0 : image, r->index, r->n, out);
    if (status == KN_OK && r->take)
        r->take(r->states + (size_t)w * r->state_size, out, r->n);
    return status;
}

/* One item of the parallel loop is one worker, which takes images until there are no more. */
static void work(void *self, ptrdiff_t begin, ptrdiff_t end)
{
    reading *r = self;
    for (ptrdiff_t w = begin; w < end; w++) {
        worker *me = &r->workers[w];
        while (!atomic_load(&r->stop) && !kn_cancelled(r->ctx)) {
            ptrdiff_t i = atomic_fetch_add(&r->next, 1);
            if (i >= r->count)
                break;
            me->status = read_one(r, w, i);
            if (me->status != KN_OK) {
                me->failed = i;
                atomic_store(&r->stop, true);
            }
        }
    }
}

/* The failure of the earliest image, so that a message does not depend on who was faster. */
static kn_status outcome(const reading *r, int workers)
{
    const worker *earliest = NULL;
    for (int w = 0; w < workers; w++)
        if (r->workers[w].status != KN_OK && (!earliest || r->workers[w].failed < earliest->failed))
            earliest = &r->workers[w];
    if (earliest)
        return kn_fail(r->ctx, earliest->status, "%s", kn_message(earliest->ctx));
    return kn_check_cancel(r->ctx);
}

static kn_status run(reading *r)
{
    int workers = kn_images_workers(r->ctx, r->images);
    void *p = NULL;
    kn_status status;

    KN_TRY(kn_alloc(r->ctx, workers, sizeof(worker), &p));
    r->workers = p;
    for (int w = 0; w < workers; w++) {
        worker *me = &r->workers[w];
        me->ctx = kn_ctx_new();
        if (!me->ctx) {
            status = kn_fail(r->ctx, KN_ERR_MEMORY, "out of memory for reading images");
            goto out;
        }
        me->reader = r->images->kept;
        if (!me->reader)
            KN_TRY(kn_image_reader_new(r->ctx, r->images->memory, &me->reader));
        if (in_one_stream(r->images))
            r->images->kept = me->reader;
        if (!r->out)
            KN_TRY(kn_alloc_f(r->ctx, r->n, &me->voxels));
    }
    atomic_init(&r->next, 0);
    atomic_init(&r->stop, false);
    kn_parallel(r->ctx, workers, 1, work, r);
    status = outcome(r, workers);
out:
    for (int w = 0; r->workers && w < workers; w++) {
        kn_ctx_free(r->workers[w].ctx);
        if (!r->images->kept)
            kn_image_reader_free(r->workers[w].reader);
        kn_free(r->workers[w].voxels);
    }
    kn_free(r->workers);
    return status;
}

kn_status kn_images_read_rows(kn_ctx *ctx, kn_images *images, ptrdiff_t first, ptrdiff_t count,
                              const ptrdiff_t *index, ptrdiff_t n, float *out)
{
    if (first < 0 || count < 0 || first > images->count || count > images->count - first)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "images %td to %td of %td were asked for", first + 1,
                       first + count, images->count);
    reading r = {.ctx = ctx,
                 .images = images,
                 .first = first,
                 .count = count,
                 .index = index,
                 .n = n,
                 .out = out};
    return run(&r);
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
                 .n = kn_nifti_voxels(&images->file[0].header),
                 .take = take,
                 .states = states,
                 .state_size = size};
    return run(&r);
}
