/* Implements load.h: finds the runs, checks all files, then reads and detrends the scans. Changes
 * of the data are recognised by a hash. */
#include "paper/visual/load.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/image/image_set.h"
#include "io/image/mask.h"
#include "io/table/table.h"

enum { PATH = 4096, MIN_SCANS = 3 }; /* two points are always on a line */
static const double REST = -1;
static const char *const KIND[2] = {"random", "figure"};

typedef struct run {
    int kind, number;
    char func[PATH], label[PATH];
    kn_mat labels;  /* scans x pixels */
    ptrdiff_t rows; /* rows without rest, after the shift */
} run;

typedef struct loader {
    const char *dir;
    ptrdiff_t n_runs, pixels;
    run *run; /* random runs first */
    kn_geometry geometry;
    kn_mask mask;
} loader;

/* Frees the labels, runs and mask of a loader. */
static void loader_clear(loader *l)
{
    for (ptrdiff_t r = 0; l->run && r < l->n_runs; r++)
        kn_mat_clear(&l->run[r].labels);
    kn_free(l->run);
    kn_mask_clear(&l->mask);
}

void kn_visual_clear(kn_visual *v)
{
    kn_mat_clear(&v->X);
    kn_mat_clear(&v->Y);
    kn_free(v->pattern);
    *v = (kn_visual){0};
}

/* ---- finding the runs ---- */

/* Returns the number NN of a file name "data_<kind>_runNN" followed by `ending`; 0: another file.
 */
static int run_number(const char *name, const char *kind, const char *ending)
{
    char start[32], digits[3] = "";
    int n = snprintf(start, sizeof start, "data_%s_run", kind);
    if (strncmp(name, start, (size_t)n) != 0 || strlen(name) < (size_t)n + 2)
        return 0;
    memcpy(digits, name + n, 2);
    if (strspn(digits, "0123456789") != 2 || strcmp(name + n + 2, ending) != 0)
        return 0;
    return (digits[0] - '0') * 10 + digits[1] - '0';
}

/* Raises last[0] (random) and last[1] (figure) to the largest run number in dir/folder; a folder
 * that does not exist has none. KN_ERR_IO if it cannot be read. */
static kn_status last_runs(kn_ctx *ctx, const char *dir, const char *folder, const char *ending,
                           int last[2])
{
    char path[PATH];
    if (snprintf(path, PATH, "%s/%s", dir, folder) >= PATH - 64)
        return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", dir);
    DIR *d = opendir(path);
    if (!d && errno != ENOENT && errno != ENOTDIR)
        return kn_fail_errno(ctx, path, "cannot be read", errno);
    for (struct dirent *e; d && (e = readdir(d));)
        for (int k = 0; k < 2; k++) {
            int number = run_number(e->d_name, KIND[k], ending);
            last[k] = number > last[k] ? number : last[k];
        }
    if (d)
        closedir(d);
    return KN_OK;
}

/* Lists the runs 01 .. last of both kinds in l->run, and checks that the two files of each exist;
 * KN_ERR_IO otherwise. */
static kn_status find_runs(kn_ctx *ctx, loader *l, kn_visual *v)
{
    kn_status status;
    int last[2] = {0, 0};
    void *memory;
    KN_TRY(last_runs(ctx, l->dir, "func", ".nii.gz", last));
    KN_TRY(last_runs(ctx, l->dir, "label", "_label.csv", last));
    for (int k = 0; k < 2; k++)
        if (last[k] == 0) {
            status = kn_fail(ctx, KN_ERR_IO,
                             "%s: no func/data_%s_run01.nii.gz there, expected the layout of the "
                             "Miyawaki 2008 data set; kronorm simulate {kind=miyawaki} makes one",
                             l->dir, KIND[k]);
            goto out;
        }
    l->n_runs = last[0] + last[1];
    KN_TRY(kn_alloc(ctx, l->n_runs, sizeof *l->run, &memory));
    l->run = memory;
    for (ptrdiff_t r = 0; r < l->n_runs; r++) {
        run *u = &l->run[r];
        u->kind = r >= last[0];
        u->number = (int)r + 1 - (u->kind ? last[0] : 0);
        v->runs[u->kind] = last[u->kind];
        const char *kind = KIND[u->kind];
        int n = snprintf(u->func, PATH, "%s/func/data_%s_run%02d.nii.gz", l->dir, kind, u->number);
        int m =
            snprintf(u->label, PATH, "%s/label/data_%s_run%02d_label.csv", l->dir, kind, u->number);
        if (n >= PATH || m >= PATH)
            return kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", l->dir);
        const char *needed[2] = {u->func, u->label};
        for (int i = 0; i < 2; i++) {
            FILE *f = fopen(needed[i], "rb");
            if (!f && errno == ENOENT)
                return kn_fail(ctx, KN_ERR_IO,
                               "%s is missing, expected runs 01 to %02d of %s patterns", needed[i],
                               last[u->kind], kind);
            if (!f)
                return kn_fail_errno(ctx, needed[i], "cannot be read", errno);
            fclose(f);
        }
    }
out:
    return status;
}

