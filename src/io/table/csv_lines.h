/* Feeds a table line by line to libcsv, which calls back for every field and row, and keeps track
 * of line numbers for messages. Used by io/table/parse.c. */
#ifndef KN_IO_TABLE_CSV_LINES_H
#define KN_IO_TABLE_CSV_LINES_H

#include <csv.h>
#include <stdbool.h>
#include <stddef.h>

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

#endif
