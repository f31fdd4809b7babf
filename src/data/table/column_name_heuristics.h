/* What columns of certain names are in most tables. */
#ifndef KN_DATA_TABLE_COLUMN_NAME_HEURISTICS_H
#define KN_DATA_TABLE_COLUMN_NAME_HEURISTICS_H

typedef enum kn_column_role {
    KN_COLUMN_ANY,
    KN_COLUMN_GROUP,   /* group, diagnosis, dx, dx_group, patient: who is healthy */
    KN_COLUMN_SESSION, /* session, visit, run, ...: which of several rows */
    KN_COLUMN_SITE, /* site, scanner, batch, centre, also with _id: a category, whatever it holds */
    KN_COLUMN_AGE   /* age..., ..._age: a number, however few there are */
} kn_column_role;

kn_column_role kn_column_role_of(const char *name); /* in any case, without the spaces around it */

#endif
