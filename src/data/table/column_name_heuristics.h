/* Guesses the role of a column from its name. */
#ifndef KN_DATA_TABLE_COLUMN_NAME_HEURISTICS_H
#define KN_DATA_TABLE_COLUMN_NAME_HEURISTICS_H

typedef enum kn_column_role {
    KN_COLUMN_ANY,
    KN_COLUMN_GROUP,   /* group, diagnosis, dx, dx_group, patient: diagnosis */
    KN_COLUMN_SESSION, /* session, visit, run, ...: one of several rows */
    KN_COLUMN_SITE, /* site, scanner, batch, centre, also with _id: a category, even of numbers */
    KN_COLUMN_AGE   /* age..., ..._age: numeric, even with few values */
} kn_column_role;

kn_column_role kn_column_role_of(const char *name); /* ignores case and spaces around the name */

#endif
