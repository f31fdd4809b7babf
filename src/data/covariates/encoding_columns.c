/* Chooses the columns of a table that are covariates (encoding.h), by --use or by default, and
 * logs the choice. By default every column counts except ids, responses and those that select
 * rows. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/covariates/encoding.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

/* Returns whether a column's name is one of the responses, which cannot be covariates. */
static bool is_response(const kn_encoding_options *o, const char *name)
{
    for (ptrdiff_t k = 0; k < o->n_responses; k++)
        if (kn_names_equal(o->responses[k], name))
            return true;
    return false;
}

/* Returns why a column cannot be a covariate, as a phrase for messages ("is the ID column"); NULL
 * if it can. */
static const char *reason_barred(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    if (col == o->id_col)
        return "is the ID column";
    if (is_response(o, kn_table_name(table, col)))
        return "is a response";
    if (o->group && kn_column_find(table, o->group) == col)
        return "is the column of {group}";
    if (o->label && kn_column_find(table, o->label) ==
                        col) /* with the label as a covariate nothing would be abnormal */
        return "is the column of {cases}";
    return NULL;
}

/* Returns whether {where} (`where`, may be NULL) has a condition NAME=..., which makes the column
 * `name` constant. */
static bool is_fixed_by_where(const char *where, const char *name)
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

/* Returns whether a site column stays a covariate although {where} fixes it to one level: it
 * explains nothing, but participants from other sites are recognised. So with codes and
 * {batch=auto}. */
static bool may_have_further(const kn_encoding_options *o, kn_column_role usual)
{
    return usual == KN_COLUMN_SITE && o->codes && o->batch && strcmp(o->batch, "auto") == 0;
}

/* Returns whether a column is no covariate unless {use} names it: diagnosis and visit, since a
 * model with them would explain the abnormality that it should find, and columns that {where} fixes
 * to one value. */
static bool is_excluded_by_default(const kn_table *table, const kn_encoding_options *o,
                                   ptrdiff_t col)
{
    kn_column_role usual = kn_column_role_of(kn_table_name(table, col));
    return usual == KN_COLUMN_GROUP || usual == KN_COLUMN_SESSION ||
           (o->session && kn_column_find(table, o->session) == col) ||
           (!may_have_further(o, usual) && is_fixed_by_where(o->where, kn_table_name(table, col)));
}

/* Returns whether the option {use} is exactly this word; NULL is none. */
static bool is_word(const char *use, const char *word)
{
    return use && strcmp(use, word) == 0;
}

bool kn_encoding_is_whole(const kn_table *table, const kn_encoding_options *o)
{
    return is_word(o->use, KN_USE_ALL) || (!o->use && kn_table_made(table));
}

/* Returns whether {use} is a list of columns or patterns, and not absent, "all" or "usual". */
static bool names_columns(const kn_encoding_options *o)
{
    return o->use && !is_word(o->use, KN_USE_ALL) && !is_word(o->use, KN_USE_USUAL);
}

/* Returns whether the list of an option (names between commas; NULL: none) has the name of column
 * `col` as an item, in any case. */
static bool is_listed(const kn_table *table, const char *list, ptrdiff_t col)
{
    const char *name = kn_table_name(table, col);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char item[KN_LEVEL_SIZE];
        size_t n = strcspn(at, ",");
        if (n >= sizeof item)
            continue;
        memcpy(item, at, n);
        item[n] = '\0';
        if (kn_names_equal_any_case(item, name))
            return true;
    }
    return false;
}

/* Returns whether a column is a covariate under {use=usual}: its name is that of a usual covariate,
 * or {batch}, {categorical} or {numeric} names it. */
static bool is_known(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    return kn_column_is_usual(kn_table_name(table, col)) || is_listed(table, o->batch, col) ||
           is_listed(table, o->categorical, col) || is_listed(table, o->numeric, col);
}

/* Returns whether a column is a covariate if {use} does not list columns. */
static bool by_default(const kn_table *table, const kn_encoding_options *o, ptrdiff_t col)
{
    return kn_table_named(table, col) && !reason_barred(table, o, col) &&
           !is_excluded_by_default(table, o, col) &&
           (kn_encoding_is_whole(table, o) || is_known(table, o, col));
}

/* Appends to names[*n ..] the columns that one name or pattern of {use} matches and that are not
 * there yet; *n grows. Patterns skip columns that cannot be covariates. KN_ERR_ARGUMENT if the name
 * is such a column, KN_ERR_DATA if nothing matches. */
static kn_status mark_columns(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o,
                              const char *name, const char **names, ptrdiff_t *n)
{
    ptrdiff_t col = kn_column_find(table, name), found = 0;
    const char *why = col < 0 ? NULL : reason_barred(table, o, col);
    if (why)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s: %s cannot be a covariate, because it %s; omit it from {use}",
                       kn_table_path(table), kn_clipped(name).text, why);
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++) {
        ptrdiff_t k = 0;
        if (col >= 0 ? j != col : !kn_column_matches(table, j, name) || reason_barred(table, o, j))
            continue;
        while (k < *n && names[k] != kn_table_name(table, j))
            k++;
        if (k == *n)
            names[(*n)++] = kn_table_name(table, j);
        found++;
    }
    if (found == 0 && o->beside && kn_column_find(o->beside, name) >= 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: no column '%s', named in {use}; %s has it, so copy the column by ID "
                       "to the table of the covariates",
                       kn_table_path(table), kn_clipped(name).text, kn_table_path(o->beside));
    return found > 0 ? KN_OK : kn_column_unknown(ctx, table, name, "named in {use}");
}

