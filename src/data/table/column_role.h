/* The role of a column, guessed from its name: what it may be in a model without an option.
 *
 * A name is a sequence of words. Words are separated by characters that are neither letters nor
 * digits, by digits, and by a capital letter after a small one: site_id, Site-2, acquisitionSite
 * and SITE have the word site; website and opposite do not. */
#ifndef KN_DATA_TABLE_COLUMN_ROLE_H
#define KN_DATA_TABLE_COLUMN_ROLE_H

#include <stdbool.h>

typedef enum kn_column_role {
    KN_COLUMN_ANY,
    KN_COLUMN_GROUP,   /* group, diagnosis, dx, dx_group, patient: diagnosis */
    KN_COLUMN_SESSION, /* session, visit, run, ...: one of several rows */
    KN_COLUMN_SITE,    /* has the word site, scanner, center, centre or batch: a category, even of
                          numbers */
    KN_COLUMN_AGE,     /* age..., ..._age: numeric, even with few values */
    KN_COLUMN_SEX,     /* has the word sex or gender: a category, even of numbers */
    KN_COLUMN_MEASURE  /* a usual covariate: ICV, eTIV, TIV, BMI, education, IQ, Euler number,
                          framewise displacement, handedness */
} kn_column_role;

/* Returns the role of a column, guessed from its name without regard to case and surrounding
 * spaces; KN_COLUMN_ANY if the name says nothing. */
kn_column_role kn_column_role_of(const char *name);

/* Returns whether a column with this name is a covariate without being named: site, age, sex or a
 * usual measure. */
bool kn_column_is_usual(const char *name);

#endif
