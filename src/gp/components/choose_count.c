/* Implements choose_count.h: folds, the choice on the loss curve (loss_curve.c) with its standard
 * errors, and the record of the likelihoods [METHOD 2, components auto]. Hyperparameters are those
 * of the pilot search. */
#include "gp/components/choose_count.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "gp/assign_folds.h"
#include "gp/components/internal.h"
#include "gp/components/pilot.h"
#include "gp/missing/completion.h"

/* Candidates up to the first are tried first, further ones only if the loss still falls. */
static const int CURVE_PARTS[] = {50, 100, INT_MAX};
enum { PARTS = sizeof CURVE_PARTS / sizeof *CURVE_PARTS };
static const double LN_2PI = 1.8378770664093455;

/* Fills rows and training coordinates (at most P components) of the fold structs f[0 ..
 * folds-1]: from the Gram matrix p->gram, or, if the problem has a single held-out set, from its
 * basis. fold (N): number of each participant's fold. Collective. */
static kn_status make_folds(kn_ctx *ctx, const kn_fit_problem *p, const int *fold, int folds,
                            ptrdiff_t P, kn_curve_fold *f)
{
    kn_status status = KN_OK;
    kn_fold *each[KN_CURVE_FOLDS];
    for (int k = 0; k < folds; k++) {
        each[k] = &f[k].rows;
        KN_TRY(kn_fold_rows(ctx, p->X.rows, fold, k, each[k]));
    }
    if (!p->held_out.mean) {
        KN_TRY(kn_folds_pca(ctx, &p->Y, &p->gram, P, each, folds));
        goto out;
    }
    f->held_out = &p->held_out;
    ptrdiff_t K = f->held_out->basis.Z.cols;
    KN_TRY(kn_mat_copy(ctx, kn_cols(f->held_out->basis.Z, 0, P < K ? P : K), &f->rows.Z_train));
out:
    return status;
}

/* Computes the mean of x - y (n values each; y may be NULL: 0) and its standard error. Rows of
 * one group are not independent, groups are: with S_g the sum of deviations within group g, se^2
 * = G/(G - 1) sum_g S_g^2 / n^2, which is the usual one if every row is its own group ({0}). */
static void compute_mean_and_error(const double *x, const double *y, ptrdiff_t n,
                                   const kn_groups *groups, double *mean, double *se)
{
    double m = 0, s = 0;
    ptrdiff_t G = groups->n > 0 ? groups->n : n;
    for (ptrdiff_t i = 0; i < n; i++)
        m += (x[i] - (y ? y[i] : 0)) / (double)n;
    for (ptrdiff_t g = 0; g < G; g++) {
        double sum = 0;
        for (ptrdiff_t k = groups->n > 0 ? groups->start[g] : g,
                       end = groups->n > 0 ? groups->start[g + 1] : g + 1;
             k < end; k++) {
            ptrdiff_t i = groups->n > 0 ? groups->row[k] : k;
            sum += x[i] - (y ? y[i] : 0) - m;
        }
        s += sum * sum;
    }
    *mean = m;
    *se = G > 1 ? sqrt(s * (double)G / (double)(G - 1)) / (double)n : 0;
}

/* Returns the index of the smallest mean loss on the loss curve in info. */
static int find_best_step(const kn_fit_info *info)
{
    int best = 0;
    for (int l = 1; l < info->n_curve; l++)
        if (info->curve[l].msll < info->curve[best].msll)
            best = l;
    return best;
}

/* Chooses a number of components from score (held-out rows x steps), the standardised loss of
 * each row with kn_ladder[l] components: returns the index l of the smallest number whose mean
 * loss exceeds the best by at most 0.001 of its absolute value; with iso noise, by at most 0.01
 * of it or one standard error of the difference. -1: no number predicts better than none (with
 * iso noise 0, since it has no model without components). Fills msll and se of the curve and
 * nothing_predicted in info. */
