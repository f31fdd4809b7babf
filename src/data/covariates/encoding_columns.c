/* Chooses the columns of a table that are covariates (encoding.h), by --use or by default, and
 * logs the choice. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/covariates/encoding.h"
#include "data/table/column_name_heuristics.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

static bool is_response(const kn_encoding_options *o, const char *name)
{
    for (ptrdiff_t k = 0; k < o->n_responses; k++)
        if (kn_names_equal(o->responses[k], name))
            return true;
    return false;
}

/* Returns why a column cannot be a covariate; NULL: it can. */
static const char *barred(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    if (col == o->id_col)
        return "is the id column";
    if (is_response(o, kn_table_name(table, col)))
        return "is a response";
    if (o->group && kn_column_find(table, o->group) == col)
        return "is the column of {group}";
    if (o->label && kn_column_find(table, o->label) ==
                        col) /* with the label as a covariate nothing would be abnormal */
        return "is the column of {label}";
    return NULL;
}

/* Returns whether --where fixes this column to one value, as in group=control. */
static bool held_by_where(const char *where, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = where; at && *at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        const char *rest = at + n;
        if (strncasecmp(at, name, n) == 0 && rest[strspn(rest, " ")] == '=')
            return true;
    }
    return false;
}

/* Returns whether a site column stays a covariate although --where fixes it: it explains nothing,
 * but participants from other sites are recognised. */
static bool may_have_further(const kn_encoding_options *o, kn_column_role usual)
{
    return usual == KN_COLUMN_SITE && o->codes && o->batch && strcmp(o->batch, "auto") == 0;
}

/* Returns whether a column is not a covariate by default: diagnosis and visit, since a model with
 * them would explain the abnormality it should find, and columns that --where fixes. */
static bool set_aside(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    kn_column_role usual = kn_column_role_of(kn_table_name(table, col));
    return usual == KN_COLUMN_GROUP || usual == KN_COLUMN_SESSION ||
           (o->session && kn_column_find(table, o->session) == col) ||
           (!may_have_further(o, usual) && held_by_where(o->where, kn_table_name(table, col)));
}

static bool by_default(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    return kn_table_named(table, col) && !barred(table, o, col) && !set_aside(table, o, col);
}

/* Marks the columns of one name or pattern of --use. Patterns skip columns that cannot be
 * covariates. */
static kn_status mark(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o,
                      const char *name, const char **names, ptrdiff_t *n)
{
    ptrdiff_t col = kn_column_find(table, name), found = 0;
    const char *why = col < 0 ? NULL : barred(table, o, col);
    if (why)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "%s: {use=%s}: it %s and cannot be a covariate",
                       kn_table_path(table), kn_clipped(name).text, why);
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++) {
        ptrdiff_t k = 0;
        if (col >= 0 ? j != col : !kn_column_matches(table, j, name) || barred(table, o, j))
            continue;
        while (k < *n && names[k] != kn_table_name(table, j))
            k++;
        if (k == *n)
            names[(*n)++] = kn_table_name(table, j);
        found++;
    }
    return found > 0 ? KN_OK : kn_column_unknown(ctx, table, name, "as {use} asks for");
}

static kn_status check_default(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o)
{
    ptrdiff_t named = 0;
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
        named += kn_table_named(table, j);
    if (o->one_file)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: covariates and responses are one file, name the covariates with {use}",
                       kn_table_path(table));
    if (named > KN_COLUMNS_UNCHOSEN && !kn_table_made(table))
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: %td columns, more than the %d that are covariates by default, name the "
                       "covariates with {use}",
                       kn_table_path(table), named, KN_COLUMNS_UNCHOSEN);
    return KN_OK;
}

kn_status kn_encoding_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o,
                            const char ***names, ptrdiff_t *n)
{
    kn_names use = {0};
    void *memory = NULL;
    kn_status status;

    *names = NULL;
    *n = 0;
    KN_TRY(kn_names_split(ctx, "{use}", o->use, &use));
    if (!o->use)
        KN_TRY(check_default(ctx, table, o));
    KN_TRY(kn_alloc(ctx, kn_table_cols(table), sizeof **names, &memory));
    const char **list = memory;
    for (ptrdiff_t k = 0; k < use.n; k++)
        KN_TRY(mark(ctx, table, o, use.name[k], list, n));
    for (ptrdiff_t j = 0; !o->use && j < kn_table_cols(table); j++)
        if (by_default(table, o, j))
            list[(*n)++] = kn_table_name(table, j);
    if (*n == 0)
        status = kn_fail(ctx, KN_ERR_DATA, "%s: no column is left to be a covariate",
                         kn_table_path(table));
    else if (*n > KN_ENCODING_MOST)
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{use} names %td columns, at most %d can be used",
                         *n, KN_ENCODING_MOST);
out:
    kn_names_clear(&use);
    if (status == KN_OK) {
        *names = memory;
    } else {
        kn_free(memory);
        *n = 0;
    }
    return status;
}

void kn_encoding_tell_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o)
{
    kn_listing list = {.most = KN_NAMES_LISTED};
    for (ptrdiff_t j = 0; !o->use && j < kn_table_cols(table); j++)
        if (kn_table_named(table, j) && !barred(table, o, j) && set_aside(table, o, j))
            kn_listing_add(&list, kn_table_name(table, j));
    if (list.n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: not a covariate unless {use} names it: %s",
               kn_table_path(table), list.text);
}

static void describe(const kn_covariate *c, char *out, size_t size)
{
    kn_listing levels = {.most = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        kn_listing_add(&levels, c->levels.text[k]);
    if (c->kind == KN_COVARIATE_NUMERIC)
        snprintf(out, size, "%s (number)", kn_clipped(c->name).text);
    else
        snprintf(out, size, "%s (%s%td level%s: %s)", kn_clipped(c->name).text,
                 c->batch ? "batch, " : "", c->levels.n, c->levels.n == 1 ? "" : "s", levels.text);
}

void kn_encoding_log(kn_ctx *ctx, const kn_table *table, const kn_encoding *recipe)
{
    char line[1024] = "", item[sizeof(kn_listing) + sizeof(kn_clip) + 64];
    size_t used = 0;
    ptrdiff_t k = 0;
    for (; k < recipe->n; k++) {
        describe(&recipe->column[k], item, sizeof item);
        if (used + strlen(item) + 32 > sizeof line)
            break;
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", k > 0 ? ", " : "", item);
    }
    if (k < recipe->n)
        snprintf(line + used, sizeof line - used, " and %td more", recipe->n - k);
    kn_log(ctx, KN_LOG_INFO, "%s: covariates are %s", kn_table_path(table), line);
}
