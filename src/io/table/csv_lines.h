/* Lines of a table through libcsv: who is told of fields and rows, and on which line they are. */
#ifndef KN_IO_TABLE_CSV_LINES_H
#define KN_IO_TABLE_CSV_LINES_H

#include <csv.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct kn_lines {
    struct csv_parser csv;
    void (*field)(void *bytes, size_t n, void *self); /* bytes NULL where n is 0 */
    void (*row)(int terminator, void *self);
    void *self;
    bool stop;                /* set by these two: the rest of the text is of no use */
    ptrdiff_t line, row_line; /* the last that was begun, from 1; where its row started */
} kn_lines;

/* The caller fills in field, row and self; the rest starts as zero. */
bool kn_lines_begin(kn_lines *l, char separator); /* false: out of memory */
void kn_lines_clear(kn_lines *l);

/* Whole lines, or the end of the text. False: libcsv refuses a byte of line l->line. */
bool kn_lines_feed(kn_lines *l, const char *text, ptrdiff_t n);
bool kn_lines_end(kn_lines *l); /* tells of what is still open */

bool kn_lines_in_quotes(const kn_lines *l); /* that are open */

/* One line: up to LF, CRLF or a lone CR. */
ptrdiff_t kn_line_length(const char *text, ptrdiff_t n);

#endif
