/* What only the files of this folder use: the struct behind kn_table, the lines of a CSV file and
 * fast conversion of numbers. Start with table.h. */
#ifndef KN_IO_TABLE_INTERNAL_H
#define KN_IO_TABLE_INTERNAL_H

#include <csv.h>
#include <stdbool.h>
#include <stddef.h>

#include "io/table/table.h"

/* ---- parse.c --------------------------------------------------------------------------------- */

struct kn_table {
    char *path;
    char *text;        /* all cells, each NUL-terminated */
    ptrdiff_t *start;  /* (head + rows) x cols, row-major: offset of each cell in `text` */
    ptrdiff_t *line;   /* head + rows: line of the file */
    ptrdiff_t *sorted; /* n_named: named columns, sorted by name */
    ptrdiff_t rows, cols, n_named;
    ptrdiff_t head;                /* header rows: 1, or 0 for a table without header */
    bool *category;                /* cols: treat as text; NULL: the table was read from a file */
    ptrdiff_t ids;                 /* 1 + the column that the format defines as IDs; 0: none */
    char measure[KN_MEASURE_SIZE]; /* of a FreeSurfer table; else "" */
    bool numbered;                 /* `line` are rows of no file */
    bool *aside;                   /* cols: no response by default; NULL: none is aside */
    struct kn_joined *joined;      /* NULL: the table is not joined */
};

/* Where the cells of a joined table come from. */
typedef struct kn_joined {
    int parts;
    char **path;          /* parts */
    ptrdiff_t *line;      /* rows x parts, row-major; 0: the part has no such row */
    int *part_of_col;     /* cols */
    ptrdiff_t n_repeated; /* columns that are kept once */
    char **repeated;
} kn_joined;
/* Frees what a joined table knows of its tables; NULL is allowed. */
void kn_joined_free(kn_joined *joined);

/* Sorts the column names for kn_table_find. KN_ERR_FORMAT if two columns have the same name. */
kn_status kn_table_index_names(kn_ctx *ctx, kn_table *t);

/* Detects the field separator of a table whose separator differs from that of its extension. */

/* The separator according to the first line of `text`: `usual`, unless that line has none of it and
 * exactly one of the others (comma, tab, semicolon). Quoted text is ignored. */
char kn_separator_of(const char *text, ptrdiff_t n, char usual);
/* "commas", "tabs" or "semicolons", for messages. */
const char *kn_separator_name(char separator);

/* ---- csv_lines.c ----------------------------------------------------------------------------- */

/* Feeds a table line by line to libcsv, which calls back for every field and row, and keeps track
 * of line numbers for messages. Used by io/table/parse.c. */

typedef struct kn_lines {
    struct csv_parser csv;
    void (*field)(void *bytes, size_t n, void *self); /* end of a field; bytes NULL if n is 0 */
    void (*row)(int terminator, void *self);          /* end of a row */
    void *self;                                       /* passed to both */
    bool stop;                /* a callback sets it to skip the rest of the text */
    ptrdiff_t line, row_line; /* current line, from 1; line on which the current row starts */
} kn_lines;

/* Starts the parser. The caller sets field, row and self; all else must be zero. False: out of
 * memory. */
bool kn_lines_begin(kn_lines *l, char separator);
/* Frees the parser. */
void kn_lines_clear(kn_lines *l);

/* Parses n characters: whole lines, or all up to the end of the text. False: syntax error or out of
 * memory in line l->line (csv_error says which). */
bool kn_lines_feed(kn_lines *l, const char *text, ptrdiff_t n);
/* Ends the text: calls back for a last field and row without a newline. False: error. */
bool kn_lines_end(kn_lines *l);

/* True if the text so far ends within a quoted field. */
bool kn_lines_in_quotes(const kn_lines *l);

/* Length of the first line including its end: LF, CRLF or a lone CR. */
ptrdiff_t kn_line_length(const char *text, ptrdiff_t n);

/* ---- number.c -------------------------------------------------------------------------------- */

/* Fast conversion of decimal text to the nearest double (ties to even) in integer arithmetic. Gives
 * the same result as strtod in the C locale, for the numbers that it accepts. */

/* White space that is allowed around a number. */
static inline bool kn_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Converts [sign] digits [. digits] [e [sign] digits], with spaces around it, up to the NUL. False,
 * with *out unset, for any other text, and for the few numbers that need strtod: digits beyond
 * 2^64 (leading zeros not counted), or a power of ten beyond 27 after removing the point. */
bool kn_fast_strtod(const char *text, double *out);

#endif
