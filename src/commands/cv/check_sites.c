/* kn_cv_check_sites: checks before the fits that the model of each fold can predict its levels and
 * sites. A model of a single site does not know how far others differ [METHOD 8e]. */
#include <string.h>

#include "commands/cv/internal.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

typedef struct sites {
    const kn_cv_work *w;
    kn_strata of;  /* site per row of the holdout: combination of batch levels */
    ptrdiff_t *n;  /* of.n: training participants of each site in the current fold */
    bool *missing; /* rows of the holdout with a missing batch level */
} sites;

/* Makes the sites of the holdout from all batch columns; s->of.n = 0 without batch. */
static kn_status find_sites(kn_ctx *ctx, const kn_cv_work *w, sites *s)
{
    kn_status status;
    void *memory;
    const kn_table *t = w->data->covariates;
    const kn_encoding *r = &w->all->recipe;
    const kn_holdout *h = &w->holdout;
    ptrdiff_t *col = NULL, n = 0;
    KN_TRY(kn_alloc_i(ctx, r->n, &col));
    KN_TRY(kn_alloc(ctx, h->n, sizeof(bool), &memory));
    s->missing = memory;
    for (ptrdiff_t k = 0; r->codes && k < r->n; k++)
        if (kn_cv_is_batch(w, &r->column[k]))
            col[n++] = kn_column_find(t, r->column[k].name);
    if (n == 0)
        goto out;
    for (ptrdiff_t i = 0; i < h->n; i++)
        for (ptrdiff_t k = 0; k < n; k++)
            s->missing[i] =
                s->missing[i] || kn_text_is_missing(kn_table_cell(t, h->row[i], col[k]));
    KN_TRY(kn_strata_new(ctx, t, col, n, h->row, h->n, &s->of));
    KN_TRY(kn_alloc_i(ctx, s->of.n, &s->n));
out:
    kn_free(col);
    return status;
}

/* KN_ERR_DATA if the training sample of the fold has one site only and scored rows are at
 * others. */
static kn_status check_fold(kn_ctx *ctx, const sites *s, int fold)
{
    const kn_cv_work *w = s->w;
    const kn_holdout *h = &w->holdout;
    kn_listing who = {.most = KN_NAMES_LISTED};
    ptrdiff_t known = 0, only = 0, others = 0;
    char name[KN_ROW_NAME];
    kn_holdout_training(h, fold, w->abnormal, w->use);
    memset(s->n, 0, (size_t)s->of.n * sizeof *s->n);
    for (ptrdiff_t i = 0; i < h->n; i++)
        s->n[s->of.of[i]] += w->use[h->row[i]] && !s->missing[i];
    for (ptrdiff_t l = 0; l < s->of.n; l++)
        if (s->n[l] > 0) {
            known++;
            only = l;
        }
    for (ptrdiff_t i = 0; known == 1 && i < h->n; i++)
        if (h->fold[i] == fold && !s->missing[i] && s->of.of[i] != only) {
            kn_row_name(h->row[i], name);
            kn_listing_add(&who, w->id[i] ? w->id[i] : name);
            others++;
        }
    if (others == 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: %td %s of fold %d of %d %s of a site that nobody outside it has (%s), and "
                   "all others to learn from are of %s: one site does not say how far another "
                   "differs (leave them out with {where}, or the site with {use})",
                   kn_table_path(w->data->covariates), others, others == 1 ? "sample" : "samples",
                   fold + 1, h->folds, others == 1 ? "is" : "are", who.text,
                   kn_clipped(s->of.name[only]).text);
}

/* Checks a category of a model without additive kernel, which cannot predict levels that are not in
 * the training sample. */
static kn_status check_levels(kn_ctx *ctx, const kn_cv_work *w, const char *name)
{
    kn_status status;
    kn_strata of = {0};
    void *memory = NULL;
    const kn_holdout *h = &w->holdout;
    const kn_table *t = w->data->covariates;
    ptrdiff_t col = kn_column_find(t, name);
    KN_TRY(kn_strata_new(ctx, t, &col, 1, h->row, h->n, &of));
    KN_TRY(kn_alloc(ctx, of.n, sizeof(bool), &memory));
    bool *known = memory;
    for (int fold = 0; fold < h->folds; fold++) {
        kn_holdout_training(h, fold, w->abnormal, w->use);
        memset(known, 0, (size_t)of.n * sizeof *known);
        for (ptrdiff_t i = 0; i < h->n; i++)
            known[of.of[i]] = known[of.of[i]] || w->use[h->row[i]];
        for (ptrdiff_t i = 0; i < h->n; i++)
            if (h->fold[i] == fold && !known[of.of[i]]) {
                status = kn_fail(
                    ctx, KN_ERR_DATA,
                    "%s: nobody to learn from outside fold %d of %d has %s '%s', and only models "
                    "of the additive sum can read a level that training did not have (leave the "
                    "column out with {use})",
                    kn_table_path(t), fold + 1, h->folds, kn_clipped(name).text,
                    kn_clipped(of.name[of.of[i]]).text);
                goto out;
            }
    }
out:
    kn_free(memory);
    kn_strata_clear(&of);
    return status;
}

kn_status kn_cv_check_sites(kn_ctx *ctx, kn_cv_work *w)
{
    kn_status status = KN_OK;
    sites s = {.w = w};
    const kn_encoding *r = &w->all->recipe;
    for (ptrdiff_t k = 0; !r->codes && k < r->n; k++)
        if (r->column[k].kind != KN_COVARIATE_NUMERIC)
            KN_TRY(check_levels(ctx, w, r->column[k].name));
    KN_TRY(find_sites(ctx, w, &s));
    for (int k = 0; s.of.n > 1 && k < w->holdout.folds; k++)
        KN_TRY(check_fold(ctx, &s, k));
out:
    kn_strata_clear(&s.of);
    kn_free(s.n);
    kn_free(s.missing);
    return status;
}
