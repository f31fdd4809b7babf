/* Definition of kn_table, shared by parse.c (files) and table.c (memory, access). */
#ifndef KN_IO_TABLE_INTERNAL_H
#define KN_IO_TABLE_INTERNAL_H

#include "io/table/table.h"

struct kn_table {
    char *path;
    char *text;        /* all cells, each NUL-terminated */
    ptrdiff_t *start;  /* (head + rows) x cols, row-major: offset of each cell in `text` */
    ptrdiff_t *line;   /* head + rows: line of the file */
    ptrdiff_t *sorted; /* n_named: named columns, sorted by name */
    ptrdiff_t rows, cols, n_named;
    ptrdiff_t head; /* header rows: 1, or 0 for a table without header */
    bool *category; /* cols: treat as text; NULL: the table was read from a file */
};

/* Sorts the column names for kn_table_find. KN_ERR_FORMAT if two columns have the same name. */
kn_status kn_table_index_names(kn_ctx *ctx, kn_table *t);

#endif
