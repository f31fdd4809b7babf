/* Conversion between text and double that does not depend on the locale of the host program.
 * Tables, options and reports use it. */
#ifndef KN_IO_TABLE_NUMBER_H
#define KN_IO_TABLE_NUMBER_H

#include <stdbool.h>

/* The kind of a table cell. */
typedef enum kn_cell {
    KN_CELL_NUMBER,  /* a finite decimal number */
    KN_CELL_MISSING, /* empty, n/a, NA, NaN, #N/A, NULL, in any case, or a dot */
    KN_CELL_TEXT     /* all else, including inf, hexadecimal and 1e999 */
} kn_cell;

/* Classifies `text`, ignoring surrounding spaces. *out = the number, or NaN if it is none. */
kn_cell kn_number_parse(const char *text, double *out);
/* True for KN_CELL_MISSING. */
bool kn_text_is_missing(const char *text);

enum { KN_NUMBER_SIZE = 32 };

/* Formats x with 15 to 17 digits, the fewest that read back as the same double; NaN is "n/a". */
void kn_number_text(double x, char out[KN_NUMBER_SIZE]);
/* Formats x with at most ten significant digits and a decimal point in every locale, for output
 * that users read; NaN is "n/a". */
void kn_number_short(double x, char out[KN_NUMBER_SIZE]);

#endif
