#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "io/gzip/gzip.h"
#include "io/image/image_set.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

typedef void (*reader)(bench *b, const char *path, float *out);

static void read_table(bench *b, const char *path, float *out)
{
    enum { AT_ONCE = 256 }; /* columns, as responses are taken */
    kn_table *t;
    kn_mat some;
    ptrdiff_t col[AT_ONCE];
    BENCH_TRY(b, kn_table_read(b->ctx, path, &t));
    BENCH_TRY(b, kn_mat_new(b->ctx, kn_table_rows(t), AT_ONCE, &some));
    for (ptrdiff_t j = 0; j < kn_table_cols(t); j += AT_ONCE) {
        ptrdiff_t left = kn_table_cols(t) - j, n = left < AT_ONCE ? left : AT_ONCE;
        for (ptrdiff_t k = 0; k < n; k++)
            col[k] = j + k;
        kn_table_numbers(b->ctx, t, NULL, col, kn_cols(some, 0, n));
        out[0] += (float)*kn_col(some, 0);
    }
    kn_mat_clear(&some);
    kn_table_free(t);
}

static void read_npy(bench *b, const char *path, float *out)
{
    kn_npy npy;
    BENCH_TRY(b, kn_npy_read(b->ctx, path, &npy));
    out[0] = (float)kn_view_at(npy.view, 0, 0);
    kn_npy_clear(&npy);
}

static void read_images(bench *b, const char *path, float *out)
{
    kn_images *images;
    BENCH_TRY(b, kn_images_open(b->ctx, path, 0, &images));
    const ptrdiff_t *dim = kn_images_geometry(images)->dim;
    BENCH_TRY(b, kn_images_read(b->ctx, images, NULL, dim[0] * dim[1] * dim[2], out));
    kn_images_free(images);
}

/* Seconds to read the bytes of files as they are, and to gunzip them in memory. */
static void raw(bench *b, const bench_files *f, int n, double *size, double *read, double *gunzip)
{
    struct libdeflate_decompressor *z = libdeflate_alloc_decompressor();
    size_t room = (size_t)(f->volumes * f->n) * sizeof *f->values + 4096, got;
    unsigned char *bytes, *out;
    *size = *read = *gunzip = 0;
    BENCH_TRY(b, kn_alloc(b->ctx, (ptrdiff_t)room, 1, (void **)&out));
    for (int k = 0; k < n; k++) {
        kn_byte_source s;
        double t;
        BENCH_TRY(b, kn_byte_source_open(b->ctx, f->path[k], &s));
        BENCH_TRY(b, kn_alloc(b->ctx, s.size, 1, (void **)&bytes));
        BENCH_TIME(t, 3, BENCH_TRY(b, kn_byte_source_read(b->ctx, &s, 0, s.size, bytes)));
        *size += (double)s.size;
        *read += t;
        if (kn_is_gzip(bytes, s.size)) {
            BENCH_TIME(t, 2, libdeflate_gzip_decompress(z, bytes, (size_t)s.size, out, room, &got));
            *gunzip += t;
        }
        kn_free(bytes);
        kn_byte_source_close(&s);
    }
    kn_free(out);
    libdeflate_free_decompressor(z);
}

/* path[0 .. n-1] hold the bytes; `name` is what the reader opens; plain: bytes before gzip. */
static void measure(bench *b, const bench_files *f, const char *what, const char *name, int n,
                    double plain, reader reads)
{
    double size, read, gunzip, s[2];
    raw(b, f, n, &size, &read, &gunzip);
    for (int t = 0; t < 2; t++) {
        bench_threads(b, t == 0 ? 1 : b->all);
        bench_peak_reset(b);
        BENCH_TIME(s[t], 2, reads(b, name, f->values));
    }
    double MB = 1e-6 * (plain > 0 ? plain : size);
    char speed[32] = "";
    if (gunzip > 0)
        snprintf(speed, sizeof speed, "%.0f", MB / gunzip);
    bench_row(b, "%s|%.1f|%.1f|%.0f|%s|%.0f|%.0f|%.2f|%.2f|%.0f", what, 1e-6 * size, MB,
              1e-6 * size / read, speed, MB / s[0], MB / s[1], s[0] / s[1], s[0] / (read + gunzip),
              bench_peak_mb());
}

static void in_folder(bench *b, bench_files *f)
{
    double plain = 4.0 * (double)f->volumes * (double)f->n;
    char list[BENCH_FILES * 32] = "";
    strcpy(f->path[0], "table.csv");
    files_table(b, f, f->path[0], bench_size(b, 300, 5), bench_size(b, 5000, 7));
    measure(b, f, ".csv, numbers of 17 digits", f->path[0], 1, 0, read_table);
    strcpy(f->path[0], "values.npy");
    BENCH_TRY(b, kn_npy_write(b->ctx, f->path[0], kn_view_rows_f32(f->values, f->volumes, f->n),
                              KN_F32, &f->options));
    measure(b, f, ".npy, float32", f->path[0], 1, 0, read_npy);
    strcpy(f->path[0], "images.nii");
    files_images(b, f, f->path[0], 0, f->volumes);
    measure(b, f, ".nii, 4D", f->path[0], 1, 0, read_images);
    strcpy(f->path[0], "images.nii.gz");
    files_images(b, f, f->path[0], 0, f->volumes);
    measure(b, f, ".nii.gz, 4D", f->path[0], 1, plain, read_images);
    for (int k = 0; k < f->volumes; k++) {
        sprintf(f->path[k], "image%02d.nii.gz", k);
        files_images(b, f, f->path[k], k, 0);
        strcat(list, f->path[k]);
        strcat(list, "\n");
    }
    BENCH_TRY(b, kn_write_text(b->ctx, "list.txt", list, &f->options));
    measure(b, f, "list of .nii.gz", "list.txt", (int)f->volumes, plain, read_images);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/kronorm-bench-XXXXXX";
    kn_created_files made = {0};
    bench_files f = {.options = {.made = &made}};
    bench b;
    bench_begin(
        &b, argc, argv, "readers",
        "How fast are files read, once the system has them in memory? Against a plain read "
        "of the same bytes and, where they are compressed, libdeflate's gunzip of the whole "
        "in memory, both with one thread. MB/s count bytes on disk for read, before compression "
        "for the others.");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        BENCH_TRY(&b, kn_fail(b.ctx, KN_ERR_IO, "%s could not be made", folder));
    files_values(&b, &f);
    bench_table(&b,
                "file                      |MB on disk|   MB|read MB/s|gunzip MB/s|1 thread MB/s|"
                "all MB/s|speed-up|times the raw|peak MB");
    in_folder(&b, &f);
    kn_created_files_remove(&made);
    kn_created_files_clear(&made);
    rmdir(folder);
    kn_free(f.values);
    return bench_end(&b);
}
