/* What parts the fields of a table that is not parted as its extension says. */
#ifndef KN_IO_TABLE_SEPARATOR_H
#define KN_IO_TABLE_SEPARATOR_H

#include <stddef.h>

/* The separator of a table by its first line: `usual`, unless that line has none of it and exactly
 * one kind of the others (comma, tab, semicolon). Quoted text does not count. */
char kn_separator_of(const char *text, ptrdiff_t n, char usual);
const char *kn_separator_name(char separator); /* "commas" */

#endif
