/* Memory plan of the input of a page. The plan must follow the allocations of input.c, model.c,
 * folder.c and curves.c. */
#include "report/input/memory.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory/plan.h"
#include "commands/centiles/centiles.h"
#include "commands/memory/memory_plan.h"
#include "commands/score/scores.h"
#include "gp/block_visitor.h"
#include "gp/method.h"
#include "io/file/path.h"
#include "io/image/image.h"
#include "model/model.h"

enum { NAME = 2 * 64 }; /* bytes of a short text with its allocation */

/* ---- measuring ---- */

typedef struct file_counts {
    double bytes, cells, lines;
} file_counts;

/* Counts bytes, cells (tabs, commas, line ends) and lines of a text file by reading it once.
 * Returns {0} for a file that cannot be read, and for a pipe or a device, which has no end. */
static file_counts measure_file(const char *path)
{
    char piece[1 << 14];
    file_counts l = {0};
    struct stat what;
    bool file = stat(path, &what) == 0 && S_ISREG(what.st_mode);
    FILE *f = file ? fopen(path, "rb") : NULL;
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0; l.bytes += (double)n)
        for (size_t i = 0; i < n; i++) {
            l.lines += piece[i] == '\n';
            l.cells += piece[i] == '\n' || piece[i] == '\t' || piece[i] == ',';
        }
    if (f)
        fclose(f);
    return l;
}

/* Adds the size of a file to the total size of the tables that are open together. */
static void add_table(kn_report_input_table *t, file_counts l)
{
    t->bytes += l.bytes;
    t->cells += l.cells;
}

/* Returns whether `name` is in a list of texts that ends with NULL. */
static bool is_any(const char *name, const char *const *list)
{
    while (*list && strcmp(name, *list) != 0)
        list++;
    return *list != NULL;
}

/* Adds a file of z-scores to the sizes: a CSV table counts its cells, another file its bytes. Of
 * one file per participant the largest counts, because one is open at a time. */
static void add_maps(kn_report_input_sizes *s, const char *path)
{
    struct stat what;
    if (kn_path_ends(path, "z.csv")) {
        file_counts l = measure_file(path);
        if (l.bytes > s->maps.bytes)
            s->maps = (kn_report_input_table){l.bytes, l.cells};
        return;
    }
    if (stat(path, &what) == 0 && S_ISREG(what.st_mode))
        s->packed = fmax(s->packed, (double)what.st_size);
}

/* Measures the tables and z-maps of the scored folder dir in s. *responses: rows of metrics.tsv,
 * unchanged without it. Nothing for a folder that cannot be read. */
static void measure_folder(const char *dir, kn_report_input_sizes *s, double *responses)
{
    static const char *const STAY[] = {"scored_participants.tsv", "abnormality.tsv", "folds.tsv",
                                       "change.tsv", NULL};
    char path[4096];
    DIR *folder = opendir(dir);
    for (struct dirent *d; folder && (d = readdir(folder));) {
        const char *name = d->d_name;
        bool z = strncmp(name, "z.", 2) == 0 || strstr(name, "_z.");
        if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
            continue;
        if (is_any(name, STAY)) {
            file_counts l = measure_file(path);
            add_table(&s->participants, l);
            s->n = (ptrdiff_t)fmax((double)s->n, l.lines);
        } else if (strcmp(name, "metrics.tsv") == 0) {
            file_counts l = measure_file(path);
            add_table(&s->metrics, l);
            *responses = l.lines;
        } else if (z) {
            add_maps(s, path);
        }
    }
    if (folder)
        closedir(folder);
}

/* Returns the number of curves per response, at most: both levels of each two-level category are
 * drawn. 0 for a model without covariate names. */
static ptrdiff_t curves_of(const kn_model *m)
{
    ptrdiff_t curves = 1;
    for (ptrdiff_t c = 0; c < m->x.C && curves < 64; c++)
        curves *= m->x.column[c].levels == 2 ? 2 : 1;
    return m->encoding.n > 0 ? curves : 0;
}

/* Sets the sizes that follow from s->model: participants, responses, covariates, voxels, curves,
 * and the shape of the prediction problem. */
static void measure_model(kn_ctx *ctx, const kn_settings *settings, kn_report_input_sizes *s)
{
    const kn_model *m = s->model;
    s->model_bytes = kn_model_bytes(m);
    s->N = m->gp.N;
    s->T = m->y.n_kept;
    s->C = m->x.C;
    s->named = m->space.name != NULL;
    s->voxels = m->space.kind == KN_SPACE_IMAGE ? kn_geometry_voxels(&m->space.geometry) : 0;
    s->curves = curves_of(m);
    s->shape = kn_memory_policy_score(ctx, settings, m, 0, 0).shape;
    s->shape.N = s->N;
    s->shape.T = s->T;
    s->shape.F = m->x.F;
}

void kn_report_input_measure(kn_ctx *ctx, const kn_settings *settings, const kn_model *model,
                             const char *dir, kn_report_input_sizes *out)
{
    enum { SPARSE = 8 }; /* upper bounds of a cv map per response: voxels of the grid, and bytes */
    double responses = 0;
    *out = (kn_report_input_sizes){.model = model};
    if (model)
        measure_model(ctx, settings, out);
    if (dir)
        measure_folder(dir, out, &responses);
    if (!model) {
        out->T = (ptrdiff_t)responses;
        out->named = out->packed == 0;
        out->voxels = out->packed > 0 ? SPARSE * out->T : 0;
    }
    out->image = out->packed == 0
                     ? 0
                     : fmin(KN_IMAGE_MEMORY, sizeof(float) * (double)out->n * (double)out->voxels);
}

/* ---- planning ---- */

