/* The density of whole maps of the methods whose deviance it is - whitened noise, MTGPR with all
 * that it may have, MT-Kronsum - against the T x T Gaussian of each sample: maps predicted and held
 * out, in new and known groups, of fits and of participants with missing responses. And what
 * {noise=auto} makes of it. */
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "cov/additive.h"
#include "data/scaling.h"
#include "gp/assign_folds.h"
#include "gp/methods/fit_steps.h"
#include "gp/methods/methods.h"
#include "gp/methods/smtgpr/internal.h"
#include "gp/missing/completion.h"
#include "gp/predict/covariance.h"
#include "gp/predict/map_density.h"
#include "gp/predict/predict.h"
#include "gp/predict/slope.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { F = 2, MAX_COUNT = 32, NEW = 6 };

/* ---- fits ---- */

typedef struct way {
    const char *method;
    kn_noise noise;
    ptrdiff_t N, T, P, Q;
    bool ppca;
    int shrinkage, groups; /* rows of each group; 0: none */
    bool missing;
} way;

static const way WAYS[] = {
    {.method = "smtgpr", .noise = KN_NOISE_WHITENED, .N = 24, .T = 9, .P = 2},
    {.method = "smtgpr", .noise = KN_NOISE_WHITENED, .N = 16, .T = 30, .P = 3},
    {.method = "smtgpr", .noise = KN_NOISE_WHITENED, .N = 40, .T = 6, .P = 6},
    {.method = "smtgpr",
     .noise = KN_NOISE_WHITENED,
     .N = 12,
     .T = 10,
     .P = 10}, /* folds have less */
    {.method = "smtgpr", .noise = KN_NOISE_WHITENED, .N = 40, .T = 8, .P = 2, .missing = true},
    {.method = "smtgpr", .noise = KN_NOISE_WHITENED, .N = 40, .T = 8, .P = 2, .groups = 2},
    {.method = "mtgpr", .N = 24, .T = 7, .P = 2},
    {.method = "mtgpr", .N = 24, .T = 8, .P = 2, .Q = 2},
    {.method = "mtgpr", .N = 20, .T = 12, .P = 2, .Q = 1, .ppca = true},
    {.method = "mtgpr", .N = 30, .T = 6, .P = 3, .Q = 4}, /* k = T: nothing is outside */
    {.method = "mtgpr", .N = 40, .T = 8, .P = 1, .Q = 2, .ppca = true, .missing = true},
    {.method = "kronsum", .N = 30, .T = 5, .shrinkage = 0},
    {.method = "kronsum", .N = 40, .T = 7, .shrinkage = 100, .groups = 2},
    {.method = "kronsum", .N = 45, .T = 6, .shrinkage = 100, .groups = 3},
    {.method = "kronsum", .N = 40, .T = 6, .shrinkage = 100, .missing = true},
    {.method = "smtgpr", .N = 40, .T = 9, .P = 2, .groups = 2},
    {.method = "smtgpr", .N = 40, .T = 9, .P = 2, .missing = true},
};
enum { N_WAYS = sizeof WAYS / sizeof *WAYS };

typedef struct fitted {
    kn_fit_info info;
    kn_design x;
    kn_scaling y;
    kn_mat X, Xs, Y;
    int group[64];
    kn_groups groups;
    kn_completion completion;
    kn_responses responses;
    kn_gp gp;
    kn_gp_maps cv;
} fitted;

/* Responses of sizes of their own with something to find in them; rows of a group share some. */
static void participants(ptrdiff_t n, ptrdiff_t T, int together, kn_mat *X, kn_mat *Y)
{
    *X = ref_normal(&rng, n, F);
    *Y = ref_normal(&rng, n, T);
    double own = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double shared = kn_rng_normal(&rng);
        own = together == 0 || i % together == 0 ? kn_rng_normal(&rng) : own;
        for (ptrdiff_t j = 0; j < T; j++) {
            double x = (double)j;
            kn_col(*Y, j)[i] =
                3 + (1 + x) * (kn_at(*Y, i, j) * (0.5 + (double)(j % 3)) + shared * cos(x) +
                               own * sin(2 * x) + kn_at(*X, i, 0) * sin(x) + kn_at(*X, i, 1));
        }
    }
}