/* ---- labels ---- */

/* Returns whether nothing was shown at scan t of a run. */
static bool is_rest(kn_mat labels, ptrdiff_t t)
{
    return kn_at(labels, t, 0) == REST;
}

/* Checks that the labels of scan t are all pixels, or all rest; KN_ERR_DATA otherwise. */
static kn_status check_row(kn_ctx *ctx, const run *u, const kn_table *table, ptrdiff_t t)
{
    for (ptrdiff_t j = 1; j < u->labels.cols; j++)
        if ((kn_at(u->labels, t, j) == REST) != is_rest(u->labels, t))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s line %td column %td: %g in a row that begins with %g, expected -1 "
                           "in every column of a rest row and in no other row",
                           u->label, kn_table_line(table, t), j + 1, kn_at(u->labels, t, j),
                           kn_at(u->labels, t, 0));
    return KN_OK;
}

/* Reads the labels of a run (scans x pixels), and counts its rows that are not rest. KN_ERR_SHAPE
 * if the numbers of rows or columns do not match the scans or the other runs. */
static kn_status read_labels(kn_ctx *ctx, loader *l, run *u, ptrdiff_t scans)
{
    kn_status status;
    kn_table *table = NULL;
    KN_TRY(kn_table_read_bare(ctx, u->label, &table));
    ptrdiff_t rows = kn_table_rows(table), cols = kn_table_cols(table);
    if (rows != scans) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td rows, expected %td, one per scan of %s",
                         u->label, rows, scans, u->func);
        goto out;
    }
    if (l->pixels == 0)
        l->pixels = cols;
    if (cols != l->pixels) {
        status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td columns, expected %td as in %s", u->label,
                         cols, l->pixels, l->run[0].label);
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, rows, cols, &u->labels));
    for (ptrdiff_t t = 0; t < rows; t++) {
        for (ptrdiff_t j = 0; j < cols; j++)
            if (kn_table_number(table, t, j, &kn_col(u->labels, j)[t]) != KN_CELL_NUMBER) {
                status =
                    kn_fail(ctx, KN_ERR_DATA, "%s line %td column %td: '%s', but must be a number",
                            u->label, kn_table_line(table, t), j + 1, kn_table_cell(table, t, j));
                goto out;
            }
        KN_TRY(check_row(ctx, u, table, t));
        u->rows += t < rows - KN_VISUAL_SHIFT && !is_rest(u->labels, t);
    }
out:
    kn_table_free(table);
    return status;
}

/* Opens the headers, the mask and the labels of all runs, checks that they fit together, and counts
 * rows, so that errors are found before the long reading. */
static kn_status check_runs(kn_ctx *ctx, loader *l, kn_visual *v)
{
    kn_status status = KN_OK;
    kn_image image = {0};
    char mask[PATH];
    snprintf(mask, PATH, "%s/mask/mask.nii.gz", l->dir);
    for (ptrdiff_t r = 0; r < l->n_runs; r++) {
        run *u = &l->run[r];
        KN_TRY(kn_image_open(ctx, u->func, &image));
        if (r == 0) {
            l->geometry = image.geometry;
            KN_TRY(kn_mask_read(ctx, mask, u->func, &l->geometry, &l->mask));
        }
        KN_TRY(kn_geometry_compare(ctx, u->func, &image.geometry, l->run[0].func, &l->geometry));
        ptrdiff_t scans = image.header.volumes;
        if (scans < MIN_SCANS) {
            status = kn_fail(ctx, KN_ERR_SHAPE, "%s has %td scans, expected a run of at least %d",
                             u->func, scans, MIN_SCANS);
            goto out;
        }
        KN_TRY(read_labels(ctx, l, u, scans));
        kn_image_clear(&image);
        v->n += u->rows;
        v->n_random += u->kind == 0 ? u->rows : 0;
    }
    if (v->n_random == 0 || v->n == v->n_random)
        status = kn_fail(ctx, KN_ERR_DATA, "%s/label: every row of the %s runs is rest", l->dir,
                         KIND[v->n_random > 0]);
out:
    kn_image_clear(&image);
    return status;
}

/* ---- scans ---- */