static int choose_candidate(kn_mat score, const kn_groups *groups, int steps, bool iso,
                            kn_fit_info *info)
{
    /* One-sided 5 % limit in standard errors. With one standard error a fifth of pure noise passes
     * if responses are few (bench/MEASURED.md). */
    static const double ONE_SIDED = 1.645;
    static const double ROUNDING = 1e-9; /* without signal all scores are 0 up to this */
    static const double AS_GOOD = 0.001, AS_GOOD_ISO = 0.01; /* of the best score */
    for (int l = 0; l < steps; l++)
        compute_mean_and_error(kn_col(score, l), NULL, score.rows, groups, &info->curve[l].msll,
                               &info->curve[l].se);
    int best = find_best_step(info);
    /* Pure noise gives a score slightly below zero about as often as above. */
    double lowest = iso ? 1 : ONE_SIDED;
    info->nothing_predicted = info->curve[best].msll + lowest * info->curve[best].se >= -ROUNDING;
    if (info->nothing_predicted)
        return iso ? 0 : -1;
    for (int l = 0; l < best; l++) {
        double mean, se, top = fabs(info->curve[best].msll);
        compute_mean_and_error(kn_col(score, l), kn_col(score, best), score.rows, groups, &mean,
                               &se);
        if (mean <= (iso ? fmax(se, AS_GOOD_ISO * top) : AS_GOOD * top))
            return l;
    }
    return best;
}

/* Records in info->curve the LML of each candidate number of components, all at the same R0
 * (covariance between participants) with parameters r0, for coordinates Z (n x P). total: energy
 * |Y|^2, of which all but |Z|^2 lies outside the basis. */
static kn_status evaluate_candidates(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                                     kn_mat Z, double total, kn_fit_info *info)
{
    kn_status status;
    kn_engine e = {0};
    kn_groups groups = {0};
    kn_engine_data data = {
        .X = p->X, .Z = Z, .groups = &groups, .T = p->Y.T, .total = 1, .core = p->core};
    double lml, N = (double)p->X.rows;
    KN_TRY(kn_groups_subset(ctx, &p->groups, NULL, p->X.rows, &groups));
    KN_TRY(kn_engine_new(ctx, &p->spec, &data, &e));
    KN_TRY(kn_engine_at(ctx, &e, r0, &lml));
    double sum = 0, E = total;
    for (int l = 0, k = 0; l < info->n_curve; l++) {
        for (; k < kn_ladder[l]; k++) {
            sum += e.lml[k];
            E -= kn_sumsq(kn_cols(Z, k, 1));
        }
        double outside = N * (double)(p->Y.T - k);
        info->curve[l].lml = sum;
        if (outside > 0 && E > 1e-10 * total)
            info->curve[l].lml -= 0.5 * outside * (LN_2PI + log(E / outside) + 1);
    }
    if (p->core)
        kn_engine_donate(&e, p->core);
out:
    kn_groups_clear(&groups);
    kn_engine_clear(&e);
    return status;
}

/* Records in info->curve the LML of each candidate number of components at the R0 with
 * parameters r0: for all participants, or for the training rows if the problem has a single
 * held-out set. */
static kn_status record_likelihoods(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                                    kn_fit_info *info)
{
    kn_status status;
    kn_fit_problem part = *p;
    kn_mat Z = {0}, Xt = {0};
    kn_groups train = {0};
    const kn_heldout *held_out = &p->held_out;
    ptrdiff_t P = kn_ladder[info->n_curve - 1];
    double total = 0;
    if (held_out->mean) {
        KN_TRY(kn_mat_new(ctx, held_out->rows.n_train, p->X.cols, &Xt));
        kn_mat_rows(p->X, held_out->rows.train, Xt);
        KN_TRY(kn_groups_subset(ctx, &p->groups, held_out->rows.train, held_out->rows.n_train,
                                &train));
        part.X = Xt;
        part.groups = train;
        part.core = NULL;
        KN_TRY(evaluate_candidates(ctx, &part, r0, kn_cols(held_out->basis.Z, 0, P),
                                   held_out->basis.total, info));
    } else {
        KN_TRY(kn_gram_coordinates(ctx, &p->Y, &p->gram, P, &Z));
        for (ptrdiff_t i = 0; i < p->gram.G.rows; i++)
            total += p->gram.s2[i];
        KN_TRY(evaluate_candidates(ctx, p, r0, Z, total, info));
    }
out:
    kn_groups_clear(&train);
    kn_mat_clear(&Xt);
    kn_mat_clear(&Z);
    return status;
}

/* Returns how many candidate numbers of components (kn_ladder) are at most min((N - 1)/2, T,
 * rank). */
static int count_ladder_steps(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank)
{
    ptrdiff_t limit = kn_min_size(kn_min_size((N - 1) / 2, T), rank);
    int steps = 0;
    while (steps < KN_MAX_CURVE && kn_ladder[steps] <= limit)
        steps++;
    return steps;
}