/* Fails with KN_ERR_ARGUMENT if the table also contains the responses, because then {use} must name
 * the covariates. */
static kn_status check_default(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o)
{
    if (o->one_file)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "%s contains both covariates and responses; name the covariates in {use}",
                       kn_table_path(table));
    return KN_OK;
}

/* Fails with KN_ERR_DATA because no column of the table is a covariate; the message lists columns
 * that {use} could name. */
static kn_status refuse_none(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++)
        if (kn_table_named(table, j) && !reason_barred(table, o, j))
            kn_listing_add(&list, kn_table_name(table, j));
    if (kn_encoding_is_whole(table, o) || names_columns(o) || list.n == 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no column left for a covariate",
                       kn_table_path(table));
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: no column has the name of a usual covariate, such as age, sex or site; "
                   "name the covariates in {use} (the columns are %s)",
                   kn_table_path(table), list.text);
}

kn_status kn_encoding_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o,
                            const char ***names, ptrdiff_t *n)
{
    kn_names use = {0};
    void *memory = NULL;
    kn_status status;
    bool named = names_columns(o);

    *names = NULL;
    *n = 0;
    KN_TRY(kn_names_split(ctx, "{use}", named ? o->use : NULL, &use));
    if (!named)
        KN_TRY(check_default(ctx, table, o));
    KN_TRY(kn_alloc(ctx, kn_table_cols(table), sizeof **names, &memory));
    const char **list = memory;
    for (ptrdiff_t k = 0; k < use.n; k++)
        KN_TRY(mark_columns(ctx, table, o, use.name[k], list, n));
    for (ptrdiff_t j = 0; !named && j < kn_table_cols(table); j++)
        if (by_default(table, o, j))
            list[(*n)++] = kn_table_name(table, j);
    if (*n == 0)
        status = refuse_none(ctx, table, o);
    else if (*n > KN_ENCODING_MAX)
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{use} names %td columns; at most %d can be used",
                         *n, KN_ENCODING_MAX);
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

/* Copies the list "a, b, c" to `out` (size bytes) as "a,b,c", the form in which {use} takes it. */
static void list_for_use(const kn_listing *list, char *out, size_t size)
{
    size_t n = 0;
    for (const char *at = list->text; *at && n + 1 < size; at++)
        if (*at != ' ' || at == list->text || at[-1] != ',')
            out[n++] = *at;
    out[n] = '\0';
}

void kn_encoding_log_names(kn_ctx *ctx, const kn_table *table, const kn_encoding_options *o)
{
    kn_listing used = {.limit = KN_NAMES_LISTED}, not_used = used;
    char use[sizeof used.text];
    bool unknown = false;
    if (names_columns(o))
        return;
    for (ptrdiff_t j = 0; j < kn_table_cols(table); j++) {
        if (!kn_table_named(table, j) || reason_barred(table, o, j))
            continue;
        bool is_used = by_default(table, o, j);
        unknown = unknown || !(is_used || is_excluded_by_default(table, o, j));
        kn_listing_add(is_used ? &used : &not_used, kn_table_name(table, j));
    }
    list_for_use(&used, use, sizeof use);
    if (unknown)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: the covariates are %s; not used: %s (to use them: {use=%s,...})",
               kn_table_path(table), used.text, not_used.text, use);
    else if (not_used.n > 0)
        kn_log(ctx, KN_LOG_INFO, "%s: not used as covariates unless {use} names them: %s",
               kn_table_path(table), not_used.text);
}

/* Writes "age (number)" or "sex (2 levels: F, M)" to out (size bytes), truncated if needed. */
static void describe_covariate(const kn_covariate *c, char *out, size_t size)
{
    kn_listing levels = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < c->levels.n; k++)
        kn_listing_add(&levels, c->levels.text[k]);
    if (c->kind == KN_COVARIATE_NUMERIC)
        snprintf(out, size, "%s (number)", kn_clipped(c->name).text);
    else
        snprintf(out, size, "%s (%s%td level%s: %s)", kn_clipped(c->name).text,
                 c->batch ? "batch, " : "", c->levels.n, c->levels.n == 1 ? "" : "s", levels.text);
}

void kn_encoding_log(kn_ctx *ctx, const kn_table *table, const kn_encoding *encoding)
{
    char line[1024] = "", item[sizeof(kn_listing) + sizeof(kn_clip) + 64];
    size_t used = 0;
    ptrdiff_t k = 0;
    for (; k < encoding->n; k++) {
        describe_covariate(&encoding->column[k], item, sizeof item);
        if (used + strlen(item) + 32 > sizeof line)
            break;
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", k > 0 ? ", " : "", item);
    }
    if (k < encoding->n)
        snprintf(line + used, sizeof line - used, " and %td more", encoding->n - k);
    kn_log(ctx, KN_LOG_INFO, "%s: covariates are %s", kn_table_path(table), line);
}
