/* Names of the measures of FreeSurfer, and wide tables of them in the layout of aparcstats2table
 * and asegstats2table. */
#ifndef KN_IO_FREESURFER_MEASURES_H
#define KN_IO_FREESURFER_MEASURES_H

#include "base/memory/alloc.h"

typedef struct kn_stats_measure {
    const char *name;   /* as aparcstats2table and asegstats2table name it */
    const char *column; /* in .stats files and surfacestats.tsv */
    bool surface;       /* of a surface, else of a volume */
    const char *whole;  /* "# Measure" of the hemisphere; NULL: none */
} kn_stats_measure;

/* Returns the measure with this name; NULL: there is none. */
const kn_stats_measure *kn_stats_measure_find(const char *name, bool surface);
/* "area, volume, ...": those of surfaces, then the others; static. */
#define KN_STATS_MEASURES                                                                          \
    "area, volume, thickness, thicknessstd, meancurv, gauscurv, foldind, curvind; of aseg "        \
    "volume, "                                                                                     \
    "mean, std"

/* ---- a wide table that is filled cell by cell ---- */

typedef struct kn_wide {
    kn_arena texts;
    const char **row, **col; /* names; borrowed from texts */
    ptrdiff_t rows, cols, row_room, col_room;
    struct kn_wide_cell *cell; /* in the order of rows */
    ptrdiff_t cells, cell_room;
    ptrdiff_t next_col; /* where the next name is looked for first */
} kn_wide;

/* Begins a row; later cells belong to it. KN_ERR_DATA as kn_path_check_cell(). */
kn_status kn_wide_row(kn_ctx *ctx, kn_wide *wide, const char *id);
/* Adds a cell to the last row; a new column is appended. KN_ERR_DATA if
 * kn_path_check_cell() refuses the column or the value. */
kn_status kn_wide_cell_add(kn_ctx *ctx, kn_wide *wide, const char *column, const char *value);
/* True if the last row has a cell of this column. Cost: the number of its cells. */
bool kn_wide_has(const kn_wide *wide, const char *column);
/* *text = tab-separated text, NUL-terminated, with `corner` as the name of the first column; cells
 * that were not given are n/a. Owned. */
kn_status kn_wide_text(kn_ctx *ctx, const kn_wide *wide, const char *corner, char **text);
void kn_wide_clear(kn_wide *wide); /* accepts {0} */

#endif
