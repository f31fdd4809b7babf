/* A folder that score, cv or change wrote, opened: who is in it, and their z, one person at a time.
 * The maps are one file (two of two hemispheres), or with {split} one for each person. Of change a
 * person is a pair of visits. */
#ifndef KN_COMMANDS_COMMON_SCORED_FOLDER_H
#define KN_COMMANDS_COMMON_SCORED_FOLDER_H

#include "data/response_space.h"
#include "io/image/image_set.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

typedef struct kn_zfile { /* one of these is open */
    kn_images *images;
    kn_npy_file array;
    kn_table *table;
    ptrdiff_t first; /* column of a table with the first response */
} kn_zfile;

typedef struct kn_scored_kind { /* what a command writes */
    const char *command;
    const char *table;   /* who is in it: people.tsv; of change change.tsv, a row a pair */
    const char *map;     /* "z", "change_z" */
    const char *part[3]; /* columns that make an id, with _ between them; NULL: no more */
    bool attended;       /* a column status says who was used */
} kn_scored_kind;

extern const kn_scored_kind kn_scored_by_score, kn_scored_by_change;

typedef struct kn_scored {
    const char *dir; /* lent */
    const kn_scored_kind *kind;
    kn_table *people;     /* its table */
    char **id;            /* n */
    ptrdiff_t n;          /* people with maps ... */
    ptrdiff_t *row;       /* ... and their rows of the table, in the order of the maps */
    char *tail[KN_PARTS]; /* "z.nii.gz", behind ID_ where split */
    int parts;
    bool split;
    kn_space space; /* of images all voxels */
    kn_zfile file;  /* of everybody, or of one person ... */
    ptrdiff_t of;   /* ... who is this one; -1: none is open */
} kn_scored;

kn_status kn_scored_open(kn_ctx *ctx, const char *dir, const kn_scored_kind *kind, kn_scored *out);
void kn_scored_clear(kn_scored *scored); /* {0} is fine */

const char *kn_scored_id(const kn_scored *scored, ptrdiff_t i);
/* z: space.T values of person i, NaN where missing; ascending i read a compressed file once. */
kn_status kn_scored_z(kn_ctx *ctx, kn_scored *scored, ptrdiff_t i, float *z);
/* A map that belongs to nobody, such as metrics_R2, as space.T values; images only. *found false:
 * there is none. */
kn_status kn_scored_single(kn_ctx *ctx, const kn_scored *scored, const char *name, bool *found,
                           float *values);

#endif
