/* Implements basis_source.h. Harmonics are eigenvectors of the surface Laplacian
 * (data/basis/surface_harmonics.h). */
#include "commands/fit/basis_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "data/basis/surface_harmonics.h"
#include "io/file/path.h"

static const char LABELS[] = "labels:", HARMONICS[] = "harmonics:";

void kn_basis_source_clear(kn_basis_source *s)
{
    for (int k = 0; k < KN_PARTS; k++) {
        kn_free(s->file[k]);
        kn_surface_clear(&s->surface[k]);
    }
    kn_free(s->path);
    kn_npy_clear(&s->npy);
    kn_atlas_clear(&s->labels);
    kn_mat_clear(&s->B);
    kn_free(s->voxel);
    *s = (kn_basis_source){0};
}

/* The file name of a path; borrowed. */
static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Split the first n characters of text, "a" or "a,b", into s->file. */
static kn_status split_files(kn_ctx *ctx, const char *text, size_t n, kn_basis_source *s)
{
    kn_status status = KN_OK;
    const char *comma = memchr(text, ',', n);
    size_t first = comma ? (size_t)(comma - text) : n;
    KN_TRY(kn_text_copy(ctx, text, first, &s->file[s->files]));
    s->files++;
    if (comma) {
        KN_TRY(kn_text_copy(ctx, comma + 1, n - first - 1, &s->file[s->files]));
        s->files++;
    }
out:
    return status;
}

/* Open a basis in a NumPy file, whose columns are basis vectors; s owns it. */
static kn_status open_file(kn_ctx *ctx, const char *path, kn_basis_source *s)
{
    kn_status status;
    s->kind = KN_BASIS_FILE;
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &s->file[0]));
    s->files = 1;
    KN_TRY(kn_npy_read(ctx, path, &s->npy));
    s->cols = s->npy.view.cols;
    snprintf(s->name, sizeof s->name, "%s", without_folder(path));
out:
    return status;
}

/* Read the atlas at path (one file or two with a comma) into s: one column per label. */
static kn_status open_labels(kn_ctx *ctx, const char *path, kn_basis_source *s)
{
    kn_status status;
    s->kind = KN_BASIS_LABELS;
    if (!*path)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{basis} is '%s', but must be labels:ATLAS, an image",
                       LABELS);
    KN_TRY(kn_text_copy(ctx, path, strlen(path), &s->path));
    KN_TRY(split_files(ctx, path, strlen(path), s));
    KN_TRY(kn_atlas_read(ctx, s->path, &s->labels));
    s->cols = s->labels.n;
    snprintf(s->name, sizeof s->name, "%s%s%s%s", LABELS, without_folder(s->file[0]),
             s->files > 1 ? "," : "", s->files > 1 ? without_folder(s->file[1]) : "");
out:
    return status;
}

/* Parse "SURF.gii,K" or "L.gii,R.gii,K" (K: number of harmonics per surface) and read the surfaces
 * into s. KN_ERR_ARGUMENT for another text. */
static kn_status open_harmonics(kn_ctx *ctx, const char *text, kn_basis_source *s)
{
    enum { MAX_COUNT = 100000 };
    kn_status status = KN_OK;
    const char *last = strrchr(text, ',');
    int commas = 0;
    s->kind = KN_BASIS_HARMONICS;
    for (const char *c = text; *c; c++)
        commas += *c == ',';
    for (const char *c = last ? last + 1 : ""; *c >= '0' && *c <= '9' && s->K <= MAX_COUNT; c++)
        s->K = 10 * s->K + (*c - '0');
    if (!last || last == text || commas > KN_PARTS || s->K < 1 || s->K > MAX_COUNT ||
        strspn(last + 1, "0123456789") != strlen(last + 1))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{basis} is '%s%s', but must be harmonics:SURF.gii,K or "
                       "harmonics:LEFT.gii,RIGHT.gii,K with K from 1 on",
                       HARMONICS, text);
    KN_TRY(split_files(ctx, text, (size_t)(last - text), s));
    for (int k = 0; k < s->files; k++)
        if (!kn_path_ends(s->file[k], ".gii") && !kn_path_ends(s->file[k], ".gii.gz"))
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s is not a surface (.gii)", s->file[k]);
    for (int k = 0; k < s->files; k++)
        KN_TRY(kn_surface_read(ctx, s->file[k], &s->surface[k]));
    s->cols = s->K * s->files;
    snprintf(s->name, sizeof s->name, "%s%s%s%s,%td", HARMONICS, without_folder(s->file[0]),
             s->files > 1 ? "," : "", s->files > 1 ? without_folder(s->file[1]) : "", s->K);