ptrdiff_t kn_components_max(ptrdiff_t N, ptrdiff_t T, ptrdiff_t rank)
{
    int steps = count_ladder_steps(N, T, rank);
    return kn_ladder[steps > 0 ? steps - 1 : 0];
}

/* Returns the number of candidates that this problem allows (count_ladder_steps) and writes
 * their numbers of components to info->curve. */
static int list_candidates(const kn_fit_problem *p, kn_fit_info *info)
{
    ptrdiff_t rank = p->held_out.mean ? p->held_out.basis.Z.cols : p->gram.rank;
    int steps = count_ladder_steps(p->X.rows, p->Y.T, rank);
    for (int l = 0; l < steps; l++)
        info->curve[l].components = kn_ladder[l];
    return steps;
}

/* Sets fold (N): the fold of each participant, or 0 for held out and -1 for training if the
 * problem has a single held-out set; *folds may become smaller. The folds differ from those of
 * the reference sample, because the seed is another one. */
static kn_status assign_folds(kn_ctx *ctx, const kn_fit_problem *p, int *folds, int *fold)
{
    const kn_gp_options *o = p->options;
    const kn_fold *held_out = &p->held_out.rows;
    if (!p->held_out.mean)
        return kn_folds_assign(ctx, p->X.rows, o->groups, o->row_order, o->search.seed + 1, folds,
                               fold);
    for (ptrdiff_t i = 0; i < p->X.rows; i++)
        fold[i] = -1;
    for (ptrdiff_t i = 0; i < held_out->n_test; i++)
        fold[held_out->test[i]] = 0;
    return KN_OK;
}

/* Builds in *out the groups (repeated measures) of the rows of the score matrix, which has the
 * participants of fold 0 first, then those of fold 1, and so on. {0}, every row its own group,
 * without groups or with iso noise. The caller clears *out. */
static kn_status make_score_groups(kn_ctx *ctx, const kn_fit_problem *p, bool iso, int folds,
                                   const int *fold, kn_groups *out)
{
    kn_status status;
    const int *group = p->options->groups;
    void *memory = NULL;
    ptrdiff_t n = 0;
    *out = (kn_groups){0};
    if (!group || iso)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, p->X.rows, sizeof(int), &memory));
    int *code = memory;
    for (int k = 0; k < folds; k++)
        for (ptrdiff_t i = 0; i < p->X.rows; i++)
            if (fold[i] == k)
                code[n++] = group[i];
    KN_TRY(kn_groups_new(ctx, n, code, out));
out:
    kn_free(memory);
    return status;
}

/* Fills `all` (N x steps), the standardised loss of each held-out row with kn_ladder[l]
 * components, if cells are missing: each fold imputes its training rows from themselves and is
 * scored by itself. Rows are in the order of folds. r0: parameters of R0. Collective. */
static kn_status score_imputed_folds(kn_ctx *ctx, const kn_fit_problem *p, const double *r0,
                                     const int *fold, int folds, int steps, kn_mat all)
{
    kn_status status = KN_OK;
    double *imputed = NULL;
    kn_curve c = {0};
    for (int k = 0, at = 0; k < folds; k++, at += (int)c.rows) {
        kn_curve_fold *f = &c.fit[0];
        kn_responses Y;
        kn_curve_clear(&c);
        c = (kn_curve){.Y = &Y, .steps = steps, .folds = 1, .missing = true};
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_fold_rows(ctx, p->X.rows, fold, k, &f->rows));
        KN_TRY(
            kn_completion_fold(ctx, p->completion, f->rows.train, f->rows.n_train, &imputed, &Y));
        kn_responses train = kn_responses_rows(&Y, f->rows.train, f->rows.n_train);
        KN_TRY(kn_fold_completed(ctx, &train, kn_ladder[steps - 1], &f->rows));
        KN_TRY(kn_curve_fold_fit(ctx, p, r0, f));
        c.rows = f->rows.n_test;
        KN_TRY(kn_curve_score(ctx, &Y, &c));
        kn_mat_set(kn_sub(all, at, 0, c.rows, steps), kn_cols(c.score, 0, steps));
        kn_free(imputed);
        imputed = NULL;
    }
out:
    kn_free(imputed);
    kn_curve_clear(&c);
    return status;
}

/* Computes the loss curve of the first `steps` candidates at the R0 (covariance between
 * participants) with parameters r0, by folds or the single held-out set, into info->curve, and
 * sets *step to the index of the chosen candidate, -1 for none. Collective. */
