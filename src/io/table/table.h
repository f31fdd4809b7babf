/* Tables with a header row: comma-separated (.csv) or tab-separated (.tsv), or as their header is.
 *
 * Cells stay the text they were, so that an 18-digit id is exact; what a text means is asked for
 * cell by cell. Quoted fields, CRLF, a byte order mark and blank lines are understood. */
#ifndef KN_IO_TABLE_TABLE_H
#define KN_IO_TABLE_TABLE_H

#include "base/matrix.h"
#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"
#include "io/table/number.h"

typedef struct kn_table kn_table;

kn_status kn_table_read(kn_ctx *ctx, const char *path, kn_table **out); /* by its extension */
kn_status kn_table_parse(kn_ctx *ctx, const char *name, char separator, const void *bytes,
                         ptrdiff_t n, kn_table **out);
/* The two halves of _read: the bytes of the file, which the caller frees, and the table that they
 * are. */
kn_status kn_table_bytes(kn_ctx *ctx, const char *path, void **bytes, ptrdiff_t *n);
kn_status kn_table_of_bytes(kn_ctx *ctx, const char *path, const void *bytes, ptrdiff_t n,
                            kn_table **out);
/* A file without a header: every row is data, and no column has a name. */
kn_status kn_table_read_bare(kn_ctx *ctx, const char *path, kn_table **out);
/* Of columns in memory, all `rows` long; a text that is NULL is an empty cell. `name` stands in
 * messages in the place of the file, rows in that of lines. Everything is copied. */
typedef struct kn_table_column {
    char *name;
    char **text;
    bool category; /* texts, whatever they look like */
} kn_table_column;

kn_status kn_table_make(kn_ctx *ctx, const char *name, const kn_table_column *column,
                        ptrdiff_t cols, ptrdiff_t rows, kn_table **out);
void kn_table_free(kn_table *table);

bool kn_table_is_name(const char *path); /* .csv or .tsv */

const char *kn_table_path(const kn_table *table); /* as given, for messages */
ptrdiff_t kn_table_rows(const kn_table *table);   /* without the header; at least 1 */
ptrdiff_t kn_table_cols(const kn_table *table);
const char *kn_table_name(const kn_table *table, ptrdiff_t col);
bool kn_table_named(const kn_table *table, ptrdiff_t col); /* false: the header cell is blank */
ptrdiff_t kn_table_find(const kn_table *table, const char *name); /* exact; -1 when absent */
const char *kn_table_cell(const kn_table *table, ptrdiff_t row, ptrdiff_t col);
kn_cell kn_table_number(const kn_table *table, ptrdiff_t row, ptrdiff_t col, double *out);

/* out(i, t) = the number in row rows[i] (NULL: i) and column cols[t] (NULL: t), NaN where there is
 * none. Returns the first cell, row by row, that is text: i out.cols + t; -1: none is, or the
 * context was cancelled. */
ptrdiff_t kn_table_numbers(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *rows,
                           const ptrdiff_t *cols, kn_mat out);

/* Line of the file, from 1, on which the row starts: quoted newlines and blank lines count. */
ptrdiff_t kn_table_line(const kn_table *table, ptrdiff_t row);

/* Of a table made in memory: its lines are rows, and the caller has said which columns are text. */
bool kn_table_made(const kn_table *table);
const char *kn_table_unit(const kn_table *table); /* "line" or "row" */
bool kn_table_category(const kn_table *table, ptrdiff_t col);

/* ---- writing: cells from left to right, rows from top to bottom ---------------------------- */

typedef struct kn_table_writer kn_table_writer;

kn_status kn_table_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                              kn_table_writer **out);
/* Tab-separated rows without a file: _take hands them over as one text (free with kn_free) in the
 * place of _commit. */
kn_status kn_table_writer_new_memory(kn_ctx *ctx, kn_table_writer **out);
kn_status kn_table_writer_take(kn_ctx *ctx, kn_table_writer *writer, char **text);
/* A row that such a writer made, without its newline. */
kn_status kn_table_writer_line(kn_ctx *ctx, kn_table_writer *writer, const char *line, size_t n);
kn_status kn_table_writer_text(kn_ctx *ctx, kn_table_writer *writer, const char *text);
kn_status kn_table_writer_number(kn_ctx *ctx, kn_table_writer *writer, double x); /* NaN: n/a */
kn_status kn_table_writer_short(kn_ctx *ctx, kn_table_writer *writer, double x);  /* ten digits */
kn_status kn_table_writer_end_row(kn_ctx *ctx, kn_table_writer *writer);
kn_status kn_table_writer_commit(kn_ctx *ctx, kn_table_writer *writer);
void kn_table_writer_free(kn_table_writer *writer); /* what was not committed leaves no file */

#endif
