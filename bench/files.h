/* The files that the benchmark of the readers reads: some brain images, a table. */
#ifndef KN_BENCH_FILES_H
#define KN_BENCH_FILES_H

#include "common.h"
#include "io/file/atomic_writer.h"
#include "io/formats/nifti_header.h"

enum { BENCH_FILES = 32 };

typedef struct bench_files {
    kn_geometry geometry;
    kn_write_options options;
    ptrdiff_t volumes, n; /* n voxels in each */
    float *values;        /* volumes x n */
    char path[BENCH_FILES][96];
} bench_files;

/* Zero outside a ball, as brains come; inside a slope with noise, in steps of a 64th, so that gzip
 * has something to find. */
void files_values(bench *b, bench_files *f);
/* volumes 0: the one volume `first`, as a 3D image */
void files_images(bench *b, bench_files *f, const char *path, ptrdiff_t first, ptrdiff_t volumes);
void files_table(bench *b, const bench_files *f, const char *path, ptrdiff_t rows, ptrdiff_t cols);

#endif