/* Adds a table to the memory plan: its text and the position of each cell stay; the bytes of the
 * file are needed only while it is parsed. */
static void table_need(kn_mem_plan *r, kn_report_input_table t)
{
    kn_plan_alloc_bytes(r, KN_NEED_WORK, t.bytes + sizeof(ptrdiff_t) * t.cells);
    kn_mem_usage mark = r->now;
    kn_plan_alloc_bytes(r, KN_NEED_WORK, t.bytes);
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan what the input holds besides the model and the tables: means and standard
 * deviations, names, positions of responses in maps, statistics and covariates of the training
 * sample. */
static void input_need(kn_mem_plan *r, const kn_report_input_sizes *s)
{
    enum { WORDS = 48, STATISTICS = 16 };
    ptrdiff_t all = s->voxels > s->T ? s->voxels : s->T;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 2 + KN_N_METRICS + 1);
    kn_plan_alloc(r, KN_NEED_WORK, s->T, 3 * sizeof(ptrdiff_t) + (s->named ? 3 * NAME : WORDS));
    kn_plan_alloc_f(r, KN_NEED_WORK, all, 2);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->C + STATISTICS);
    kn_plan_alloc(r, KN_NEED_WORK, s->n, NAME + (size_t)s->C * sizeof(double));
}

void kn_report_input_need(kn_mem_plan *r, const kn_report_input_sizes *s)
{
    static const double SMALL = 192e3; /* texts of the summary and of the model, headers */
    kn_plan_stage(r, "tables");
    kn_plan_alloc_bytes(r, KN_NEED_BASIS, s->model_bytes);
    kn_plan_alloc_bytes(r, KN_NEED_WORK, SMALL);
    input_need(r, s);
    table_need(r, s->participants);
    kn_plan_alloc_bytes(r, KN_NEED_WORK,
                        2 * sizeof(double) * s->participants.cells); /* numbers and texts */
    table_need(r, s->maps);
    kn_plan_alloc_bytes(r, KN_NEED_WORK, s->packed + s->image);
    kn_mem_usage mark = r->now;
    table_need(r, s->metrics);
    kn_plan_free_to(r, mark);
}

/* Adds to the memory plan the prediction of S responses at `points` covariate values: means and
 * variances of a block and the workspace of the method. Only the peak remains. */
static void points_need(kn_mem_plan *r, const kn_report_input_sizes *s, ptrdiff_t points,
                        ptrdiff_t S)
{
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, points, 2 * KN_BLOCK);
    kn_plan_alloc_d(r, KN_NEED_WORK, points, 3 * S + 4 * s->shape.F + 2 * s->C + 8);
    s->shape.method->need.maps(r, &s->shape, KN_MAPS_PREDICT, points);
    s->shape.method->need.block(r, &s->shape, KN_MAPS_PREDICT, points);
    kn_plan_free_to(r, mark);
}

void kn_report_input_curves_need(kn_mem_plan *r, const kn_report_input_sizes *s, ptrdiff_t S)
{
    enum { SEARCHED = 1000, OF_CURVE = 2 + 3 * KN_INPUT_CENTILES, OF_POINT = 4 };
    ptrdiff_t grid = KN_INPUT_GRID * s->curves, participants = s->N > s->n ? s->N : s->n;
    ptrdiff_t batch = kn_min_size(kn_centiles_batch(S), (1 << 20) / (s->N + 1) + 64);
    if (s->curves == 0 || S == 0)
        return;
    kn_plan_stage(r, "curves");
    kn_mem_usage mark = r->now;
    kn_plan_alloc_d(r, KN_NEED_WORK, grid,
                    kn_min_size(s->T, SEARCHED) + 2 * s->C); /* the search for the covariate */
    s->shape.method->need.maps(r, &s->shape, KN_MAPS_PREDICT, grid);
    s->shape.method->need.block(r, &s->shape, KN_MAPS_PREDICT, grid);
    kn_plan_free_to(r, mark);
    kn_plan_alloc_d(r, KN_NEED_WORK, S * s->curves, KN_INPUT_GRID * OF_CURVE);
    kn_plan_alloc_d(r, KN_NEED_WORK, S * (s->N + s->n), OF_POINT);
    points_need(r, s, grid, S);
    kn_mem_usage between = r->now;
    /* Z-scores and covariates of the participants. */
    kn_plan_alloc_d(r, KN_NEED_WORK, participants, 2 + 2 * s->C + S);
    kn_plan_alloc_f(r, KN_NEED_WORK, s->T, 1);
    points_need(r, s, kn_min_size(participants, batch), S);
    kn_plan_free_to(r, between);
}

/* ---- budget ---- */

kn_status kn_report_input_check_memory(kn_ctx *ctx, const kn_mem_plan *r, const char *what)
{
    const kn_mem_budget a = kn_mem_budget_of(ctx);
    const double program = kn_need_program(kn_threads(ctx)), model = r->peak.bytes[KN_NEED_BASIS],
                 work = kn_mem_usage_sum(&r->peak) - model, bytes = program + model + work;
    char parts[160];
    snprintf(parts, sizeof parts, "model %s, work space %s, program and BLAS %s",
             kn_format_size(model).text, kn_format_size(work).text, kn_format_size(program).text);
    kn_log(ctx, KN_LOG_DETAIL, "memory: this %s needs %s (%s), most of it for the %s; %s %s", what,
           kn_format_size(bytes).text, parts, r->peak_stage, a.from, kn_format_size(a.bytes).text);
    if (bytes <= a.bytes)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY, "this %s needs %s (%s), but %s %s", what,
                   kn_format_size(bytes).text, parts, a.from, kn_format_size(a.bytes).text);
}
