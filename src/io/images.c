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
    ptrdiff_t files; /* of all parts */
    int parts;
    kn_image *file;     /* parts of the first image, of the second, ...; of a 4D file only those */
    kn_image_list list; /* count 0: a 4D file */
    bool globbed;       /* the list is what a pattern matched */
    kn_image_part part[KN_PARTS];
    kn_geometry geometry; /* of all parts */
    ptrdiff_t memory;
    kn_image_reader *kept[KN_PARTS]; /* of a compressed 4D file */
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

/* A file that can be part of a row: of CIFTI only what says where its values are. */
static kn_status open_part(kn_ctx *ctx, const char *path, kn_image *out)
{
    kn_status status = kn_image_open(ctx, path, out);
    if (status == KN_OK && out->header.cifti && !out->brain.hash)
        return kn_fail(
            ctx, KN_ERR_FORMAT,
            "%s: is CIFTI of another kind (intent %d), expected dense scalars or a dense "
            "series",
            path, out->header.intent_code);
    return status;
}

/* Is it like the first one, and of the same side? Brain models are then kept once. */
static kn_status compare_first(kn_ctx *ctx, kn_image *file, const kn_image *first)
{
    const char *side = kn_image_side(file->path), *expected = kn_image_side(first->path);
    kn_status status;
    if (*side && *expected && strcmp(side, expected) != 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s: is %s by its name, expected %s as in %s", file->path,
                       side, expected, first->path);
    KN_TRY(kn_geometry_compare(ctx, file->path, &file->geometry, first->path, &first->geometry));
    KN_TRY(kn_brain_compare(ctx, file->path, &file->brain, first->path, &first->brain));
    kn_free(file->brain.xml);
    file->brain.xml = NULL;
out:
    return status;
}

static kn_status open_listed(kn_ctx *ctx, kn_images *images, ptrdiff_t i)
{
    kn_status status = KN_OK;
    for (int k = 0; k < images->parts; k++) {
        ptrdiff_t at = i * images->parts + k;
        kn_image *file = &images->file[at];
        KN_TRY(open_part(ctx, images->list.path[at], file));
        if (file->header.volumes > 1)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s: %td volumes, expected a 3D image in a list",
                           file->path, file->header.volumes);
        if (i > 0)
            KN_TRY(compare_first(ctx, file, &images->file[k]));
    }
out:
    return status;
}

static kn_status make_files(kn_ctx *ctx, kn_images *images, ptrdiff_t n)
{
    void *files;
    kn_status status = kn_alloc(ctx, n * images->parts, sizeof *images->file, &files);
    images->file = files;
    if (status == KN_OK)
        images->files = n * images->parts;
    return status;
}

static kn_status open_list(kn_ctx *ctx, const char *path, kn_images *images)
{
    kn_status status;

    KN_TRY(images->globbed ? kn_image_list_glob(ctx, path, &images->list)
                           : kn_image_list_read(ctx, path, &images->list));
    images->count = images->list.count;
    images->parts = images->list.parts;
    KN_TRY(make_files(ctx, images, images->count));
    for (ptrdiff_t i = 0; i < images->count; i++) {
        KN_TRY(kn_check_cancel(ctx));
        status = open_listed(ctx, images, i);
        if (status != KN_OK) /* the path of an image is all that there is of a pattern */
            return images->globbed ? status : add_place(ctx, status, path, images->list.line[i]);
    }
out:
    return status;
}

/* The comma between two names of images; NULL: a name of its own. */
static const char *find_comma(const char *path)
{
    const char *comma = strchr(path, ',');
    return comma && !strchr(comma + 1, ',') && access(path, F_OK) != 0 ? comma : NULL;
}

