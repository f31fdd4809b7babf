/* Implements sidecar.h from the rows of src/columns.def. A sidecar is a JSON file beside a table,
 * in BIDS form, that describes its columns. */
#include "io/table/sidecar.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/path.h"
#include "stats/flag.h"

enum { PATH = 4096 };

typedef struct column_row {
    const char *file; /* begins a table; NULL: a column of the last table */
    const char *name, *units, *levels, *description;
} column_row;

static const column_row ROWS[] = {
#define KN_TABLE(file, commands, rows)              {file, NULL, NULL, NULL, NULL},
#define KN_COLUMN(name, units, levels, description) {NULL, name, units, levels, description},
#include "columns.def"
};
enum { N_ROWS = sizeof ROWS / sizeof *ROWS };

/* Returns the index into ROWS of the first column of a table in columns.def; N_ROWS if it is
 * unknown. */
static size_t find_table(const char *file)
{
    size_t k = 0;
    while (k < N_ROWS && !(ROWS[k].file && strcmp(ROWS[k].file, file) == 0))
        k++;
    return k < N_ROWS ? k + 1 : N_ROWS;
}

/* Returns the row of column `name` of the table that begins at `first`, else that of "*"; NULL if
 * there is neither. */
static const column_row *find_column(size_t first, const char *name)
{
    const column_row *other = NULL;
    for (size_t k = first; k < N_ROWS && !ROWS[k].file; k++) {
        if (strcmp(ROWS[k].name, name) == 0)
            return &ROWS[k];
        if (strcmp(ROWS[k].name, "*") == 0)
            other = &ROWS[k];
    }
    return other;
}

bool kn_sidecar_known(const char *file)
{
    return find_table(file) < N_ROWS;
}

kn_status kn_sidecar_path(kn_ctx *ctx, const char *table_path, char *out, size_t size)
{
    size_t stem = strlen(table_path) - strlen(".tsv");
    return snprintf(out, size, "%.*s.json", (int)stem, table_path) < (int)size
               ? KN_OK
               : kn_fail(ctx, KN_ERR_IO, "%s: the path is too long", table_path);
}

kn_status kn_sidecar_check(kn_ctx *ctx, const char *table_path, const kn_write_options *options)
{
    char path[PATH];
    kn_status status = kn_sidecar_path(ctx, table_path, path, sizeof path);
    return status == KN_OK ? kn_writer_check(ctx, path, options) : status;
}

/* Converts "0=no|1=yes", the levels of a column in src/columns.def, to a JSON object, owned by the
 * caller; NULL without memory. */
static json_t *levels_json(const char *levels)
{
    json_t *all = json_object();
    for (const char *l = levels; *l;) {
        size_t n = strcspn(l, "|"), key = strcspn(l, "=");
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)key, l);
        json_object_set_new(all, name, json_stringn(l + key + 1, n - key - 1));
        l += n + (l[n] == '|');
    }
    return all;
}

/* Returns the BIDS description of one column: Description, and Units and Levels if it has them. */
static json_t *column_json(const column_row *c)
{
    json_t *j = json_pack("{s:s}", "Description", c->description);
    if (c->units)
        json_object_set_new(j, "Units", json_string(c->units));
    if (c->levels)
        json_object_set_new(j, "Levels", levels_json(c->levels));
    return j;
}

/* Adds the description of a column to the JSON object `all`. A name that is not UTF-8 text, which
 * JSON cannot hold, is left out. KN_ERR_ARGUMENT if columns.def does not have the column. */
static kn_status add_column(kn_ctx *ctx, json_t *all, size_t first, const char *file,
                            const char *name)
{
    const column_row *c = find_column(first, name);
    if (!c)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: columns.def has no column '%s'", file, name);
    json_object_set_new(all, name, column_json(c));
    return KN_OK;
}

kn_status kn_sidecar_write(kn_ctx *ctx, const char *table_path, const char *file,
                           const char *const *names, ptrdiff_t n, const kn_write_options *options)
{
    kn_status status;
    char path[PATH], *text = NULL;
    const size_t first = find_table(file);
    json_t *all = json_object();
    if (first == N_ROWS) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "columns.def has no table '%s'", file);
        goto out;
    }
    KN_TRY(kn_sidecar_path(ctx, table_path, path, sizeof path));
    if (kn_path_ends(file, ".csv"))
        for (size_t k = first; k < N_ROWS && !ROWS[k].file; k++)
            KN_TRY(add_column(ctx, all, first, file, ROWS[k].name));
    else
        for (ptrdiff_t k = 0; k < n; k++)
            KN_TRY(add_column(ctx, all, first, file, names[k]));
    text = json_dumps(all, JSON_INDENT(2));
    status = text ? kn_write_text(ctx, path, text, options)
                  : kn_fail(ctx, KN_ERR_MEMORY, "out of memory for %s", path);
out:
    json_decref(all);
    free(text);
    return status;
}