/* ln p of all participants held out with structured noise, as fitted, and with whitened noise at
 * the same R0, components and folds. */
typedef struct rivals {
    double structured[64], whitened[64];
} rivals;

static void rival_fit(const kn_fit_problem *p, const fitted *f, rivals *out)
{
    const kn_decomp *R0 = &f->gp.latent.cell[0].R0;
    kn_search_result found = {0};
    kn_gp_maps cv = {0};
    kn_gp_options o = *p->options;
    kn_fit_problem q = *p;
    kn_fit_info info = {0};
    kn_gp gp = {0};
    kn_map_density_state a, b;
    double total;
    kn_cov_point_of(&R0->cov, R0->theta, &found.at, &total);
    o.cv = &cv;
    q.options = &o;
    q.groups = (kn_groups){0};
    q.spec.rank = f->gp.spec.rank;
    assert_ok(ctx, kn_whitened_fit_at(ctx, &q, &found, f->gp.P, &gp, &info));
    assert_ok(ctx, kn_map_density_evaluate(ctx, &f->cv, NULL, &a));
    assert_ok(ctx, kn_map_density_evaluate(ctx, &cv, NULL, &b));
    memcpy(out->structured, a.log_p, (size_t)cv.n * sizeof *a.log_p);
    memcpy(out->whitened, b.log_p, (size_t)cv.n * sizeof *b.log_p);
    kn_map_density_state_clear(&a);
    kn_map_density_state_clear(&b);
    kn_gp_maps_clear(&cv);
    kn_gp_clear(&gp);
}

/* As commands/fit/fit_arrays.c goes about it, the maps of the folds kept. rival NULL: not wanted.
 */
static void fit_beside(const way *w, fitted *f, rivals *rival)
{
    kn_gp_options o = {.components = w->P,
                       .folds = 3,
                       .shrinkage = w->shrinkage,
                       .noise_rank = w->Q,
                       .ppca = w->ppca,
                       .cv = &f->cv,
                       .search = {.seed = 1,
                                  .limits = {.evals_left = 5},
                                  .optimise = true,
                                  .rho = NAN,
                                  .length = NAN}};
    kn_spec spec = {.noise = w->noise == KN_NOISE_AUTO ? KN_NOISE_STRUCTURED : w->noise,
                    .additive = true,
                    .rank = w->N > KN_MANY ? 40 : 0};
    f->info = (kn_fit_info){.method = kn_method_of(w->method, w->noise), .noise = w->noise};
    participants(w->N, w->T, w->groups, &f->X, &f->Y);
    for (ptrdiff_t i = 0; i < w->N && i < 64; i++)
        f->group[i] = w->groups ? (int)i / w->groups : (int)i;
    for (ptrdiff_t i = 0; w->missing && i < w->N; i += 3)
        for (ptrdiff_t j = i % 2; j < (i % 4 ? 3 : w->T - 1); j += 2)
            kn_col(f->Y, j)[i] = NAN;
    kn_design_options design = {.quadratic = -1, .additive = true, .standardise = true};
    assert_ok(ctx, kn_design_new(ctx, view(f->X), &design, &f->x));
    f->Xs = ref_new(w->N, f->x.F);
    assert_ok(ctx, kn_design_apply(ctx, &f->x, view(f->X), false, f->Xs, NULL));
    assert_ok(ctx, kn_scaling_observed(ctx, view(f->Y), true, &f->y));
    assert_ok(ctx, kn_cov_of_design(ctx, &f->x, &spec.sample));
    o.groups = w->groups ? f->group : NULL;
    o.design = &f->x;
    if (w->groups)
        assert_ok(ctx, kn_groups_new(ctx, w->N, f->group, &f->groups));
    kn_fit_problem p = {.X = f->Xs,
                        .Y = kn_responses_of(view(f->Y), &f->y),
                        .spec = spec,
                        .groups = f->groups,
                        .options = &o};
    if (f->y.n)
        assert_ok(ctx, kn_completion_new(ctx, &p, &f->y, true, &f->info, &f->completion));
    assert_ok(ctx, f->info.method->fit(ctx, &p, &f->gp, &f->info));
    f->responses = p.Y;
    if (rival)
        rival_fit(&p, f, rival);
    kn_fit_problem_clear(&p);
    assert_non_null(f->cv.gp);
    assert_ok(ctx, kn_gp_set_slope(ctx, &f->gp, &f->cv)); /* e is after it */
}

