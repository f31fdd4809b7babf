/* Reads and writes tables with a header row: .csv (commas) or .tsv (tabs). On reading, another
 * separator is accepted if the header line uses it.
 *
 * Cells are kept as text, so that an 18-digit id stays exact, and are converted on access. Quoted
 * fields, CRLF, a byte order mark and blank lines are supported, and what spreadsheet programs
 * write: a first line "sep=;", empty columns and rows at the end, and decimal commas where the
 * separator is another and no number has a decimal point. */
#ifndef KN_IO_TABLE_TABLE_H
#define KN_IO_TABLE_TABLE_H

#include "base/matrix.h"
#include "io/file/atomic_writer.h"
#include "io/file/byte_source.h"
#include "io/table/number.h"

typedef struct kn_table kn_table;

/* Reads a table. KN_ERR_FORMAT, with line and column in the message, for another extension, text
 * above 4 GiB, rows of different length, duplicate names, or no rows; KN_ERR_IO. Free with
 * kn_table_free, as all tables below. */
kn_status kn_table_read(kn_ctx *ctx, const char *path, kn_table **out);
/* Parses n bytes of text with the given separator; `name` is used as the path in messages. */
kn_status kn_table_parse(kn_ctx *ctx, const char *name, char separator, const void *bytes,
                         ptrdiff_t n, kn_table **out);
/* First half of kn_table_read: the n bytes of the file. Free with kn_free. */
kn_status kn_table_bytes(kn_ctx *ctx, const char *path, void **bytes, ptrdiff_t *n);
/* Second half of kn_table_read: parses these bytes; the separator follows from path and header. */
kn_status kn_table_of_bytes(kn_ctx *ctx, const char *path, const void *bytes, ptrdiff_t n,
                            kn_table **out);
/* Reads a table without header: every row is data, and columns have no names. */
kn_status kn_table_read_bare(kn_ctx *ctx, const char *path, kn_table **out);

/* Empties the cells that are one of n words, regardless of case and spaces around them; if a word
 * is a number, the cells that are this number. The header stays. */
void kn_table_blank(kn_table *table, const char *const *words, ptrdiff_t n);

typedef struct kn_table_column {
    char *name;
    char **text;   /* one per row; NULL: an empty cell */
    bool category; /* cells are categorical even if they look like numbers */
} kn_table_column;

/* Builds a table from `cols` columns of `rows` cells in memory; everything is copied. Messages use
 * `name` instead of a path, and row numbers instead of line numbers. */
kn_status kn_table_make(kn_ctx *ctx, const char *name, const kn_table_column *column,
                        ptrdiff_t cols, ptrdiff_t rows, kn_table **out);
/* Frees the table. NULL is allowed. */
void kn_table_free(kn_table *table);

/* True if `path` ends in .csv or .tsv. */
bool kn_table_is_name(const char *path);

/* ---- tables of FreeSurfer (freesurfer_table.c) ----------------------------------------------- */

/* aparcstats2table and asegstats2table write the measure into the name of the first column,
 * lh.aparc.thickness or Measure:volume, which has the IDs. Such a table is recognised by that name,
 * whatever the ending of the file (.txt, .dat, .csv). */

enum { KN_MEASURE_SIZE = 24 };

/* True if the first cell of n bytes of text is such a name and another cell follows. Sets the
 * separator (tab, comma, semicolon or space) and the measure. */
bool kn_freesurfer_header(const char *bytes, ptrdiff_t n, char *separator,
                          char measure[KN_MEASURE_SIZE]);
/* *is = the file exists and begins with such a header; false for a folder. Reads at most 4 KB. */
kn_status kn_freesurfer_file(kn_ctx *ctx, const char *path, bool *is);
/* The measure of such a table; "" for any other table. Borrowed. */
const char *kn_table_measure(const kn_table *table);
/* The column that the format defines as IDs: the first of a FreeSurfer or a joined table. -1: the
 * format defines none. */
ptrdiff_t kn_table_id_col(const kn_table *table);

/* Marks a column that is a response only if an option names it, such as eTIV among thicknesses. */
kn_status kn_table_set_aside(kn_ctx *ctx, kn_table *table, ptrdiff_t col);
bool kn_table_is_aside(const kn_table *table, ptrdiff_t col);
/* Makes messages name rows, from 1, instead of lines, for a table whose text is in no file. */
void kn_table_count_rows(kn_table *table);
/* Empties one cell. */
void kn_table_empty(kn_table *table, ptrdiff_t row, ptrdiff_t col);

/* ---- several tables as one (join.c) ---------------------------------------------------------- */

typedef struct kn_join_part { /* borrowed */
    const kn_table *table;
    const char *const *id; /* ID of each row, no two equal */
    ptrdiff_t id_col;
} kn_join_part;

/* Joins tables by ID: column 0 has the IDs, then come the other columns of each part. Rows are
 * those of the first part, then those that only later parts have; cells that a part does not have
 * are empty. A column that several parts have with the same values in common rows is kept once,
 * from the first. KN_ERR_DATA if such
 * values differ. `name` is the path in messages about the whole table. Owned as kn_table_read. */
