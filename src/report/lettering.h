/* Small letters in a picture of greys: the few that slices need. */
#ifndef KN_REPORT_LETTERING_H
#define KN_REPORT_LETTERING_H

#include <stddef.h>
#include <stdint.h>

enum { KN_LETTER_HEIGHT = 7, KN_LETTER_WIDTH = 6 }; /* width: the space behind it included */

/* text of digits, - . L R x y z and spaces, its upper left corner at column x of row y; what is
 * outside of the picture is left out. */
void kn_letter(uint8_t *grey, ptrdiff_t width, ptrdiff_t height, ptrdiff_t x, ptrdiff_t y,
               const char *text);

#endif