static void fit(const way *w, fitted *f)
{
    fit_beside(w, f, NULL);
}

static void fitted_clear(fitted *f)
{
    kn_gp_maps_clear(&f->cv);
    kn_gp_clear(&f->gp);
    kn_completion_clear(&f->completion);
    kn_groups_clear(&f->groups);
    kn_scaling_clear(&f->y);
    kn_design_clear(&f->x);
    free(f->X.data), free(f->Xs.data), free(f->Y.data);
    *f = (fitted){0};
}

/* ---- covariances one entry after the other ---- */

/* The projector on the columns of B: B (B'B)^-1 B' */
static kn_mat projector(kn_mat B)
{
    ptrdiff_t T = B.rows, K = B.cols;
    kn_mat P = ref_new(T, T);
    for (ptrdiff_t b = 0; K > 0 && b < T; b++) {
        kn_mat BB = ref_mul(1, B, 0, B), x = ref_new(K, 1);
        for (ptrdiff_t k = 0; k < K; k++)
            x.data[k] = kn_at(B, b, k);
        ref_solve(BB, x);
        for (ptrdiff_t a = 0; a < T; a++)
            for (ptrdiff_t k = 0; k < K; k++)
                kn_col(P, b)[a] += kn_at(B, a, k) * x.data[k];
        free(BB.data), free(x.data);
    }
    return P;
}

/* Psi^1/2 [B diag(x) B' + x0 (I - projector of B)] Psi^1/2; psi NULL: ones */
static kn_mat spread(kn_mat B, const double *psi, const double *x, double x0)
{
    ptrdiff_t T = B.rows;
    kn_mat S = ref_new(T, T), inside = projector(B);
    for (ptrdiff_t b = 0; b < T; b++)
        for (ptrdiff_t a = 0; a < T; a++) {
            double sum = x0 * ((a == b) - kn_at(inside, a, b));
            for (ptrdiff_t k = 0; k < B.cols; k++)
                sum += kn_at(B, a, k) * x[k] * kn_at(B, b, k);
            kn_col(S, b)[a] = sum * (psi ? sqrt(psi[a] * psi[b]) : 1);
        }
    free(inside.data);
    return S;
}

typedef struct covariances {
    kn_mat model, noise;
} covariances;

/* What METHOD 1b, 1f, 1g and 1h say of one sample. */
static covariances of_sample(const kn_gp_maps *maps, int part, ptrdiff_t i)
{
    const kn_gp *gp = maps->gp;
    const kn_fold_prediction *p = &maps->part[part];
    const kn_latent *l = &gp->latent;
    bool known = maps->known && maps->known[i];
    bool kronsum = gp->method == &kn_method_kronsum, mtgpr = !strcmp(gp->method->name, "mtgpr");
    /* a fold of few participants may have a complement where the model has none */
    bool complement = gp->complement_component || (gp->psi && p->B.data && p->var.cols > p->B.cols);
    ptrdiff_t K = p->var.cols - complement;
    kn_mat B = ref_new(gp->T, K);
    double v[MAX_COUNT + 1], d[MAX_COUNT], s2;
    if (p->B.data || !p->US.data)
        kn_mat_set(B, kn_cols(p->B.data ? p->B : gp->B, 0, K));
    else
        assert_ok(ctx, kn_components_basis(ctx, maps, part, 0, kn_mat_none(), B));
    for (ptrdiff_t k = 0; k < p->var.cols; k++)
        v[k] = kn_at(p->var, i, k);
    for (ptrdiff_t k = 0; k < K; k++)
        d[k] = mtgpr     ? 1
               : kronsum ? 1 + (known ? 0 : kn_latent_gamma(l, 0))
               : p->d    ? p->d[k]
               : known   ? l->d[k]
                         : kn_latent_noise(l, k);
    s2 = mtgpr ? 1 : p->d ? p->s2 : complement ? l->d[K] : gp->s2;
    const double *psi = p->psi ? p->psi : gp->psi;
    covariances c = {spread(B, psi, v, complement ? v[K] : 0),
                     spread(B, psi, d, K < gp->T ? s2 : 0)};
    free(B.data);
    return c;
}

