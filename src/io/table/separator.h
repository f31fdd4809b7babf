/* Detects the field separator of a table whose separator differs from that of its extension. */
#ifndef KN_IO_TABLE_SEPARATOR_H
#define KN_IO_TABLE_SEPARATOR_H

#include <stddef.h>

/* The separator according to the first line of `text`: `usual`, unless that line has none of it and
 * exactly one of the others (comma, tab, semicolon). Quoted text is ignored. */
char kn_separator_of(const char *text, ptrdiff_t n, char usual);
/* "commas", "tabs" or "semicolons", for messages. */
const char *kn_separator_name(char separator);

#endif
