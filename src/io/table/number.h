/* Numbers as text, the same under every locale of the host program. */
#ifndef KN_IO_TABLE_NUMBER_H
#define KN_IO_TABLE_NUMBER_H

#include <stdbool.h>

typedef enum kn_cell { /* what a piece of text is */
                       KN_CELL_NUMBER,
                       KN_CELL_MISSING, /* empty, n/a, NA or NaN, in any case */
                       KN_CELL_TEXT     /* neither; also inf, hexadecimal and 1e999 */
} kn_cell;

/* Spaces around are ignored. *out = the number, or NaN when there is none. */
kn_cell kn_number_parse(const char *text, double *out);
bool kn_text_is_missing(const char *text);

enum { KN_NUMBER_SIZE = 32 };

/* Shortest text that reads back as the same double; NaN is "n/a". */
void kn_number_text(double x, char out[KN_NUMBER_SIZE]);
/* To ten digits: what people read, without the tail of binary fractions. */
void kn_number_short(double x, char out[KN_NUMBER_SIZE]);

#endif