/* e'S^-1 e T/|J| and ln N(e; 0, S) over the responses J that there are. */
static void dense(kn_mat S, const double *e, double *dev, double *log_p)
{
    ptrdiff_t T = S.rows, n = 0, J[MAX_COUNT];
    for (ptrdiff_t j = 0; j < T; j++)
        if (isfinite(e[j]))
            J[n++] = j;
    *dev = *log_p = NAN;
    if (2 * n < T)
        return;
    kn_mat s = ref_new(n, n), again = ref_new(n, n), x = ref_new(n, 1);
    double own[MAX_COUNT];
    for (ptrdiff_t a = 0; a < n; a++) {
        x.data[a] = own[a] = e[J[a]];
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(s, a)[b] = kn_col(again, a)[b] = kn_at(S, J[b], J[a]);
    }
    *log_p = ref_log_density(s, own);
    ref_solve(again, x);
    *dev = 0;
    for (ptrdiff_t a = 0; a < n; a++)
        *dev += x.data[a] * own[a] * (double)T / (double)n;
    free(s.data), free(again.data), free(x.data);
}

/* offset + scale of a site that is made up */
static kn_map_density_shift moved(const void *self, ptrdiff_t i, ptrdiff_t j)
{
    (void)self;
    return (kn_map_density_shift){0.3 * cos((double)j), 1 + 0.1 * (double)((i + j) % 4)};
}

/* Every sample's numbers by brute force; Xs: where the model's own covariance is asked too. */
static void check(const kn_gp_maps *maps, const kn_responses *Y, kn_mat Xs, bool elsewhere)
{
    ptrdiff_t T = maps->gp->T, n = maps->n, all[MAX_COUNT], judged = 0;
    kn_responses own = Y ? *Y : kn_gp_maps_y(maps);
    kn_map_density_state w = {.job = {.maps = maps, .scaling = own.scaling}};
    kn_mat y = ref_new(n, T), mean = ref_new(n, T), var = ref_new(n, T);
    kn_visitor visitor;
    w.job.place = elsewhere ? moved : NULL;
    visitor = kn_map_density_visitor(&w);
    assert_ok(ctx, kn_block_loop_run(ctx, &(kn_block_loop){.Y = own, .maps = maps}, &visitor, 1));
    kn_responses_block(ctx, &own, 0, y);
    assert_ok(ctx, kn_gp_maps_block(ctx, maps, 0, mean, var));
    for (ptrdiff_t j = 0; j < T; j++)
        all[j] = j;
    for (int k = 0; k < maps->n_parts; k++)
        for (ptrdiff_t i = 0; i < maps->part[k].n; i++) {
            ptrdiff_t row = maps->part[k].rows ? maps->part[k].rows[i] : i;
            covariances c = of_sample(maps, k, i);
            double e[MAX_COUNT], dev, noise, log_p, unused;
            if (Xs.data && !(maps->known && maps->known[row])) {
                kn_mat model = ref_new(T, T);
                assert_ok(ctx, kn_gp_covariance(ctx, maps->gp, kn_sub(Xs, i, 0, 1, Xs.cols), all,
                                                model, kn_mat_none()));
                assert_same(c.model, model, 1e-10);
                free(model.data);
            }
            for (ptrdiff_t j = 0; j < T; j++) { /* the diagonal is what the maps say */
                assert_close(kn_at(c.model, j, j), kn_at(var, row, j), 1e-6);
                e[j] = kn_at(y, row, j) - kn_at(mean, row, j);
            }
            for (ptrdiff_t q = 0; q < T * T; q++) {
                kn_map_density_shift a = moved(NULL, row, q % T), b = moved(NULL, row, q / T);
                c.model.data[q] += c.noise.data[q];
                c.model.data[q] *= elsewhere ? a.scale * b.scale : 1;
                c.noise.data[q] *= elsewhere ? a.scale * b.scale : 1;
            }
            for (ptrdiff_t j = 0; elsewhere && j < T; j++)
                e[j] -= moved(NULL, row, j).offset;
            dense(c.model, e, &dev, &log_p);
            dense(c.noise, e, &noise, &unused);
            assert_true(isnan(dev) == isnan(w.dev[row]) && isnan(dev) == isnan(w.log_p[row]));
            if (!isnan(dev)) {
                assert_close(w.dev[row], dev, 1e-8);
                assert_close(w.dev_noise[row], noise, 1e-8);
                assert_close(w.log_p[row], log_p, 1e-8);
                judged++;
            }
            free(c.model.data), free(c.noise.data);
        }
    assert_true(2 * judged > n);
    kn_map_density_state_clear(&w);
    free(y.data), free(mean.data), free(var.data);
}