out:
    return status;
}

kn_status kn_basis_source_open(kn_ctx *ctx, const char *text, kn_basis_source *out)
{
    kn_status status = KN_OK;
    *out = (kn_basis_source){0};
    if (strcmp(text, "pca") == 0)
        return KN_OK;
    if (strncmp(text, LABELS, strlen(LABELS)) == 0)
        KN_TRY(open_labels(ctx, text + strlen(LABELS), out));
    else if (strncmp(text, HARMONICS, strlen(HARMONICS)) == 0)
        KN_TRY(open_harmonics(ctx, text + strlen(HARMONICS), out));
    else if (kn_path_ends(text, ".npy"))
        KN_TRY(open_file(ctx, text, out));
    else
        status = kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{basis} is '%s', but must be pca, FILE.npy, labels:ATLAS or harmonics:SURF.gii,K",
            text);
out:
    if (status != KN_OK)
        kn_basis_source_clear(out);
    return status;
}

double kn_basis_source_bytes(const kn_basis_source *s)
{
    return s->kind == KN_BASIS_LABELS || s->kind == KN_BASIS_HARMONICS
               ? (double)s->cols * sizeof(double)
               : 0;
}

/* ---- a file ---- */

/* KN_ERR_SHAPE unless the NumPy basis has T rows; KN_ERR_DATA unless its values are finite. */
static kn_status check_file(kn_ctx *ctx, const kn_basis_source *s, ptrdiff_t T)
{
    kn_view v = s->npy.view;
    if (v.rows != T)
        return kn_fail(ctx, KN_ERR_SHAPE, "%s has %td rows, but must have %td, one per response",
                       s->file[0], v.rows, T);
    for (ptrdiff_t p = 0; p < v.cols; p++)
        for (ptrdiff_t j = 0; j < T; j++)
            if (!isfinite(kn_view_at(v, j, p)))
                return kn_fail(ctx, KN_ERR_DATA, "%s: row %td column %td is not finite", s->file[0],
                               j + 1, p + 1);
    return KN_OK;
}

/* ---- harmonics of the responses' surfaces ---- */

/* Fail unless the responses in `space` are vertices of the surfaces: KN_ERR_ARGUMENT for another
 * kind of responses, KN_ERR_SHAPE for another number of vertices per hemisphere. */
static kn_status check_vertices(kn_ctx *ctx, const kn_basis_source *s, const char *name,
                                const kn_space *space)
{
    if (space->kind != KN_SPACE_IMAGE)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{basis}: harmonics need responses at the vertices of %s, but %s is %s",
                       s->file[0], name, space->kind == KN_SPACE_TABLE ? "a table" : "an array");
    if (space->part[0].brain.hash)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{basis}: harmonics need responses at the vertices of %s, but %s has brain models",
            s->file[0], name);
    if (s->files != space->parts)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{basis}: harmonics of %s, but %s has %s per participant",
                       s->files > 1 ? "two surfaces" : "one surface", name,
                       space->parts > 1 ? "two images" : "one image");
    for (int k = 0; k < s->files; k++) {
        ptrdiff_t n = kn_geometry_voxels(&space->part[k].geometry);
        if (s->surface[k].vertices != n)
            return kn_fail(ctx, KN_ERR_SHAPE, "%s has %td vertices instead of %td as in %s",
                           s->file[k], s->surface[k].vertices, n, name);
    }
    return KN_OK;
}

/* Log the harmonics of surface k. highest: largest eigenvalue; 0 if all harmonics are constant. */
static void log_harmonics(kn_ctx *ctx, const kn_basis_source *s, int k, const kn_laplacian *l,
                          double highest)
{
    static const double TWO_PI = 6.283185307179586, NONE = 1e-12;
    char waves[64] = "";
    if (highest > NONE)
        snprintf(waves, sizeof waves, ", wavelengths down to %.3g", TWO_PI / sqrt(highest));
    kn_log(ctx, KN_LOG_INFO, "%s: %td harmonic%s over %td vertices, %td connected part%s%s",
           s->file[k], s->K, s->K > 1 ? "s" : "", l->n, l->parts, l->parts > 1 ? "s" : "", waves);
}

