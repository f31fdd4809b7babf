/* Reads the tables in a .stats file of FreeSurfer's recon-all: "# ColHeaders" names the columns of
 * the rows, and "# Measure" lines have values of the whole hemisphere or brain. */
#ifndef KN_IO_FREESURFER_STATS_FILE_H
#define KN_IO_FREESURFER_STATS_FILE_H

#include "base/memory/alloc.h"

typedef struct kn_stats_item {
    const char *name;  /* StructName; or the short name of a measure, such as MeanThickness */
    const char *value; /* the number as it is written */
} kn_stats_item;

typedef struct kn_stats_file {
    ptrdiff_t n_regions, n_measures, region_room, measure_room;
    kn_stats_item *region, *measure;
    char *text; /* storage of all names and values */
} kn_stats_file;

/* Parses n bytes of text: the values of one column of each row, such as ThickAvg, and all measures.
 * KN_ERR_FORMAT, with path and line in the message, if there are no column names or rows, the
 * column does not exist, a row has too few fields, or a value is no number. */
kn_status kn_stats_parse(kn_ctx *ctx, const char *path, const char *bytes, ptrdiff_t n,
                         const char *column, kn_stats_file *out);
/* Reads a file of at most 4 MB. */
kn_status kn_stats_read(kn_ctx *ctx, const char *path, const char *column, kn_stats_file *out);
void kn_stats_clear(kn_stats_file *file); /* accepts {0} */

#endif
