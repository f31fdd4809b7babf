#include "files.h"

#include <stdio.h>

#include "base/random.h"
#include "io/image/image.h"
#include "io/table/table.h"

void files_values(bench *b, bench_files *f)
{
    kn_nifti_header h = {.version = 1,
                         .dim = {91, 109, 91},
                         .pixdim = {1, 2, 2, 2, 1},
                         .sform_code = 1,
                         .srow = {{2, 0, 0, -90}, {0, 2, 0, -126}, {0, 0, 2, -72}}};
    kn_rng rng;
    if (b->quick)
        h.dim[0] = h.dim[1] = h.dim[2] = 6;
    kn_rng_init(&rng, 1, 3);
    f->volumes = bench_size(b, 24, 3);
    f->n = kn_nifti_voxels(&h);
    BENCH_TRY(b, kn_geometry_of(b->ctx, "bench", &h, &f->geometry));
    BENCH_TRY(b, kn_alloc_f(b->ctx, f->volumes * f->n, &f->values));
    for (ptrdiff_t i = 0; i < f->volumes * f->n; i++) {
        ptrdiff_t v = i % f->n, x = v % h.dim[0], y = v / h.dim[0] % h.dim[1];
        double dx = 2.0 * (double)x / (double)h.dim[0] - 1;
        double dy = 2.0 * (double)y / (double)h.dim[1] - 1;
        double dz = 2.0 * (double)v / (double)f->n - 1;
        if (dx * dx + dy * dy + dz * dz < 0.8)
            f->values[i] = (float)((100 + floor(40 * dx + 20 * kn_rng_uniform(&rng))) / 64);
    }
}

void files_images(bench *b, bench_files *f, const char *path, ptrdiff_t first, ptrdiff_t volumes)
{
    kn_image_writer *w;
    BENCH_TRY(b, kn_image_writer_new(b->ctx, path,
                                     &(kn_image_target){.geometry = &f->geometry,
                                                        .volumes = volumes,
                                                        .description = "bench"},
                                     &f->options, &w));
    for (ptrdiff_t v = first; v < first + (volumes ? volumes : 1); v++)
        BENCH_TRY(b, kn_image_writer_volume(b->ctx, w,
                                            &(kn_volume){f->values + v * f->n, 1, NULL, f->n, 0}));
    BENCH_TRY(b, kn_image_writer_commit(b->ctx, w));
    kn_image_writer_free(w);
}

void files_table(bench *b, const bench_files *f, const char *path, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_table_writer *w;
    char name[32];
    kn_rng rng;
    kn_rng_init(&rng, 1, 4);
    BENCH_TRY(b, kn_table_writer_new(b->ctx, path, &f->options, &w));
    for (ptrdiff_t j = 0; j < cols; j++) {
        snprintf(name, sizeof name, "region_%td", j);
        BENCH_TRY(b, kn_table_writer_text(b->ctx, w, name));
    }
    BENCH_TRY(b, kn_table_writer_end_row(b->ctx, w));
    for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t j = 0; j < cols; j++)
            BENCH_TRY(b, kn_table_writer_number(b->ctx, w, kn_rng_normal(&rng)));
        BENCH_TRY(b, kn_table_writer_end_row(b->ctx, w));
    }
    BENCH_TRY(b, kn_table_writer_commit(b->ctx, w));
    kn_table_writer_free(w);
}
