/* Memory plan of a page: input, computed sections, and output. The plan must follow the allocations
 * of report/compute and report/page. */
#include "report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/image/image.h"
#include "report/input/memory.h"
#include "report/report.h"

typedef struct shape { /* sizes of the page */
    kn_report_input_sizes m;
    ptrdiff_t participants; /* rows: of the folder, or of training */
    ptrdiff_t maps;         /* number of maps of cards and thumbnails */
    ptrdiff_t shown;        /* number of responses with curves */
    double files;           /* bytes of meshes, labels and folds */
    double background;      /* bytes needed to read the background image */
    bool json, pictures;    /* JSON is requested; there are maps to draw */
} shape;

/* Returns the size of a file in bytes; 0 if path is NULL or there is no such file. */
static double file_size(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 ? (double)info.st_size : 0;
}

/* Returns the total size in bytes of one file, or of two whose paths are separated by a comma;
 * NULL: 0. */
static double file_sizes(const char *paths)
{
    char one[4096];
    const char *comma = paths ? strchr(paths, ',') : NULL;
    if (!comma || (size_t)(comma - paths) >= sizeof one)
        return file_size(paths);
    memcpy(one, paths, (size_t)(comma - paths));
    one[comma - paths] = '\0';
    return file_size(one) + file_size(comma + 1);
}

/* Returns the bytes needed to read the background image: voxels as floats, the file, and its
 * uncompressed content. A file that cannot be opened counts only its size, because reading it fails
 * later. */
static double background_bytes(kn_ctx *ctx, const char *path)
{
    kn_image image = {0};
    double bytes = 0;
    if (path && kn_image_open(ctx, path, &image) == KN_OK) {
        double voxels = (double)kn_nifti_voxels(&image.header);
        bytes = sizeof(float) * voxels + fmin(KN_IMAGE_MEMORY, sizeof(double) * voxels);
    }
    kn_image_clear(&image);
    return bytes + file_size(path);
}

/* Returns the largest number of cards that the option requests, at most `limit`: "10" is a number;
 * a list of ids has up to eight rows per id; NULL: none. */
static ptrdiff_t cards_of(const char *participants, ptrdiff_t limit)
{
    char *end;
    long n = participants ? strtol(participants, &end, 10) : 0;
    if (!participants || (*participants && !*end))
        return kn_min_size(n > 0 ? n : 0, limit);
    n = 1;
    for (const char *at = participants; (at = strchr(at, ',')); at++)
        n++;
    return kn_min_size(8 * n, limit); /* an id may match several rows */
}

/* Returns the sizes of the page from the settings and the measured inputs; model NULL: cv. */
static shape shape_of(kn_ctx *ctx, const kn_settings *s, const kn_model *model)
{
    enum { SHOWN_MAX = 100 };
    shape p = {.shown = s->show ? SHOWN_MAX : KN_REPORT_SHOWN,
               .files = file_sizes(s->surface) + file_sizes(s->labels) + file_sizes(s->sulc),
               .background = background_bytes(ctx, s->background),
               .json = s->json};
    kn_report_input_measure(ctx, s, model, s->page_scored, &p.m);
    p.participants = s->page_scored ? p.m.n : p.m.N;
    p.maps =
        cards_of(s->page_people, p.participants) + kn_min_size(p.participants, KN_REPORT_THUMBS);
    p.pictures = p.m.voxels > 0 || p.files > 0;
    p.shown = kn_min_size(p.shown, p.m.T);
    return p;
}

/* Adds to the memory plan what compute/space.c allocates: grid and background of a volume, meshes,
 * names of regions. */
static void space_need(kn_mem_plan *r, const shape *p)
{
    enum { OF_MESH = 8 };           /* memory per byte of a mesh file */
    static const double WORDS = 64; /* bytes of a region name */
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.T, 1);
    kn_plan_alloc(r, KN_NEED_WORK, p->m.voxels, 1);
    kn_plan_alloc_bytes(r, KN_NEED_WORK, OF_MESH * p->files);
    if (p->m.named)
        kn_plan_alloc_bytes(r, KN_NEED_WORK, (sizeof(kn_report_region) + WORDS) * (double)p->m.T);
    kn_mem_usage mark = r->now;
    kn_plan_alloc(r, KN_NEED_WORK, p->m.voxels, 2 * sizeof(float) + sizeof(ptrdiff_t));
    kn_plan_alloc_bytes(r, KN_NEED_WORK, p->background + 24e3);
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan what compute/participants.c and compute/maps.c allocate: rows of
 * participants, histograms, int8 maps, and sums per response. */
