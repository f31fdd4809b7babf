/* What a table is made of, for the files that make one. */
#ifndef KN_IO_TABLE_INTERNAL_H
#define KN_IO_TABLE_INTERNAL_H

#include "io/table/table.h"

struct kn_table {
    char *path;
    char *text;        /* every cell, each closed by a NUL */
    ptrdiff_t *start;  /* of each cell in `text`: header first, then row by row */
    ptrdiff_t *line;   /* of each row, the header's first */
    ptrdiff_t *sorted; /* named columns in order of their names */
    ptrdiff_t rows, cols, n_named;
    ptrdiff_t head; /* rows of header: 1, or 0 for a bare table */
    bool *category; /* of each column; NULL: the table is a file's */
};

kn_status kn_table_index_names(kn_ctx *ctx, kn_table *t);

#endif
