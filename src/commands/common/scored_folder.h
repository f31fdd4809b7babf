/* Reads an output folder of score, cv or change: its participants, and their z-maps one at a time.
 * Maps are one file (two for two hemispheres), or with {split} one per participant. A row of change
 * is a pair of visits. overlap and report use it. */
#ifndef KN_COMMANDS_COMMON_SCORED_FOLDER_H
#define KN_COMMANDS_COMMON_SCORED_FOLDER_H

#include "data/response_space.h"
#include "io/image/image_set.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

typedef struct kn_zfile { /* exactly one of images, array and table is open */
    kn_images *images;
    kn_npy_file array;
    kn_table *table;
    ptrdiff_t first; /* table: column of the first response */
} kn_zfile;

typedef struct kn_scored_kind { /* file names and columns of one command */
    const char *command;
    const char *table;   /* scored_participants.tsv, or change.tsv with a row per pair of visits */
    const char *map;     /* "z", "change_z" */
    const char *part[3]; /* columns joined by _ to the id; unused entries are NULL */
    bool attended;       /* column `status` marks the rows that were used */
} kn_scored_kind;

/* Kinds for folders of score or cv, and of change. */
extern const kn_scored_kind kn_scored_by_score, kn_scored_by_change;

/* An open folder. */
typedef struct kn_scored {
    const char *dir; /* borrowed */
    const kn_scored_kind *kind;
    kn_table *participants; /* kind->table */
    char **id;              /* n */
    ptrdiff_t n;            /* rows with maps ... */
    ptrdiff_t *row;         /* ... and n row numbers of the table, in the order of the maps */
    char *tail[KN_PARTS];   /* "z.nii.gz"; with split the part of the name after ID_ */
    int parts;              /* files per map: 1, or 2 hemispheres */
    bool split;             /* one file per row */
    kn_space space;         /* responses of the maps; images: every voxel of the grid */
    kn_zfile file;          /* the common file, or with split the file of one participant ... */
    ptrdiff_t of;           /* ... namely this one; -1: none is open */
} kn_scored;

/* Opens the folder and checks its maps against its table. `dir` and `kind` are borrowed.
 * KN_ERR_DATA if z-maps are missing or do not fit the table. Free with kn_scored_clear. */
kn_status kn_scored_open(kn_ctx *ctx, const char *dir, const kn_scored_kind *kind, kn_scored *out);
void kn_scored_clear(kn_scored *scored); /* accepts {0} */

/* Id of row i, 0 <= i < n; borrowed. */
const char *kn_scored_id(const kn_scored *scored, ptrdiff_t i);
/* Reads z-map i: z has space.T values, NaN where missing. With ascending i a compressed file is
 * read only once. */
kn_status kn_scored_z(kn_ctx *ctx, kn_scored *scored, ptrdiff_t i, float *z);
/* Reads a map that is not of one participant, such as metrics_R2 (space.T values). *found is false
 * if the file does not exist or the maps are not images. */
kn_status kn_scored_single(kn_ctx *ctx, const kn_scored *scored, const char *name, bool *found,
                           float *values);

#endif
