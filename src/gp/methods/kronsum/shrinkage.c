/* Choice of the shrinkage nu of C and S to the structured model, by held-out log density
 * [METHOD 1g]. The likelihood cannot choose it: it always prefers free covariances. Every candidate
 * is fitted in each of KN_SHRINKAGE_FOLDS folds. */
#include "gp/methods/kronsum/internal.h"

#include <math.h>

#include "gp/assign_folds.h"
#include "gp/cv/refit.h"
#include "gp/missing/completion.h"

const double kn_kronsum_nu[KN_KRONSUM_NUS] = {0, 100, 300, 1000, INFINITY};

kn_status kn_kronsum_read_responses(kn_ctx *ctx, const kn_responses *Y, const double *mu,
                                    kn_mat *out)
{
    kn_status status = kn_mat_new(ctx, Y->N, Y->T, out);
    if (status != KN_OK)
        return status;
    kn_responses_block(ctx, Y, 0, *out);
    for (ptrdiff_t j = 0; mu && j < Y->T; j++)
        for (ptrdiff_t i = 0; i < Y->N; i++)
            kn_col(*out, j)[i] -= mu[j];
    return KN_OK;
}

typedef struct judgement {
    double density[KN_KRONSUM_NUS]; /* sums over held-out participants */
    double unfinished;              /* searches ended by a limit */
} judgement;

/* Fits every candidate shrinkage to the training rows of fold `number` and sums the log
 * densities of its held-out maps, per candidate, in *out; also counts searches that a limit
 * ended. Missing cells of held-out rows keep the values imputed from all rows. */
static kn_status evaluate_fold(kn_ctx *ctx, const kn_fit_problem *p,
                               const kn_kronsum_problem *problem, const int *fold, int number,
                               judgement *out)
{
    kn_status status;
    kn_refit r = {.number = number};
    kn_mat Y = {0}, Ys = {0};
    kn_kronsum_fit f = {0};
    kn_kronsum_problem fold_problem = *problem;
    KN_TRY(kn_refit_open(
        ctx, &(kn_refit_all){fold, &p->Y, p->completion, p->X, kn_mat_none(), &p->groups}, &r));
    kn_responses test = kn_responses_rows(&p->Y, r.rows.test, r.rows.n_test);
    KN_TRY(kn_kronsum_read_responses(ctx, &r.Y, r.mu, &Y));
    KN_TRY(kn_kronsum_read_responses(ctx, &test, r.mu, &Ys));
    fold_problem.X = r.X;
    fold_problem.Y = Y;
    fold_problem.groups = &r.groups;
    fold_problem.P = kn_min_size(problem->P, (r.n - 1) / 2);
    KN_TRY(kn_kronsum_fit_new(ctx, &fold_problem, &f));
    for (int l = 0; l < KN_KRONSUM_NUS; l++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_kronsum_fit_learn(ctx, &f, kn_kronsum_nu[l]));
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_kronsum_fit_density(ctx, &f, r.Xs, Ys, &out->density[l]));
        out->density[l] *= (double)r.Xs.rows;
        out->unfinished +=
            f.learned.stop == KN_STOP_MAX_SECONDS || f.learned.stop == KN_STOP_MAX_EVALS;
    }
out:
    kn_kronsum_fit_clear(&f);
    kn_mat_clear(&Y);
    kn_mat_clear(&Ys);
    kn_refit_close(&r);
    return status;
}

/* Warns that the structured model was chosen: because limits ended searches of free covariances
 * (unfinished > 0), or because held-out maps do not support them. */
static void warn_nothing_chosen(kn_ctx *ctx, double unfinished)
{
    if (unfinished > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "{max_seconds} or {max_evals} ended the search for free covariances too early; the "
               "result is the structured model (give {shrinkage} a number to avoid the search)");
    else
        kn_log(ctx, KN_LOG_WARNING,
               "the data do not support a free covariance; the result is the structured model");
}

kn_status kn_kronsum_choose_nu(kn_ctx *ctx, const kn_fit_problem *p,
                               const kn_kronsum_problem *problem, double *nu)
{
    kn_status status;
    void *fold = NULL;
    int folds = KN_SHRINKAGE_FOLDS, best = KN_KRONSUM_NUS - 1;
    double sum[KN_KRONSUM_NUS] = {0}, unfinished = 0;
    /* seed + 1: not the folds of the reference */
    KN_TRY(kn_alloc(ctx, p->Y.N, sizeof(int), &fold));
    KN_TRY(kn_folds_assign(ctx, p->Y.N, p->options->groups, p->options->row_order,
                           p->options->search.seed + 1, &folds, fold));
    for (int k = 0; k < folds; k++) {
        judgement judged = {0};
        KN_TRY(evaluate_fold(ctx, p, problem, fold, k, &judged));
        unfinished += judged.unfinished;
        for (int l = 0; l < KN_KRONSUM_NUS; l++)
            sum[l] += judged.density[l] / (double)p->Y.N;
        kn_report_progress(ctx, "shrinkage", k + 1, folds, NAN);
    }
    for (int l = KN_KRONSUM_NUS - 1; l >= 0; l--) {
        best = sum[l] > sum[best] ? l : best;
        kn_log(ctx, KN_LOG_INFO, "shrinkage %g: mean log density of held-out maps %.2f",
               kn_kronsum_nu[l], sum[l]);
    }
    *nu = kn_kronsum_nu[best];
    if (isinf(*nu))
        warn_nothing_chosen(ctx, unfinished);
    else
        kn_log(ctx, KN_LOG_INFO, "shrinkage %g is used", *nu);
out:
    kn_free(fold);
    return status;
}

void kn_kronsum_choose_nu_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_problem_size fold_problem = *s;
    ptrdiff_t h = (s->N + KN_SHRINKAGE_FOLDS - 1) / KN_SHRINKAGE_FOLDS, n = s->N - h;
    kn_mem_usage mark = r->now;
    fold_problem.N = n;
    fold_problem.M = s->M < s->N ? kn_min_size(s->M, n) : n;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->T + s->F + 2);
    kn_kronsum_fit_need(r, &fold_problem);
    kn_plan_free_to(r, mark);
}