/* ---- promises ---- */

static void held_out_maps_have_the_density_of_their_fold(void **state)
{
    (void)state;
    for (int k = 0; k < N_WAYS; k++) {
        fitted f = {0};
        fit(&WAYS[k], &f);
        print_message("# %s, N %td T %td P %td\n", WAYS[k].method, WAYS[k].N, WAYS[k].T, f.gp.P);
        check(&f.cv, NULL, kn_mat_none(), false);
        fitted_clear(&f);
    }
}

/* New participants, in new groups and known ones, with all responses and without some. */
static void predicted_maps_have_the_density_of_the_model(void **state)
{
    (void)state;
    for (int k = 0; k < N_WAYS; k++) {
        fitted f = {0};
        kn_mat X, Y;
        ptrdiff_t T = WAYS[k].T, member[NEW] = {0, -1, 1, 1, -1, 2};
        fit(&WAYS[k], &f);
        participants(NEW, T, 0, &X, &Y);
        kn_mat Xs = ref_new(NEW, f.x.F);
        assert_ok(ctx, kn_design_apply(ctx, &f.x, view(X), true, Xs, NULL));
        for (int gaps = 0; gaps < 2; gaps++)
            for (int known = 0; known < (f.gp.latent.groups.n > 0 ? 2 : 1); known++) {
                kn_gp_maps maps;
                kn_predict_input who = {.X = Xs, .group = known ? member : NULL};
                for (ptrdiff_t j = 0; gaps && j < T; j++) {
                    if (j % 3 == 1)
                        kn_col(Y, j)[1] = kn_col(Y, j)[2] = NAN; /* the same gaps */
                    if (j == T - 1)
                        kn_col(Y, j)[3] = NAN;
                    if (2 * j >= T)
                        kn_col(Y, j)[4] = NAN; /* half, or a little less */
                }
                assert_ok(ctx, kn_gp_predict(ctx, &f.gp, &who, &maps));
                kn_responses R = kn_responses_of(view(Y), &f.y);
                check(&maps, &R, known ? kn_mat_none() : Xs, false);
                check(&maps, &R, kn_mat_none(), true);
                kn_gp_maps_clear(&maps);
            }
        free(X.data), free(Y.data), free(Xs.data);
        fitted_clear(&f);
    }
}

/* So many participants that 2000 of them are held out once: s2 is what their basis leaves of the
 * others.
 */
