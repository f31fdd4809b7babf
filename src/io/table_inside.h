/* What a table is made of, for the files that make one. */
#ifndef KN_IO_TABLE_INSIDE_H
#define KN_IO_TABLE_INSIDE_H

#include "io/table.h"

enum { KN_TABLE_MAX_COLS = 1 << 20 };

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

typedef struct kn_table_text { /* to be made a table of */
    const char *name;          /* of the file */
    const char *bytes;
    ptrdiff_t n;
    char separator;
    bool bare; /* the first row is data already */
} kn_table_text;

/* Pieces of about so many bytes: large against a thread's start, small against a coffee. */
enum { KN_TABLE_PIECE = 1 << 20 };

/* The same as kn_table_parse, of pieces of another size than usual; for tests. 0: as one. */
kn_status kn_table_parse_by(kn_ctx *ctx, const kn_table_text *text, ptrdiff_t piece,
                            kn_table **out);

/* text, start, line, rows (without the first) and cols of t from a text without a byte order mark,
 * by pieces of whole rows on the context's threads. *done is false, with nothing set, where the
 * text has one piece only or anything that somebody should be told of: it is then for the one who
 * reads it from the start. */
kn_status kn_table_pieces(kn_ctx *ctx, const kn_table_text *text, ptrdiff_t piece, kn_table *t,
                          bool *done);

#endif