static kn_status try_steps(kn_ctx *ctx, const kn_fit_problem *p, const double *r0, bool iso,
                           int steps, kn_fit_info *info, int *step)
{
    kn_status status = KN_OK;
    kn_responses given = kn_responses_as_given(&p->Y);
    kn_curve c = {.Y = &given,
                  .steps = steps,
                  .folds = p->held_out.mean ? KN_HELD_OUT_ONCE : KN_CURVE_FOLDS,
                  .missing = p->completion != NULL};
    void *fold = NULL;
    kn_groups groups = {0};
    KN_TRY(kn_alloc(ctx, p->X.rows, sizeof(int), &fold));
    KN_TRY(assign_folds(ctx, p, &c.folds, fold));
    KN_TRY(make_score_groups(ctx, p, iso, c.folds, fold, &groups));
    info->n_curve = steps;
    if (p->completion && !p->held_out.mean) {
        KN_TRY(kn_mat_new(ctx, p->X.rows, steps, &c.score));
        KN_TRY(score_imputed_folds(ctx, p, r0, fold, c.folds, steps, c.score));
        *step = choose_candidate(c.score, &groups, steps, iso, info);
        goto out;
    }
    KN_TRY(make_folds(ctx, p, fold, c.folds, kn_ladder[steps - 1], c.fit));
    for (int k = 0; k < c.folds; k++) {
        KN_TRY(kn_check_cancel(ctx));
        KN_TRY(kn_curve_fold_fit(ctx, p, r0, &c.fit[k]));
        c.fit[k].at = c.rows;
        c.rows += c.fit[k].rows.n_test;
    }
    KN_TRY(kn_curve_score(ctx, &given, &c));
    *step = choose_candidate(c.score, &groups, steps, iso, info);
out:
    kn_groups_clear(&groups);
    kn_curve_clear(&c);
    kn_free(fold);
    return status;
}

kn_status kn_choose_components(kn_ctx *ctx, const kn_fit_problem *problem, const kn_cov_point *at,
                               kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status;
    kn_fit_problem p = *problem; /* components are independent only under structured noise */
    int all = list_candidates(&p, info), step = 0, tried = 0;
    double r0[KN_COV_THETA];
    p.spec.noise = KN_NOISE_STRUCTURED;
    p.spec.sample = kn_cov_between(&problem->spec.sample);
    kn_cov_theta(&p.spec.sample, at, r0);
    bool iso = problem->spec.noise == KN_NOISE_ISO;
    for (int part = iso ? PARTS - 1 : 0; part < PARTS && tried < all; part++) {
        if (tried > 0 && find_best_step(info) < tried - 1) /* the loss rises again */
            break;
        int before = tried;
        while (tried < all && (tried == 0 || kn_ladder[tried] <= CURVE_PARTS[part]))
            tried++;
        if (tried > before)
            KN_TRY(try_steps(ctx, &p, r0, iso, tried, info, &step));
    }
    KN_TRY(record_likelihoods(ctx, &p, r0, info));
    *P = step < 0 ? 0 : kn_ladder[step];
out:
    return status;
}

void kn_components_need(kn_mem_plan *r, const kn_problem_size *shape)
{
    kn_problem_size s = *shape, all;
    kn_mem_usage mark = r->now;
    bool once = s.range > 0;
    ptrdiff_t h = once ? kn_held_out(s.N) : (s.N + KN_CURVE_FOLDS - 1) / KN_CURVE_FOLDS,
              n = s.N - h;
    s.iso = s.rotated = false;
    s.given_basis = once; /* the folds share the basis */
    all = s;
    if (once)
        all.N = n;
    all.M = s.M < s.N ? kn_min_size(s.M, all.N) : all.N;
    kn_pilot_need(r, &all);
    if (!once)
        kn_engine_core_need(r, &all);
    kn_plan_alloc_d(r, KN_NEED_WORK, s.N, 1);
    if (!once)
        kn_folds_pca_need(r, &s, n, KN_CURVE_FOLDS);
    for (int k = 0; k < (once ? KN_HELD_OUT_ONCE : KN_CURVE_FOLDS); k++)
        kn_curve_fold_need(r, &s, n, h);
    kn_curve_score_need(r, &s,
                        &(kn_curve_shape){count_ladder_steps(s.N, s.T, s.P), once ? h : s.N, h,
                                          once ? h : s.N});
    kn_plan_free_to(r, mark); /* then the likelihoods */
    kn_plan_alloc_d(r, KN_NEED_WORK, s.N, s.P);
    kn_engine_need(r, &all, false, false);
    kn_plan_free_to(r, mark);
}