kn_status kn_table_join(kn_ctx *ctx, const char *name, const kn_join_part *part, int n,
                        kn_table **out);
/* Names of the columns that the join kept once although several parts have them, in order; k from
 * 0, NULL behind the last. */
const char *kn_table_repeated(const kn_table *table, ptrdiff_t k);
/* Path of the first joined file that has no row for this row's ID; NULL: each has one. */
const char *kn_table_absent(const kn_table *table, ptrdiff_t row);
/* File and line of a cell, for messages. In a joined table they are those of its part. */
const char *kn_table_cell_path(const kn_table *table, ptrdiff_t row, ptrdiff_t col);
/* Returns the line of the file from which this cell was read; of a joined table, of the file that
 * its column is from. */
ptrdiff_t kn_table_cell_line(const kn_table *table, ptrdiff_t row, ptrdiff_t col);

/* Accessors. Rows and columns count from 0, without the header; strings are borrowed. */
const char *kn_table_path(const kn_table *table); /* as given, for messages */
ptrdiff_t kn_table_rows(const kn_table *table);   /* at least 1 if read from a file */
ptrdiff_t kn_table_cols(const kn_table *table);
const char *kn_table_name(const kn_table *table, ptrdiff_t col);  /* "" without header */
bool kn_table_named(const kn_table *table, ptrdiff_t col);        /* false: blank header cell */
ptrdiff_t kn_table_find(const kn_table *table, const char *name); /* exact match; -1: absent */
const char *kn_table_cell(const kn_table *table, ptrdiff_t row, ptrdiff_t col);
/* The cell as a number: kn_number_parse of its text. */
kn_cell kn_table_number(const kn_table *table, ptrdiff_t row, ptrdiff_t col, double *out);

/* out(i, t) = number in row rows[i] (NULL: i) and column cols[t] (NULL: t), NaN if it is none.
 * `out` has its shape set. Returns the position i out.cols + t of the first cell, in row-major
 * order, that is text; -1 if there is none or the context was cancelled. */
ptrdiff_t kn_table_numbers(kn_ctx *ctx, const kn_table *table, const ptrdiff_t *rows,
                           const ptrdiff_t *cols, kn_mat out);

/* Line of the file, from 1, on which the row starts (quoted newlines and blank lines count); row
 * number, from 1, of a table made in memory. */
ptrdiff_t kn_table_line(const kn_table *table, ptrdiff_t row);

/* True if the table was made in memory by kn_table_make. */
bool kn_table_made(const kn_table *table);
/* What kn_table_line counts, for messages: "row" for a table made in memory, else "line". */
const char *kn_table_unit(const kn_table *table);
/* kn_table_column.category of a table made in memory; false for a file. */
bool kn_table_category(const kn_table *table, ptrdiff_t col);

/* ---- writing: cells from left to right, rows from top to bottom ---------------------------- */

typedef struct kn_table_writer kn_table_writer;

/* Opens a .csv or .tsv file (else KN_ERR_ARGUMENT); options as in kn_writer_new. */
kn_status kn_table_writer_new(kn_ctx *ctx, const char *path, const kn_write_options *options,
                              kn_table_writer **out);
/* Opens a writer of tab-separated rows into memory. End it with kn_table_writer_take. */
kn_status kn_table_writer_new_memory(kn_ctx *ctx, kn_table_writer **out);
/* Moves the NUL-terminated text of a memory writer to the caller. Free with kn_free. */
kn_status kn_table_writer_take(kn_ctx *ctx, kn_table_writer *writer, char **text);
/* Appends a complete row that was formatted by another writer with the same separator: n
 * characters, without newline. */
kn_status kn_table_writer_line(kn_ctx *ctx, kn_table_writer *writer, const char *line, size_t n);
/* Appends a cell with this text, quoted if needed. */
kn_status kn_table_writer_text(kn_ctx *ctx, kn_table_writer *writer, const char *text);
/* Appends a cell with the number x in full precision; NaN is written as n/a. */
kn_status kn_table_writer_number(kn_ctx *ctx, kn_table_writer *writer, double x);
/* Appends a cell with the number x in ten digits; NaN is written as n/a. */
kn_status kn_table_writer_short(kn_ctx *ctx, kn_table_writer *writer, double x);
/* Ends the row with a newline. */
kn_status kn_table_writer_end_row(kn_ctx *ctx, kn_table_writer *writer);
/* Makes the commit write a JSON sidecar too (io/table/sidecar.h), with the options of this writer.
 * file: the table in src/columns.def. Call before the header row. */
kn_status kn_table_writer_describe(kn_ctx *ctx, kn_table_writer *writer, const char *file);
/* Renames the finished table, and its sidecar if kn_table_writer_describe was called, to their
 * paths. KN_ERR_IO if it fails; the old files then remain. */
kn_status kn_table_writer_commit(kn_ctx *ctx, kn_table_writer *writer);
/* Frees the writer; an uncommitted file is removed. NULL is allowed. */
void kn_table_writer_free(kn_table_writer *writer);

#endif