static void participants_need(kn_mem_plan *r, const shape *p)
{
    enum { TEXTS = 512, BINS = KN_REPORT_ZBINS + KN_REPORT_PIT + KN_REPORT_COVERAGES };
    kn_plan_alloc(r, KN_NEED_WORK, p->participants, sizeof(kn_report_participant) + TEXTS);
    kn_plan_alloc(r, KN_NEED_WORK, p->m.N + p->m.n, BINS * sizeof(uint32_t) + 3 * sizeof(double));
    kn_plan_alloc(r, KN_NEED_WORK, p->m.T, (size_t)p->maps + 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.T, 1 + 2 * 3 + 2); /* z^2, sums of two groups, overlap */
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.T, 2 * 4 + 1);
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan what compute/responses.c and compute/group.c allocate: metrics of each
 * response, their order, t and q. */
static void responses_need(kn_mem_plan *r, const shape *p)
{
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.T, 6);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.T, 6);
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan the temporary arrays of compute/calibration.c (at most one unit per row)
 * and of compute/cluster.c. */
static void calibration_need(kn_mem_plan *r, const shape *p)
{
    enum { OF_UNIT = KN_REPORT_ZBINS + KN_REPORT_PIT + KN_REPORT_COVERAGES + 8 };
    static const double DRAWN = 320e3; /* bootstrap samples */
    kn_plan_stage(r, "calibration");
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, p->m.N > p->m.n ? p->m.N : p->m.n, OF_UNIT);
    kn_plan_alloc_bytes(r, KN_NEED_WORK, DRAWN);
    kn_plan_free_to(r, mark);
    kn_plan_alloc(r, KN_NEED_WORK, p->m.T, 3 * sizeof(ptrdiff_t) + sizeof(float) + 1);
    kn_plan_alloc(r, KN_NEED_WORK, p->m.voxels, sizeof(ptrdiff_t));
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan the writing of the page, during which there are at most one picture of a
 * million pixels and one packed map of a card, and the JSON if it is requested. */
static void page_need(kn_mem_plan *r, const shape *p)
{
    enum { OF_PIXEL = 14, OF_VOXEL = 8, OF_RESPONSE = 4 };
    static const double PIXELS = 1e6, PACKING = 2e6, SMALL = 256e3, NUMBER = 24;
    kn_plan_stage(r, "page");
    kn_mem_usage mark = r->now;
    kn_plan_alloc_bytes(r, KN_NEED_WORK, SMALL);
    if (p->pictures) {
        kn_plan_alloc_bytes(r, KN_NEED_WORK, OF_PIXEL * PIXELS + PACKING);
        kn_plan_alloc(r, KN_NEED_WORK, p->m.voxels, OF_VOXEL);
        kn_plan_alloc(r, KN_NEED_WORK, p->m.T, OF_RESPONSE + sizeof(ptrdiff_t));
        kn_plan_alloc_bytes(r, KN_NEED_WORK, 2 * p->files);
    }
    if (p->json) /* numbers as text, once as a tree and once as one string */
        kn_plan_alloc_bytes(r, KN_NEED_WORK,
                            2 * NUMBER * (16.0 * (double)p->m.T + 40.0 * (double)p->participants));
    kn_plan_free_to(r, mark);
}

void kn_report_need(kn_ctx *ctx, const kn_settings *s, const kn_model *model, kn_mem_plan *r)
{
    const shape p = shape_of(ctx, s, model);
    kn_mem_usage open, model_only = {0};
    kn_report_input_need(r, &p.m);
    open = r->now;
    model_only.bytes[KN_NEED_BASIS] = open.bytes[KN_NEED_BASIS];
    kn_plan_stage(r, "maps");
    space_need(r, &p);
    participants_need(r, &p);
    responses_need(r, &p);
    kn_report_input_curves_need(r, &p.m, p.shown);
    /* The report's copy of the points. */
    kn_plan_alloc_d(r, KN_NEED_WORK, p.shown * (p.m.N + p.m.n), 4);
    kn_plan_alloc_d(r, KN_NEED_WORK, p.shown * p.m.curves, 18 * KN_INPUT_GRID);
    calibration_need(r, &p);
    kn_plan_free(r, model_only, open); /* the input is freed */
    page_need(r, &p);
}

kn_status kn_report_check_memory(kn_ctx *ctx, const kn_settings *s, const kn_model *model)
{
    kn_mem_plan r = {0};
    kn_report_need(ctx, s, model, &r);
    return kn_report_input_check_memory(ctx, &r, "report");
}
