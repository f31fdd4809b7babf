/* A folder that score wrote, opened: who is in it, and their z, one person at a time. The maps are
 * one file (two of two hemispheres), or with {split} one for each person. */
#ifndef KN_WORK_SCORED_H
#define KN_WORK_SCORED_H

#include "data/space.h"
#include "io/images.h"
#include "io/npy.h"
#include "io/table.h"

typedef struct kn_zfile { /* one of these is open */
    kn_images *images;
    kn_npy_file array;
    kn_table *table;
    ptrdiff_t first; /* column of a table with the first response */
} kn_zfile;

typedef struct kn_scored {
    const char *dir;  /* lent */
    kn_table *people; /* people.tsv */
    ptrdiff_t id_col;
    ptrdiff_t n;          /* people with maps ... */
    ptrdiff_t *row;       /* ... and their rows of people.tsv, in the order of the maps */
    char *tail[KN_PARTS]; /* "z.nii.gz", behind ID_ where split */
    int parts;
    bool split;
    kn_space space; /* of images all voxels */
    kn_zfile file;  /* of everybody, or of the person read last */
} kn_scored;

kn_status kn_scored_open(kn_ctx *ctx, const char *dir, kn_scored *out);
void kn_scored_clear(kn_scored *scored); /* {0} is fine */

const char *kn_scored_id(const kn_scored *scored, ptrdiff_t i);
/* z: space.T values of person i, NaN where missing; ascending i read a compressed file once. */
kn_status kn_scored_z(kn_ctx *ctx, kn_scored *scored, ptrdiff_t i, float *z);

#endif