/* Returns the hash after `bytes` further bytes (a multiple of 4): FNV-1a over 32-bit words. */
static uint64_t mix_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

/* Subtracts the least-squares line over t = 0 .. n-1 from y:  mean + slope (t - tbar), slope = sum
 * (t - tbar) y / sum (t - tbar)^2, with sum (t - tbar)^2 = n (n^2 - 1) / 12. */
static void subtract_line(double *y, ptrdiff_t n)
{
    double m = (double)n, middle = (m - 1) / 2, mean = 0, slope = 0;
    for (ptrdiff_t t = 0; t < n; t++) {
        mean += y[t] / m;
        slope += ((double)t - middle) * y[t];
    }
    slope /= m * (m * m - 1) / 12;
    for (ptrdiff_t t = 0; t < n; t++)
        y[t] -= mean + slope * ((double)t - middle);
}

/* Reads the scans of one run, detrends each voxel, and copies labels and scans without rest to the
 * rows of X and Y from `row` on. Also mixes the data into the fingerprint. */
static kn_status read_run(kn_ctx *ctx, const loader *l, const run *u, ptrdiff_t row, kn_visual *v)
{
    kn_status status;
    kn_images *images = NULL;
    float *raw = NULL;
    double *y = NULL;
    ptrdiff_t scans = u->labels.rows, T = l->mask.count, at = row;
    KN_TRY(kn_alloc_f(ctx, scans * T, &raw));
    KN_TRY(kn_alloc_d(ctx, scans, &y));
    KN_TRY(kn_images_open(ctx, u->func, 0, &images));
    KN_TRY(kn_images_read(ctx, images, l->mask.index, T, raw));
    v->fingerprint = mix_hash(v->fingerprint, raw, (size_t)(scans * T) * sizeof *raw);
    v->fingerprint =
        mix_hash(v->fingerprint, u->labels.data, (size_t)(scans * l->pixels) * sizeof(double));
    for (ptrdiff_t j = 0; j < T; j++) {
        for (ptrdiff_t t = 0; t < scans; t++)
            y[t] = (double)raw[t * T + j];
        subtract_line(y, scans);
        double *to = kn_col(v->Y, j) + row;
        for (ptrdiff_t t = 0; t + KN_VISUAL_SHIFT < scans; t++)
            if (!is_rest(u->labels, t))
                *to++ = y[t + KN_VISUAL_SHIFT];
    }
    for (ptrdiff_t t = 0; t + KN_VISUAL_SHIFT < scans; t++)
        if (!is_rest(u->labels, t)) {
            kn_mat_set(kn_sub(v->X, at, 0, 1, l->pixels), kn_sub(u->labels, t, 0, 1, l->pixels));
            at++;
        }
out:
    kn_images_free(images);
    kn_free(y);
    kn_free(raw);
    return status;
}

/* Returns whether rows a and b of X are equal. */
static bool same_row(kn_mat X, ptrdiff_t a, ptrdiff_t b)
{
    for (ptrdiff_t j = 0; j < X.cols; j++)
        if (kn_at(X, a, j) != kn_at(X, b, j))
            return false;
    return true;
}

/* Sets the pattern of each scan to the index of the first scan with the same pixels. O(n^2) rows
 * compared at most. */
static void find_patterns(kn_visual *v)
{
    for (ptrdiff_t i = 0; i < v->n; i++) {
        v->pattern[i] = i;
        for (ptrdiff_t k = 0; k < i && v->pattern[i] == i; k++)
            if (v->pattern[k] == k && same_row(v->X, i, k))
                v->pattern[i] = k;
    }
}

kn_status kn_visual_read(kn_ctx *ctx, const char *dir, kn_visual *v)
{
    kn_status status;
    loader l = {.dir = dir};
    *v = (kn_visual){.fingerprint = 0xcbf29ce484222325u};
    KN_TRY(find_runs(ctx, &l, v));
    KN_TRY(check_runs(ctx, &l, v));
    KN_TRY(kn_mat_new(ctx, v->n, l.pixels, &v->X));
    KN_TRY(kn_mat_new(ctx, v->n, l.mask.count, &v->Y));
    KN_TRY(kn_alloc_i(ctx, v->n, &v->pattern));
    for (ptrdiff_t r = 0, row = 0; r < l.n_runs; row += l.run[r++].rows) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(read_run(ctx, &l, &l.run[r], row, v));
        kn_report_progress(ctx, "reading", r + 1, l.n_runs, NAN);
    }
    find_patterns(v);
out:
    loader_clear(&l);
    if (status != KN_OK)
        kn_visual_clear(v);
    return status;
}