static void a_set_held_out_once_has_its_density_too(void **state)
{
    (void)state;
    way w = {.method = "smtgpr", .N = KN_MANY + 200, .T = 6, .P = 2};
    fitted f = {0};
    fit(&w, &f);
    const kn_fold_prediction *p = &f.cv.part[0];
    ptrdiff_t next = 0;
    double left = 0;
    kn_mat y = ref_new(w.N, w.T), inside = projector(p->B);
    assert_int_equal(f.cv.folds, KN_HELD_OUT_ONCE);
    assert_true(f.cv.n < w.N && p->n_train == w.N - f.cv.n);
    kn_responses_block(ctx, &f.responses, 0, y);
    for (ptrdiff_t i = 0; i < w.N; i++) {
        if (next < f.cv.n && f.cv.sample[next] == i) {
            next++;
            continue;
        }
        for (ptrdiff_t a = 0; a < w.T; a++) {
            double e = kn_at(y, i, a) - p->mu[a];
            for (ptrdiff_t b = 0; b < w.T; b++)
                e -= kn_at(inside, a, b) * (kn_at(y, i, b) - p->mu[b]);
            left += e * e;
        }
    }
    assert_close(p->s2, left / (double)(p->n_train * (w.T - w.P)), 1e-9);
    check(&f.cv, NULL, kn_mat_none(), false);
    free(y.data), free(inside.data);
    fitted_clear(&f);
}

/* Folds whose components span everything: what is left is rounding, and no density; nothing can be
 * compared, and the model stays what it is. */
static void auto_keeps_structured_noise_without_densities(void **state)
{
    (void)state;
    way w = {.method = "smtgpr", .noise = KN_NOISE_AUTO, .N = 15, .T = 12, .P = 11};
    fitted f = {0};
    kn_map_density_state density;
    fit(&w, &f);
    assert_ptr_equal(f.gp.method, &kn_method_smtgpr);
    assert_int_equal(f.info.noise_choice.tried, 0);
    assert_ok(ctx, kn_map_density_evaluate(ctx, &f.cv, NULL, &density));
    for (ptrdiff_t i = 0; i < w.N; i++)
        assert_true(isnan(density.log_p[i]) && isnan(density.dev[i]));
    kn_map_density_state_clear(&density);
    fitted_clear(&f);
}

/* {noise=auto}: the mean over groups of what whitened noise says more of their members, and its
 * standard error; whitened noise has to gain more than that. */
static void auto_asks_for_a_gain_above_its_standard_error(void **state)
{
    (void)state;
    int between = 0, chosen = 0;
    for (int k = 0; k < 24; k++) {
        way w = {.method = "smtgpr", .N = 40, .T = 8, .P = 1 + k % 3, .groups = k % 4};
        fitted f = {0}, both = {0};
        rivals r;
        double sum[64] = {0}, count[64] = {0}, gain = 0, squares = 0, n = 0;
        w.groups = w.groups < 2 ? 0 : w.groups;
        ref_rng_init(&rng, 100, (uint64_t)k);
        fit_beside(&w, &f, &r);
        for (ptrdiff_t i = 0; i < w.N; i++) {
            sum[f.group[i]] += r.whitened[i] - r.structured[i];
            count[f.group[i]]++;
        }
        for (int g = 0; g < 64; g++)
            if (count[g] > 0) {
                gain += sum[g] / count[g];
                n++;
            }
        gain /= n;
        for (int g = 0; g < 64; g++)
            if (count[g] > 0)
                squares += pow(sum[g] / count[g] - gain, 2);
        double se = sqrt(squares / (n - 1) / n);
        w.noise = KN_NOISE_AUTO;
        ref_rng_init(&rng, 100, (uint64_t)k); /* the same participants */
        fit(&w, &both);
        assert_close(both.info.noise_choice.gain, gain, 1e-9);
        assert_close(both.info.noise_choice.se, se, 1e-9);
        assert_int_equal(both.gp.method == &kn_method_whitened, gain > se);
        between += gain > 0 && gain < se;
        chosen += gain > se;
        fitted_clear(&f);
        fitted_clear(&both);
    }
    assert_true(between > 0 && chosen > 0 && between + chosen < 24);
}

TEST_PROGRAM(gp_map_density_methods)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 23, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_maps_have_the_density_of_their_fold),
        cmocka_unit_test(predicted_maps_have_the_density_of_the_model),
        cmocka_unit_test(a_set_held_out_once_has_its_density_too),
        cmocka_unit_test(auto_keeps_structured_noise_without_densities),
        cmocka_unit_test(auto_asks_for_a_gain_above_its_standard_error),
    };
    int failed = cmocka_run_group_tests_name("law_own", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
