/* Implements missing_report.h. Levels with few observed values are named. */
#include "commands/fit/missing_report.h"

#include <math.h>
#include <stdio.h>

enum { FEW_VALUES = 40, FEW_OF_A_LEVEL = 3, FEW_PARTICIPANTS = 60 };
static const double MAX_SHARE = 0.9, HALF = 0.5; /* shares of all cells */

/* Number of responses with fewer than FEW_VALUES values, or with fewer than FEW_OF_A_LEVEL values
 * in a level of a category that has more participants: that level's effect is hardly known. X: N x
 * F design. */
static ptrdiff_t thin_levels(kn_view Y, const kn_scaling *s, const kn_design *x, kn_mat X)
{
    enum { BLOCKS = 64 };
    kn_design_block block[BLOCKS];
    int n = kn_design_blocks(x, block, BLOCKS);
    ptrdiff_t thin = 0;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        bool found = s->n[j] < Y.rows && s->n[j] < FEW_VALUES;
        for (int b = 0; b < n && b < BLOCKS && !found && s->n[j] < Y.rows; b++)
            for (ptrdiff_t l = 0; block[b].kind == KN_DESIGN_CATEGORY && l < block[b].count; l++) {
                ptrdiff_t participants = 0, values = 0;
                for (ptrdiff_t i = 0; i < Y.rows; i++)
                    if (kn_at(X, i, block[b].first + l) == 1) {
                        participants++;
                        values += isfinite(kn_view_at(Y, i, s->kept[j])) != 0;
                    }
                found = found || (participants >= FEW_OF_A_LEVEL && values < FEW_OF_A_LEVEL);
            }
        thin += found;
    }
    return thin;
}

/* Proportion of missing responses of each participant (N), owned by the caller. *empty: first
 * participant without any value, -1: none. */
static kn_status participant_shares(kn_ctx *ctx, kn_view Y, const kn_scaling *s,
                                    double **proportion, ptrdiff_t *empty)
{
    kn_status status = kn_alloc_d(ctx, Y.rows, proportion);
    *empty = -1;
    for (ptrdiff_t i = 0; status == KN_OK && i < Y.rows; i++) {
        ptrdiff_t missing = 0;
        for (ptrdiff_t j = 0; j < s->n_kept; j++)
            missing += !isfinite(kn_view_at(Y, i, s->kept[j]));
        (*proportion)[i] = (double)missing / (double)s->n_kept;
        if (missing == s->n_kept && *empty < 0)
            *empty = i;
    }
    return status;
}

/* Warn if so many cells are missing that scores are uncertain. thin: number of responses with few
 * values. */
static void warn_of_missing(kn_ctx *ctx, const kn_missing_record *r, ptrdiff_t N, ptrdiff_t thin)
{
    if (r->proportion > HALF)
        kn_log(
            ctx, KN_LOG_WARNING,
            "%.0f%% of cells are missing, so much of the information on covariate effects is lost",
            100 * r->proportion);
    if (r->proportion >= HALF && N < FEW_PARTICIPANTS)
        kn_log(ctx, KN_LOG_WARNING,
               "%td participants with %.0f%% of cells missing are too few; z-scores will be too "
               "large (60 are needed)",
               N, 100 * r->proportion);
    if (thin > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%td %s fewer than 40 values, or fewer than 3 in a level, so z-scores there are "
               "unreliable",
               thin, thin == 1 ? "response has" : "responses have");
}

kn_status kn_missing_check(kn_ctx *ctx, kn_view Y, kn_mat X, kn_model *m)
{
    kn_status status = KN_OK;
    const kn_scaling *s = &m->y;
    kn_missing_record *out = &m->info.missing;
    double *proportion = NULL;
    ptrdiff_t empty;
    out->responses_out = s->n_few;
    if (!s->n)
        return KN_OK;
    for (ptrdiff_t j = 0; j < s->n_kept; j++) {
        out->cells += Y.rows - s->n[j];
        out->responses += s->n[j] < Y.rows;
    }
    out->proportion = (double)out->cells / ((double)Y.rows * (double)s->n_kept);
    if (out->proportion > MAX_SHARE) {
        status =
            kn_fail(ctx, KN_ERR_DATA,
                    "%.1f%% of the cells of %td %s are missing, but at most 90%% may be; exclude "
                    "responses with few values",
                    100 * out->proportion, s->n_kept, s->n_kept == 1 ? "response" : "responses");
        goto out;
    }
    KN_TRY(participant_shares(ctx, Y, s, &proportion, &empty));
    if (empty >= 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "participant %td has no response at all", empty + 1);
        goto out;
    }
    KN_TRY(kn_alloc_d(ctx, m->x.F, &m->missing_proportion));
    kn_missing_record_proportions(&m->x, X, proportion, m->missing_proportion);
    warn_of_missing(ctx, out, Y.rows, thin_levels(Y, s, &m->x, X));
out:
    kn_free(proportion);
    return status;
}

kn_status kn_missing_record_imputation(kn_ctx *ctx, const kn_completion *c, kn_mat X, kn_model *m)
{
    kn_status status;
    kn_impute_levels l = {0};
    void *memory;
    ptrdiff_t row = 0;
    m->info.missing.rounds = c->info.rounds;
    m->info.missing.components = c->info.P;
    m->info.missing.rms_change = c->info.rms_change;
    KN_TRY(kn_impute_levels_new(ctx, &c->filler.cov, c->filler.theta, X, &c->filler.Y, &l));
    if (!l.any)
        goto out;
    for (int k = 0; k < l.n; k++)
        m->n_levels += l.category[k].E.cols;
    KN_TRY(kn_alloc(ctx, m->n_levels * l.T, 1, &memory));
    m->empty_level = memory;
    for (int k = 0; k < l.n; k++)
        for (ptrdiff_t level = 0; level < l.category[k].E.cols; level++, row++)
            for (ptrdiff_t j = 0; j < l.T; j++)
                m->empty_level[row * l.T + j] =
                    l.category[k].empty[j * l.category[k].E.cols + level];
out:
    kn_impute_levels_clear(&l);
    return status;
}

void kn_missing_report_log(kn_ctx *ctx, const kn_model *m)
{
    const kn_missing_record *r = &m->info.missing;
    if (r->cells == 0)
        return;
    kn_missing_record_log(ctx, m);
    kn_log(ctx, KN_LOG_INFO,
           "%.1f%% of cells missing in %td of %td responses, imputed from the other responses (%d "
           "rounds, last change %.3f SD); %td responses with fewer than 10 values and %td "
           "participants without any left out",
           100 * r->proportion, r->responses, m->y.n_all, r->rounds, r->rms_change,
           r->responses_out, r->participants_out);
}