/* ---- automatic number of components ---- */

/* Calls kn_choose_components at the pilot's R0 (covariance between participants) on all MPI
 * ranks, then, if they search in lock-step, replaces *P and the curve in info by those of root.
 * Collective. */
static kn_status choose_components(kn_ctx *ctx, const kn_fit_problem *p,
                                   const kn_search_result *pilot, kn_fit_info *info, ptrdiff_t *P)
{
    kn_status status;
    struct {
        int64_t P, nothing_predicted, n_curve;
        kn_curve_point curve[KN_MAX_CURVE];
    } chosen = {0};
    KN_TRY(kn_choose_components(ctx, p, &pilot->at, info, P));
    chosen.P = *P;
    chosen.nothing_predicted = info->nothing_predicted;
    chosen.n_curve = info->n_curve;
    memcpy(chosen.curve, info->curve, sizeof chosen.curve);
    if (p->options->search.lockstep)
        KN_TRY(kn_comm_broadcast(ctx, &chosen, sizeof chosen, 0));
    *P = (ptrdiff_t)chosen.P;
    info->nothing_predicted = (int)chosen.nothing_predicted;
    info->n_curve = (int)chosen.n_curve;
    memcpy(info->curve, chosen.curve, sizeof info->curve);
    if (info->nothing_predicted)
        kn_log(ctx, KN_LOG_WARNING, "the covariates do not improve prediction, so %s",
               *P > 0 ? "one component is used"
                      : "the training mean is predicted for every participant; check that "
                        "covariates and responses belong to the same participants");
out:
    return status;
}

/* Restricts an order of N rows (NULL: by index) to the training rows of a fold: *out has the places
 * of those rows in rows->train, in that order; owned by the caller, NULL without an order. */
static kn_status restrict_order(kn_ctx *ctx, const ptrdiff_t *row_order, ptrdiff_t N,
                                const kn_fold *rows, ptrdiff_t **out)
{
    kn_status status;
    ptrdiff_t *place = NULL, n = 0;
    if (!row_order)
        return KN_OK;
    KN_TRY(kn_alloc_i(ctx, N, &place));
    KN_TRY(kn_alloc_i(ctx, rows->n_train, out));
    for (ptrdiff_t k = 0; k < rows->n_train; k++)
        place[rows->train[k]] = k + 1; /* 0: not in training */
    for (ptrdiff_t k = 0; k < N; k++)
        if (place[row_order[k]] > 0)
            (*out)[n++] = place[row_order[k]] - 1;
out:
    kn_free(place);
    return status;
}

kn_status kn_components_auto(kn_ctx *ctx, kn_fit_problem *p, kn_fit_info *info,
                             kn_components_pilot *found, ptrdiff_t *P)
{
    kn_status status;
    kn_fit_problem curve;
    kn_mat Xt = {0};
    kn_groups train = {0};
    ptrdiff_t *order = NULL;
    const kn_heldout *held_out = p->held_out.mean ? &p->held_out : NULL;
    if (held_out && !found->found) {
        ptrdiff_t n = held_out->rows.n_train,
                  limit = kn_pilot_components(p, held_out->basis.Z.cols);
        KN_TRY(kn_mat_new(ctx, n, p->X.cols, &Xt));
        kn_mat_rows(p->X, held_out->rows.train, Xt);
        KN_TRY(kn_groups_subset(ctx, &p->groups, held_out->rows.train, n, &train));
        KN_TRY(restrict_order(ctx, p->options->row_order, p->X.rows, &held_out->rows, &order));
        KN_TRY(kn_pilot(ctx, p, Xt, &train, order, kn_cols(held_out->basis.Z, 0, limit), info,
                        &found->at));
    } else if (!found->found) {
        KN_TRY(kn_pilot_of_gram(ctx, p, info, &found->at));
    }
    found->found = true;
    curve = *p;
    curve.spec.rank = p->pilot_rank;
    curve.spec.rank_auto = false;
    KN_TRY(choose_components(ctx, &curve, &found->at, info, P));
out:
    kn_free(order);
    kn_groups_clear(&train);
    kn_mat_clear(&Xt);
    return status;
}