static kn_status open_4d(kn_ctx *ctx, const char *path, kn_images *images)
{
    const char *comma = find_comma(path);
    char *first = NULL;
    kn_status status;
    images->parts = comma ? 2 : 1;
    KN_TRY(make_files(ctx, images, 1));
    KN_TRY(kn_text_copy(ctx, path, comma ? (size_t)(comma - path) : strlen(path), &first));
    KN_TRY(open_part(ctx, first, &images->file[0]));
    images->count = images->file[0].header.volumes;
    if (comma) {
        KN_TRY(open_part(ctx, comma + 1, &images->file[1]));
        if (images->file[1].header.volumes != images->count)
            status = kn_fail(ctx, KN_ERR_SHAPE, "%s: %td volumes, expected %td as in %s", comma + 1,
                             images->file[1].header.volumes, images->count, first);
    }
out:
    kn_free(first);
    return status;
}

/* What the first image says of all. */
static kn_status describe_parts(kn_ctx *ctx, const char *path, kn_images *images)
{
    kn_status status = KN_OK;
    for (int k = 0; k < images->parts; k++)
        KN_TRY(kn_image_part_of(ctx, &images->file[k], &images->part[k]));
    kn_image_parts_settle(images->part, images->parts);
    KN_TRY(kn_image_parts_geometry(ctx, path, images->part, images->parts, &images->geometry));
out:
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
    KN_TRY(describe_parts(ctx, path, images));
out:
    if (status == KN_OK)
        *out = images;
    else
        kn_images_free(images);
    return status;
}

void kn_images_rest(kn_images *images)
{
    for (int k = 0; k < KN_PARTS; k++) {
        kn_image_reader_free(images->kept[k]);
        images->kept[k] = NULL;
    }
}

void kn_images_free(kn_images *images)
{
    if (!images)
        return;
    kn_images_rest(images);
    for (ptrdiff_t i = 0; i < images->files; i++)
        kn_image_clear(&images->file[i]);
    for (int k = 0; k < KN_PARTS; k++)
        kn_image_part_clear(&images->part[k]);
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
    return &images->geometry;
}

int kn_images_parts(const kn_images *images)
{
    return images->parts;
}

const kn_image_part *kn_images_part(const kn_images *images, int k)
{
    return &images->part[k];
}

ptrdiff_t kn_images_files(const kn_images *images)
{
    return images->files;
}

const char *kn_images_file(const kn_images *images, ptrdiff_t i)
{
    return images->file[i].path;
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
    return images->file[kn_images_is_list(images) ? i * images->parts : 0].path;
}

/* ---- reading on several threads ----------------------------------------------------------- */

typedef struct worker {
    kn_ctx *ctx; /* for its messages: a context belongs to one thread */
    kn_image_reader *reader[KN_PARTS];
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
    const ptrdiff_t *index[KN_PARTS]; /* of each part, in its own voxels */
    ptrdiff_t n, of_part[KN_PARTS];   /* voxels in all, and of each part */
    ptrdiff_t *shifted;               /* index[1], which is not the caller's */
    float *out;                       /* NULL: visits */
    kn_image_fn take;
    char *states;
    size_t state_size;
} reading;

/* One worker, whose reader is kept. */
static bool in_one_stream(const kn_images *images)
{
    bool one = false;
    for (int k = 0; k < images->parts; k++)
        one = one || kn_image_in_one_stream(&images->file[k]);
    return one && !kn_images_is_list(images);
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

/* Which voxels are of which part: ascending ones, or the first n. */
static kn_status divide(reading *r, const ptrdiff_t *index)
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

static kn_status equip(reading *r, worker *me)
{
    kn_status status = KN_OK;
    me->ctx = kn_ctx_new();
    if (!me->ctx)
        return kn_fail(r->ctx, KN_ERR_MEMORY, "out of memory for reading images");
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

static kn_status run(reading *r, const ptrdiff_t *index)
{
    int workers = kn_images_workers(r->ctx, r->images);
    void *p = NULL;
    kn_status status;

    KN_TRY(divide(r, index));
    KN_TRY(kn_alloc(r->ctx, workers, sizeof(worker), &p));
    r->workers = p;
    for (int w = 0; w < workers; w++)
        KN_TRY(equip(r, &r->workers[w]));
    atomic_init(&r->next, 0);
    atomic_init(&r->stop, false);
    kn_parallel(r->ctx, workers, 1, work, r);
    status = outcome(r, workers);
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
    return run(&r, index);
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
    return run(&r, NULL);
}
