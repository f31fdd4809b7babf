/* Names for the levels of categorical covariates, as the option `names` gives them:
 *
 *     sex:0=female,1=male,site:A=Leipzig
 *
 * COLUMN: starts the items of a covariate; each item is LEVEL=NAME. Names contain no comma. */
#ifndef KN_BASE_OPTIONS_CATEGORY_LEVEL_NAMES_H
#define KN_BASE_OPTIONS_CATEGORY_LEVEL_NAMES_H

#include <stdbool.h>

typedef struct kn_level_name { /* one item; texts are parts of the option's text, not terminated */
    const char *column, *level, *name;
    int column_length, level_length, name_length; /* bytes */
} kn_level_name;

/* Reads the item at *text and advances *text past it; `item` is {0} before the first call and keeps
 * the column. False at the end of the text, and where it is not of this form: then *text is not at
 * its end. O(length of the item). */
bool kn_level_name_next(const char **text, kn_level_name *item);

/* True if the item names this level of this covariate. */
bool kn_level_name_is(const kn_level_name *item, const char *column, const char *level);

#endif