/* Compute columns k K .. (k + 1) K - 1 of s->B: harmonics of surface k at its responses. first:
 * first voxel of hemisphere k. */
static kn_status add_surface(kn_ctx *ctx, kn_basis_source *s, int k, const kn_space *space,
                             ptrdiff_t first)
{
    kn_status status;
    const kn_surface *surface = &s->surface[k];
    kn_laplacian l = {0};
    kn_mat E = {0};
    double *lambda = NULL;
    ptrdiff_t *row = NULL; /* row of B of each vertex plus 1; 0: not a response */
    bool *use = NULL;
    KN_TRY(kn_alloc_i(ctx, surface->vertices, &row));
    KN_TRY(kn_alloc_bool(ctx, surface->vertices, &use));
    for (ptrdiff_t j = 0; j < space->T; j++)
        if (space->voxel[j] >= first && space->voxel[j] < first + surface->vertices) {
            row[space->voxel[j] - first] = j + 1;
            use[space->voxel[j] - first] = true;
        }
    KN_TRY(kn_laplacian_new(ctx, surface, use, &l));
    KN_TRY(kn_alloc_d(ctx, s->K, &lambda));
    KN_TRY(kn_mat_new(ctx, l.n, s->K, &E));
    KN_TRY(kn_harmonics(ctx, s->file[k], &l, E, lambda));
    for (ptrdiff_t c = 0; c < s->K; c++)
        for (ptrdiff_t i = 0; i < l.n; i++)
            kn_col(s->B, k * s->K + c)[row[l.vertex[i]] - 1] = kn_at(E, i, c);
    log_harmonics(ctx, s, k, &l, lambda[s->K - 1]);
out:
    kn_mat_clear(&E);
    kn_free(lambda);
    kn_laplacian_clear(&l);
    kn_free(row);
    kn_free(use);
    return status;
}

/* True if s->B was made for exactly these voxels, as in most folds of a cross-validation. */
static bool same_vertices(const kn_basis_source *s, const kn_space *space)
{
    return s->B.data && space->kind == KN_SPACE_IMAGE && s->B.rows == space->T &&
           memcmp(s->voxel, space->voxel, (size_t)space->T * sizeof *s->voxel) == 0;
}

/* Compute s->B (T x cols) for the responses of `space`, and remember their voxels. */
static kn_status make_harmonics(kn_ctx *ctx, kn_basis_source *s, const kn_space *space)
{
    kn_status status;
    ptrdiff_t first = 0;
    kn_mat_clear(&s->B);
    kn_free(s->voxel);
    s->voxel = NULL;
    KN_TRY(kn_alloc_i(ctx, space->T, &s->voxel));
    memcpy(s->voxel, space->voxel, (size_t)space->T * sizeof *s->voxel);
    KN_TRY(kn_mat_new(ctx, space->T, s->cols, &s->B));
    for (int k = 0; k < s->files; k++) {
        KN_TRY(add_surface(ctx, s, k, space, first));
        first += s->surface[k].vertices;
    }
out:
    if (status != KN_OK)
        kn_mat_clear(&s->B);
    return status;
}

kn_status kn_basis_source_view(kn_ctx *ctx, kn_basis_source *s, const char *name,
                               const kn_space *space, kn_view *out)
{
    kn_status status = KN_OK;
    *out = (kn_view){0};
    if (s->kind == KN_BASIS_PCA)
        return KN_OK;
    if (s->kind == KN_BASIS_FILE) {
        KN_TRY(check_file(ctx, s, space->T));
        *out = s->npy.view;
        return KN_OK;
    }
    if (s->kind == KN_BASIS_LABELS) {
        kn_mat_clear(&s->B);
        KN_TRY(kn_atlas_basis(ctx, &s->labels, name, space, &s->B));
    } else if (!same_vertices(s, space)) {
        KN_TRY(check_vertices(ctx, s, name, space));
        if (s->cols > space->T)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "{basis}: %td harmonics, but %td responses",
                           s->cols, space->T);
        KN_TRY(make_harmonics(ctx, s, space));
    }
    *out = kn_view_cols(s->B.data, s->B.rows, s->B.cols);
out:
    return status;
}
