/* Options of the steps of kn_cv: those given to cv, and kinds of covariates that all folds share.
 * A fold must not decide by its own rows what a column is. */
#include <stdio.h>
#include <string.h>

#include "base/options/options.h"
#include "commands/common/check_arguments.h"
#include "commands/cv/internal.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "io/file/path.h"

bool kn_cv_given(const kn_options *o, const char *key)
{
    const kn_option_row *row;
    const char *value;
    for (int i = 0; kn_options_given(o, i, &row, &value); i++)
        if (strcmp(row->key, key) == 0)
            return true;
    return false;
}

/* Bit of a command in the option table. */
static unsigned bit_of(const char *command)
{
    unsigned bit = 1;
    for (int k = 0; k < KN_N_COMMANDS && strcmp(kn_option_commands[k], command) != 0; k++)
        bit <<= 1;
    return bit;
}

kn_status kn_cv_make_step_options(kn_ctx *ctx, const kn_options *from, const char *command,
                                  kn_options **out)
{
    kn_status status;
    const kn_option_row *row;
    const char *value;
    KN_TRY(kn_options_new(ctx, command, out));
    for (int i = 0; kn_options_given(from, i, &row, &value); i++)
        if (row->commands & bit_of(command) && strcmp(row->key, "cases") != 0 &&
            strcmp(row->key, "output") != 0)
            KN_TRY(kn_options_set(ctx, *out, row->key, value));
out:
    return status;
}

/* ---- kinds of covariates ---- */

bool kn_cv_is_batch(const kn_cv_work *w, const kn_covariate *c)
{
    const kn_table *t = w->data->covariates;
    return c->batch || (w->s.leave_out && w->all->encoding.codes &&
                        !kn_cv_given(w->given, "batch") && c->kind != KN_COVARIATE_NUMERIC &&
                        kn_column_find(t, c->name) == kn_column_find(t, w->s.leave_out));
}

/* True for a covariate that is a category with more than two values and no batch effect. */
static bool is_category(const kn_cv_work *w, const kn_covariate *c)
{
    return c->kind != KN_COVARIATE_NUMERIC && !c->two_valued && !kn_cv_is_batch(w, c);
}

/* True for a number that could look like a category in a subset: few values, or a name such as
 * site. */
static bool is_few_numbers(const kn_cv_work *w, const kn_covariate *c)
{
    (void)w;
    return c->kind == KN_COVARIATE_NUMERIC &&
           (c->values < KN_VALUES_COUNTED || kn_column_role_of(c->name) == KN_COLUMN_SITE);
}

/* Set option `key` of the fits to the names of the columns for which is_kind() holds, after the
 * list `given` (may be NULL). Names with a comma cannot be listed and are left to each fit. */
static kn_status fix_columns(kn_ctx *ctx, kn_cv_work *w, const char *key, const char *given,
                             bool (*is_kind)(const kn_cv_work *, const kn_covariate *))
{
    kn_status status;
    void *memory = NULL;
    const kn_encoding *r = &w->all->encoding;
    size_t size = given ? strlen(given) + 2 : 1, used = 0;
    ptrdiff_t n = 0;
    for (ptrdiff_t k = 0; k < r->n; k++)
        size += strlen(r->column[k].name) + 1;
    KN_TRY(kn_alloc(ctx, (ptrdiff_t)size, 1, &memory));
    char *list = memory;
    if (given)
        used = (size_t)snprintf(list, size, "%s", given);
    for (ptrdiff_t k = 0; k < r->n; k++) {
        const kn_covariate *c = &r->column[k];
        if (!is_kind(w, c) || strchr(c->name, ','))
            continue;
        used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "", c->name);
        n++;
    }
    if (n > 0)
        KN_TRY(kn_options_set(ctx, w->fit, key, list));
out:
    kn_free(memory);
    return status;
}

kn_status kn_cv_settle_kinds(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    KN_TRY(fix_columns(ctx, w, "categorical", NULL, is_category));
    KN_TRY(fix_columns(ctx, w, "numeric", w->s.numeric, is_few_numbers));
    if (w->all->encoding.codes)
        KN_TRY(fix_columns(ctx, w, "batch", NULL, kn_cv_is_batch));
out:
    return status;
}

/* ---- options of the steps ---- */

kn_status kn_cv_make_options(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status;
    char maps[64] = "z";
    static const char *const NAME[] = {"yhat", "ys2_model", "fdr", "ys2"};
    KN_TRY(kn_cv_make_step_options(ctx, w->given, "fit", &w->fit));
    KN_TRY(kn_cv_make_step_options(ctx, w->given, "score", &w->score));
    w->write = KN_MAP_Z;
    if (w->s.write)
        kn_list_bits(w->s.write, KN_MAP_WORDS, &w->write);
    for (size_t k = 0; k < sizeof NAME / sizeof *NAME; k++)
        if (w->write & (unsigned)KN_MAP_YHAT << k)
            snprintf(maps + strlen(maps), sizeof maps - strlen(maps), ",%s", NAME[k]);
    KN_TRY(kn_options_set(ctx, w->score, "write", maps));
    KN_TRY(kn_options_set(ctx, w->score, "unseen", "prior"));
out:
    return status;
}
