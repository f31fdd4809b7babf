/* The additive model with groups that share noise: against tests/golden/additive, and against dense
 * matrices, term by term and pair by pair, at shapes where little is left to chance. */
#include "covs.h"

#include "base/rng.h"
#include "cov/additive.h"
#include "gp/cv.h"
#include "gp/loo.h"
#include "gp/noise.h"
#include "gp/predict.h"
#include "gp/smtgpr.h"

static kn_ctx *ctx;

static kn_view view(kn_mat m)
{
    return (kn_view){m.data, KN_F64, m.rows, m.cols, 1, m.ld};
}

/* ---- golden ---------------------------------------------------------------------------------- */

enum { ROWS = 64, COLUMNS = 4 };

typedef struct golden {
    json_t *json;
    ptrdiff_t N, new, F, C, T, P; /* F numbers and then categories, C columns */
    kn_mat raw, raw_new, Y;       /* codes of categories */
    int levels[COLUMNS], group[ROWS], fold[ROWS];
    ptrdiff_t group_new[ROWS]; /* of training, by the order of appearance; -1: none */
    kn_design design;
    kn_mat X, Xs;
    kn_scaling scaling;
    kn_responses responses;
    kn_mat B, Z;
    kn_cov cov;
    kn_cov_point at;
    double E, total;
} golden;

/* The number of a level, "L7", by the order of appearance in training; a new one is one more. */
static double code_of(char seen[ROWS][8], int *n, const char *level, bool training)
{
    for (int k = 0; k < *n; k++)
        if (strcmp(seen[k], level) == 0)
            return k;
    if (training)
        snprintf(seen[(*n)++], sizeof seen[0], "%s", level);
    return training ? *n - 1 : *n;
}

static void read_covariates(golden *g, const char *name)
{
    char path[1024], line[256], seen[COLUMNS][ROWS][8];
    const char *root = getenv("KN_TESTS");
    snprintf(path, sizeof path, "%s/golden/additive/%s_covariates.csv", root ? root : "tests",
             name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (ptrdiff_t row = 0; fgets(line, sizeof line, f); row++) {
        bool training = row < g->N;
        kn_mat to = training ? g->raw : g->raw_new;
        ptrdiff_t i = training ? row : row - g->N;
        char *word = strtok(line, ",\n");
        word = strtok(NULL, ",\n"); /* train, new */
        for (ptrdiff_t c = 0; c < g->C; c++) {
            word = strtok(NULL, ",\n");
            kn_col(to, c)[i] =
                c < g->F ? strtod(word, NULL) : code_of(seen[c], &g->levels[c], word, training);
        }
        int group = atoi(strtok(NULL, ",\n"));
        if (training)
            g->group[i] = group;
        else
            g->group_new[i] = group;
    }
    fclose(f);
}

/* Groups of new rows as the library numbers those of training. */
static void number_groups(golden *g)
{
    kn_groups groups;
    assert_ok(ctx, kn_groups_new(ctx, g->N, g->group, &groups));
    for (ptrdiff_t k = 0; k < g->new; k++)
        for (ptrdiff_t i = 0; i < g->N && g->group_new[k] >= 0; i++)
            if (g->group[i] == g->group_new[k]) {
                g->group_new[k] = groups.of[i];
                break;
            }
    kn_groups_clear(&groups);
}

static golden golden_load(const char *name)
{
    char file[64];
    golden g = {0};
    snprintf(file, sizeof file, "%s.json", name);
    g.json = ref_json("additive", file);
    g.N = (ptrdiff_t)ref_number(g.json, "N");
    g.new = (ptrdiff_t)ref_number(g.json, "new");
    g.F = (ptrdiff_t)ref_number(g.json, "F_continuous");
    g.T = (ptrdiff_t)ref_number(g.json, "T");
    g.P = (ptrdiff_t)ref_number(g.json, "P");
    kn_mat weights = ref_numbers(g.json, "weights"), fold = ref_numbers(g.json, "fold");
    g.C = g.F + weights.rows - 3; /* lin, quad, se and the categories */
    g.raw = ref_new(g.N, g.C);
    g.raw_new = ref_new(g.new, g.C);
    read_covariates(&g, name);
    number_groups(&g);
    for (ptrdiff_t i = 0; i < g.N; i++)
        g.fold[i] = (int)fold.data[i];
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = g.levels,
                           .quadratic = 1};
    assert_ok(ctx, kn_design_new(ctx, view(g.raw), &o, &g.design));
    g.X = ref_new(g.N, g.design.F);
    g.Xs = ref_new(g.new, g.design.F);
    assert_ok(ctx, kn_design_apply(ctx, &g.design, view(g.raw), false, g.X, NULL));
    assert_ok(ctx, kn_design_apply(ctx, &g.design, view(g.raw_new), true, g.Xs, NULL));
    assert_ok(ctx, kn_cov_of_design(ctx, &g.design, &g.cov));
    assert_int_equal(g.cov.n, weights.rows);
    for (ptrdiff_t k = 0; k < weights.rows; k++)
        g.at.w[k] = weights.data[k];
    g.at.shape[0] = exp(ref_number(g.json, "ln_length"));
    snprintf(file, sizeof file, "%s_responses.csv", name);
    g.Y = ref_csv("additive", file);
    assert_ok(ctx, kn_scaling_new(ctx, view(g.Y), true, &g.scaling));
    g.responses = kn_responses_of(view(g.Y), &g.scaling);
    kn_mat Ys = ref_new(g.N, g.T);
    kn_responses_block(ctx, &g.responses, 0, Ys);
    g.B = ref_matrix(g.json, "B");
    g.Z = ref_mul(0, Ys, 0, g.B);
    g.total = kn_sumsq(Ys);
    g.E = g.total - kn_sumsq(g.Z);
    free(weights.data), free(fold.data), free(Ys.data);
    return g;
}

static void golden_free(golden *g)
{
    json_decref(g->json);
    kn_design_clear(&g->design);
    kn_scaling_clear(&g->scaling);
    free(g->raw.data), free(g->raw_new.data), free(g->Y.data), free(g->X.data), free(g->Xs.data);
    free(g->B.data), free(g->Z.data);
}

static kn_engine golden_engine(const golden *g, bool low)
{
    /* room for all pivots beside the exact columns */
    kn_spec spec = {.sample = g->cov, .rank = low ? g->N + g->X.cols : 0, .additive = true};
    kn_groups groups;
    kn_engine e;
    assert_ok(ctx, kn_groups_new(ctx, g->N, g->group, &groups));
    kn_engine_data data = {
        .X = g->X, .Z = g->Z, .groups = &groups, .T = g->T, .E = g->E, .total = g->total};
    assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
    return e;
}

/* The fitted process at the parameters given. */
static kn_gp golden_gp(const golden *g, bool low)
{
    kn_engine e = golden_engine(g, low);
    kn_gp gp = {.method = &kn_method_smtgpr,
                .spec = e.spec,
                .N = g->N,
                .F = g->X.cols,
                .T = g->T,
                .P = g->P,
                .pca = true};
    kn_mat X;
    double lml;
    assert_ok(ctx, kn_engine_nested(ctx, &e, &g->at, &lml, NULL));
    assert_ok(ctx, kn_mat_copy(ctx, g->X, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &gp.latent));
    assert_ok(ctx, kn_mat_copy(ctx, g->B, &gp.B));
    assert_ok(ctx, kn_alloc_d(ctx, g->T, &gp.noise));
    gp.s2 = e.s2;
    kn_engine_clear(&e);
    return gp;
}

#define assert_golden(m, g, key, tol)                                                              \
    do {                                                                                           \
        kn_mat expected_ = ref_matrix((g)->json, key);                                             \
        double d_ = ref_difference(m, expected_);                                                  \
        free(expected_.data);                                                                      \
        if (!(d_ <= (tol)))                                                                        \
            fail_msg("%s differs by %.3g, allowed %.3g", key, d_, (double)(tol));                  \
    } while (0)

/* Pivots leave out 1e-12 of the smooth term's trace, hence the root of that of its covariance with
 * somebody who is like nobody in training. */
static const double LIKE_NOBODY = 1e-6;

/* All cases, dense and of low rank. */
static void for_all_golden(void (*check)(const golden *g, bool low, double tol))
{
    static const char *const NAMES[] = {"n12", "n12_nogroup", "n40", "n40_nogroup"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        for (int low = 0; low < 2; low++) {
            golden g = golden_load(NAMES[k]);
            g.responses.scaling = &g.scaling;
            check(&g, low, low ? 1e-8 : 1e-10);
            golden_free(&g);
        }
}

static void check_golden_covariance(const golden *g, bool low, double tol)
{
    (void)low;
    double theta[KN_COV_THETA], *self = calloc((size_t)g->new, sizeof *self), work[ROWS];
    kn_pairs within, between;
    kn_mat R = ref_new(g->N, g->N), Rs = ref_new(g->new, g->N);
    kn_cov_theta(&g->cov, &g->at, theta);
    assert_ok(ctx, kn_pairs_between(ctx, g->X, g->X, &g->cov.stats, &within));
    assert_ok(ctx, kn_pairs_between(ctx, g->Xs, g->X, &g->cov.stats, &between));
    kn_cov_fill(&g->cov, theta, &within, R);
    kn_cov_fill(&g->cov, theta, &between, Rs);
    kn_cov_self(&g->cov, theta, g->Xs, work, self);
    kn_mat diagonal = ref_numbers(g->json, "R_new_diag");
    assert_golden(R, g, "R", tol);
    assert_golden(Rs, g, "R_new", tol);
    assert_same(kn_mat_cols(self, g->new, 1), diagonal, tol);
    kn_pairs_clear(&within);
    kn_pairs_clear(&between);
    free(self), free(R.data), free(Rs.data), free(diagonal.data);
}

static void covariances_of_training_and_new_people_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_covariance);
}

static void check_golden_likelihood(const golden *g, bool low, double tol)
{
    kn_engine e = golden_engine(g, low);
    double lml, gradient[KN_COV_OUTER];
    json_t *components = json_object_get(g->json, "components");
    assert_golden(g->Z, g, "Z", 1e-10);
    assert_close(g->E, ref_number(g->json, "E"), 1e-10);
    assert_ok(ctx, kn_engine_nested(ctx, &e, &g->at, &lml, gradient));
    assert_close(lml, ref_number(g->json, "lml"), 1e-10);
    assert_close(lml, ref_number(g->json, "lml_dense_NT"), 1e-10);
    assert_close(e.s2, ref_number(g->json, "s2"), 1e-10);
    for (ptrdiff_t p = 0; p < g->P; p++) {
        json_t *c = json_array_get(components, (size_t)p);
        bool null = json_is_true(json_object_get(c, "null"));
        double gamma = g->N == 0 ? 0 : e.cell[e.in[p]].R0.gamma;
        assert_close(gamma, ref_number(c, "gamma"), 0);
        assert_close(e.c[p], ref_number(c, "c"), tol);
        assert_close(e.d[p], ref_number(c, "d"), tol);
        assert_close(e.lml[p], ref_number(c, "lml"), tol);
        if (null)
            assert_true(e.c[p] == 0);
        else
            assert_close(log(e.d[p] / e.c[p]), ref_number(c, "t"), tol);
    }
    kn_mat formula = ref_numbers(g->json, "gradient_formula");
    kn_mat differences = ref_numbers(g->json, "gradient_central_differences");
    for (ptrdiff_t k = 0; k < formula.rows; k++) {
        assert_close(gradient[k], formula.data[k], 1e-8);
        assert_close(gradient[k], differences.data[k], 1e-8);
    }
    kn_engine_clear(&e);
    free(formula.data), free(differences.data);
}

static void likelihood_components_and_gradient_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_likelihood);
}

static void check_golden_prediction(const golden *g, bool low, double tol)
{
    tol = low ? LIKE_NOBODY : tol;
    kn_gp gp = golden_gp(g, low);
    kn_newcomers who = {.X = g->Xs, .group = g->group_new};
    kn_mat mean = ref_new(g->new, g->P), var = ref_new(g->new, g->P), noise = ref_new(g->new, g->P);
    double clamped = 0;
    assert_ok(ctx, kn_latent_predict(ctx, &gp.latent, &who, mean, var, &clamped));
    for (ptrdiff_t p = 0; p < g->P; p++)
        for (ptrdiff_t i = 0; i < g->new; i++)
            kn_col(noise, p)[i] =
                g->group_new[i] >= 0 ? gp.latent.d[p] : kn_latent_noise(&gp.latent, p);
    assert_golden(mean, g, "latent_mean_new", tol);
    assert_golden(var, g, "latent_model_var_new", tol);
    assert_golden(noise, g, "latent_noise_new", tol);
    assert_true(clamped < 1e-12);
    free(mean.data), free(var.data), free(noise.data);
    kn_gp_clear(&gp);
}

static void latent_predictions_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_prediction);
}

static void check_golden_leaving(const golden *g, bool low, double tol)
{
    kn_gp gp = golden_gp(g, low);
    kn_mat mean = ref_new(g->N, g->P), var = ref_new(g->N, g->P);
    double clamped = 0;
    for (int group = 0; group < 2; group++) {
        assert_ok(ctx, kn_latent_loo(ctx, &gp.latent, group ? KN_LEAVE_GROUP : KN_LEAVE_ROW, g->Z,
                                     mean, var, &clamped));
        for (ptrdiff_t p = 0; p < g->P; p++)
            for (ptrdiff_t i = 0; i < g->N; i++)
                kn_col(var, p)[i] += group ? kn_latent_noise(&gp.latent, p) : gp.latent.d[p];
        assert_golden(mean, g, group ? "leave_group_out_mean" : "loo_mean", tol);
        assert_golden(var, g, group ? "leave_group_out_var_with_noise" : "loo_var_with_noise", tol);
    }
    free(mean.data), free(var.data);
    kn_gp_clear(&gp);
}

static void leave_one_out_and_leave_group_out_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_leaving);
}

/* Six people to train on have a component at the least ln(d/c), -8, where the file's search stops
 * 2e-7 short of it. */
static const double AT_BOUND = 3e-8;

static void check_golden_folds(const golden *g, bool low, double tol)
{
    kn_gp gp = golden_gp(g, low);
    kn_gp_maps cv, maps;
    kn_mat mean = ref_new(g->N, g->T), var = ref_new(g->N, g->T), known = ref_new(g->T, 1);
    assert_ok(ctx,
              kn_gp_cv(ctx, &gp, &(kn_cv_problem){.Y = &g->responses, .folds = 2, .fold = g->fold},
                       &cv));
    assert_ok(ctx, kn_gp_maps_block(ctx, &cv, 0, mean, var));
    assert_golden(mean, g, "cv_mean", AT_BOUND);
    assert_golden(var, g, "cv_model_var", AT_BOUND);
    assert_ok(ctx, kn_gp_set_noise(ctx, &gp, &g->responses, &cv, KN_RULES_CURRENT));
    kn_mat noise = ref_numbers(g->json, "noise_standardised");
    assert_same(kn_mat_cols(gp.noise, g->T, 1), noise, AT_BOUND);
    kn_gp_maps_clear(&cv);
    free(mean.data), free(var.data);

    kn_mat all = ref_new(g->new, g->T);
    assert_ok(ctx, kn_gp_predict(ctx, &gp, &(kn_newcomers){g->Xs, g->group_new}, &maps));
    mean = ref_new(g->new, g->T);
    var = ref_new(g->new, g->T);
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, mean, var));
    kn_noise_known_group(&gp, known.data);
    for (ptrdiff_t j = 0; j < g->T; j++)
        for (ptrdiff_t i = 0; i < g->new; i++) {
            double sd = g->scaling.sd[j];
            double standard = g->group_new[i] >= 0 ? known.data[j] : gp.noise[j];
            kn_col(mean, j)[i] = g->scaling.mean[j] + sd * kn_at(mean, i, j);
            kn_col(var, j)[i] *= sd * sd;
            kn_col(all, j)[i] = standard * sd * sd;
        }
    tol = low ? LIKE_NOBODY : tol;
    assert_golden(mean, g, "mean_new", tol);
    assert_golden(var, g, "model_var_new", tol);
    assert_golden(all, g, "noise_var_new", AT_BOUND);
    kn_gp_maps_clear(&maps);
    free(mean.data), free(var.data), free(known.data), free(noise.data), free(all.data);
    kn_gp_clear(&gp);
}

static void folds_noise_and_responses_match_golden(void **state)
{
    (void)state;
    for_all_golden(check_golden_folds);
}

/* ---- dense oracles --------------------------------------------------------------------------- */

enum { LIN = 1, QUAD = 2, SE = 4, CAT = 8, CATS = 16, SLOPE = 32 };
static const unsigned SUMS[] = {LIN,
                                LIN | QUAD,
                                LIN | SE,
                                LIN | QUAD | SE,
                                CAT,
                                CAT | CATS,
                                LIN | CAT | SLOPE,
                                LIN | QUAD | SE | CAT | CATS,
                                LIN | QUAD | SE | CAT | CATS | SLOPE};
enum { N_SUMS = sizeof SUMS / sizeof *SUMS };
enum { NUMBERS = 2, LEVELS = 3, DESIGN = 2 * NUMBERS + 3 * (LEVELS + 1), NEW = 6 };

/* People as numbers and levels, and the same as columns of a design. */
typedef struct people {
    ptrdiff_t n;
    kn_mat x;      /* n x NUMBERS */
    kn_mat u;      /* n x NUMBERS, what the curved term is over */
    int *cat[2];   /* LEVELS: one that training does not have */
    kn_mat design; /* n x DESIGN */
} people;

static people people_new(kn_rng *rng, ptrdiff_t n, bool alike, bool new)
{
    people w = {.n = n,
                .x = ref_normal(rng, n, NUMBERS),
                .u = ref_normal(rng, n, NUMBERS),
                .design = ref_new(n, DESIGN)};
    for (int m = 0; m < 2; m++) {
        w.cat[m] = calloc((size_t)n + 1, sizeof(int));
        for (ptrdiff_t i = 0; i < n; i++)
            w.cat[m][i] = (int)kn_rng_below(rng, new ? LEVELS + 1 : LEVELS);
    }
    for (ptrdiff_t i = 1; alike && i < n; i++) { /* all are the first */
        for (int f = 0; f < NUMBERS; f++) {
            kn_col(w.x, f)[i] = kn_at(w.x, 0, f);
            kn_col(w.u, f)[i] = kn_at(w.u, 0, f);
        }
        w.cat[0][i] = w.cat[0][0];
        w.cat[1][i] = w.cat[1][0];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int f = 0; f < NUMBERS; f++) {
            kn_col(w.design, f)[i] = kn_at(w.x, i, f);
            kn_col(w.design, NUMBERS + f)[i] = kn_at(w.u, i, f);
        }
        for (int m = 0; m < 2; m++)
            kn_col(w.design, 2 * NUMBERS + m * (LEVELS + 1) + w.cat[m][i])[i] = 1;
        kn_col(w.design, 2 * NUMBERS + 2 * (LEVELS + 1) + w.cat[0][i])[i] = kn_at(w.x, i, 0);
    }
    return w;
}

static void people_free(people w)
{
    free(w.x.data), free(w.u.data), free(w.cat[0]), free(w.cat[1]), free(w.design.data);
}

static kn_cov sum_of(unsigned terms)
{
    static const struct {
        unsigned bit;
        const kn_kernel *kernel;
        ptrdiff_t first, count;
    } TERM[] = {{LIN, &kn_kernel_linear, 0, NUMBERS},
                {QUAD, &kn_kernel_square, NUMBERS, NUMBERS},
                {SE, &kn_kernel_se, 0, NUMBERS},
                {CAT, &kn_kernel_same, 2 * NUMBERS, LEVELS + 1},
                {CATS, &kn_kernel_same, 2 * NUMBERS + LEVELS + 1, LEVELS + 1},
                {SLOPE, &kn_kernel_slopes, 2 * NUMBERS + 2 * (LEVELS + 1), LEVELS + 1}};
    kn_cov cov = {.exact = true, .least = 0.5};
    for (size_t k = 0; k < sizeof TERM / sizeof *TERM; k++)
        if (terms & TERM[k].bit)
            assert_ok(ctx, kn_cov_add(ctx, &cov, TERM[k].kernel, TERM[k].first, TERM[k].count));
    return cov;
}

/* R0 between two people, from numbers and levels. Two people whose level is not of training are of
 * the same one only where they are one person. */
static double relation(unsigned terms, const kn_cov_point *at, const people *a, ptrdiff_t i,
                       const people *b, ptrdiff_t j)
{
    double dot = 0, square = 0, d2 = 0, sum = 0;
    int k = 0;
    bool same[2];
    for (int f = 0; f < NUMBERS; f++) {
        double x = kn_at(a->x, i, f), y = kn_at(b->x, j, f);
        dot += x * y;
        d2 += (x - y) * (x - y);
        square += kn_at(a->u, i, f) * kn_at(b->u, j, f);
    }
    for (int m = 0; m < 2; m++)
        same[m] = a->cat[m][i] == b->cat[m][j];
    if (terms & LIN)
        sum += at->w[k++] * dot / NUMBERS;
    if (terms & QUAD)
        sum += at->w[k++] * square / NUMBERS;
    if (terms & SE)
        sum += at->w[k++] * exp(-d2 / (2 * at->shape[0] * at->shape[0]));
    if (terms & CAT)
        sum += at->w[k++] * same[0];
    if (terms & CATS)
        sum += at->w[k++] * same[1];
    if (terms & SLOPE)
        sum += at->w[k++] * same[0] * kn_at(a->x, i, 0) * kn_at(b->x, j, 0);
    return sum;
}

typedef enum noise_kind { USUAL, TINY, HUGE } noise_kind;

typedef struct problem {
    unsigned terms;
    ptrdiff_t N, T, P;
    people train, new;
    bool grouped;
    int *code; /* N */
    kn_mat R;  /* N x N */
    kn_mat Y, B, Z;
    kn_cov cov;
    kn_cov_point at;
    double x[KN_COV_OUTER]; /* the same point in coordinates */
    ptrdiff_t known[NEW];   /* groups of new people */
} problem;

static problem problem_new(kn_rng *rng, unsigned terms, ptrdiff_t N, ptrdiff_t T, ptrdiff_t P,
                           bool grouped, noise_kind noise, bool alike)
{
    problem q = {.terms = terms, .N = N, .T = T, .P = P, .grouped = grouped, .cov = sum_of(terms)};
    q.train = people_new(rng, N, alike, false);
    q.new = people_new(rng, NEW, false, true);
    q.code = calloc((size_t)N, sizeof *q.code);
    for (ptrdiff_t i = 0; i < N; i++) /* some alone, some in crowds */
        q.code[i] = grouped
                        ? (int)(kn_rng_uniform(rng) < 0.3 ? 1000 + i : kn_rng_below(rng, 2 + N / 6))
                        : (int)i;
    for (int k = 0; k < kn_cov_n_outer(&q.cov); k++)
        q.x[k] = 0.7 * kn_rng_normal(rng);
    q.at = kn_cov_point_at(&q.cov, q.x);
    q.R = ref_new(N, N);
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(q.R, j)[i] = relation(terms, &q.at, &q.train, i, &q.train, j);
    /* a signal L e with LL' = R + a little */
    kn_mat L = ref_new(N, N);
    for (ptrdiff_t i = 0; i < N * N; i++)
        L.data[i] = q.R.data[i];
    for (ptrdiff_t i = 0; i < N; i++)
        kn_col(L, i)[i] += 1e-10;
    assert_true(ref_chol(L));
    for (ptrdiff_t j = 0; j < N; j++)
        for (ptrdiff_t i = 0; i < j; i++)
            kn_col(L, j)[i] = 0;
    kn_mat e = ref_normal(rng, N, T);
    q.Y = ref_mul(0, L, 0, e);
    double sd = noise == TINY ? 1e-5 : noise == HUGE ? 1e5 : 0.7;
    for (ptrdiff_t j = 0; j < T; j++) {
        double *shared = calloc((size_t)(1000 + N), sizeof *shared);
        for (ptrdiff_t i = 0; i < 1000 + N; i++)
            shared[i] = grouped ? sd * (double)(j % 3) * kn_rng_normal(rng) : 0;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(q.Y, j)[i] += sd * kn_rng_normal(rng) + shared[q.code[i]];
        free(shared);
    }
    q.B = ref_orthonormal(rng, T, P);
    q.Z = ref_mul(0, q.Y, 0, q.B);
    kn_groups groups;
    assert_ok(ctx, kn_groups_new(ctx, N, q.code, &groups));
    for (int k = 0; k < NEW; k++)
        q.known[k] = k % 2 ? kn_rng_below(rng, groups.n) : -1;
    kn_groups_clear(&groups);
    free(L.data), free(e.data);
    return q;
}

static void problem_free(problem *q)
{
    people_free(q->train);
    people_free(q->new);
    free(q->code), free(q->R.data), free(q->Y.data), free(q->B.data), free(q->Z.data);
}

static kn_engine engine_for(const problem *q, bool low)
{
    kn_spec spec = {.sample = q->cov, .rank = low ? q->N + DESIGN : 0, .additive = true};
    kn_groups groups = {0};
    kn_engine e;
    if (q->grouped)
        assert_ok(ctx, kn_groups_new(ctx, q->N, q->code, &groups));
    kn_engine_data data = {.X = q->train.design,
                           .Z = q->Z,
                           .groups = &groups,
                           .T = q->T,
                           .E = kn_sumsq(q->Y) - kn_sumsq(q->Z),
                           .total = kn_sumsq(q->Y)};
    assert_ok(ctx, kn_engine_new(ctx, &spec, &data, &e));
    return e;
}

static double gamma_of(const kn_engine *e, ptrdiff_t p)
{
    return e->cell[e->in[p]].R0.gamma;
}

/* K = c R0 + d (I + gamma G) */
static kn_mat component_covariance(const problem *q, double c, double d, double gamma)
{
    kn_mat K = ref_new(q->N, q->N);
    for (ptrdiff_t j = 0; j < q->N; j++)
        for (ptrdiff_t i = 0; i < q->N; i++)
            kn_col(K, j)[i] =
                c * kn_at(q->R, i, j) + d * ((i == j) + gamma * (q->code[i] == q->code[j]));
    return K;
}

/* ln N(vec Y; 0, sum_p b b' (x) K_p + s2 (I - BB') (x) I), T N numbers. */
static double whole_density(const problem *q, const kn_engine *e)
{
    ptrdiff_t n = q->N * q->T;
    kn_mat S = ref_new(n, n);
    for (ptrdiff_t p = 0; p < q->P; p++) {
        kn_mat K = component_covariance(q, e->c[p], e->d[p], gamma_of(e, p));
        kn_mat b = kn_cols(q->B, p, 1), bb = ref_mul(0, b, 1, b), all = ref_kron(bb, K);
        for (ptrdiff_t i = 0; i < n * n; i++)
            S.data[i] += all.data[i];
        free(K.data), free(bb.data), free(all.data);
    }
    for (ptrdiff_t t = 0; t < q->T; t++)
        for (ptrdiff_t u = 0; u < q->T; u++) {
            double outside = t == u;
            for (ptrdiff_t p = 0; p < q->P; p++)
                outside -= kn_at(q->B, t, p) * kn_at(q->B, u, p);
            for (ptrdiff_t i = 0; i < q->N; i++)
                kn_col(S, u * q->N + i)[t * q->N + i] += e->s2 * outside;
        }
    double l = ref_log_density(S, q->Y.data);
    free(S.data);
    return l;
}

/* No other c, d or gamma is better: a grid of ln(d/c), c in closed form. */
static void check_profile(const problem *q, const kn_engine *e, ptrdiff_t p)
{
    const double *z = kn_col(q->Z, p);
    for (int g = 0; g < e->n_cells; g++)
        for (double t = -8; t <= 15; t += 1.9) {
            bool infinite = t > 14;
            kn_mat K =
                component_covariance(q, infinite ? 0 : 1, infinite ? 1 : exp(t), kn_gamma[g]);
            double zero = ref_log_density(K, z), scale = 0;
            kn_mat solved = ref_new(q->N, 1); /* z'K^-1 z from the factor left in K */
            for (ptrdiff_t i = 0; i < q->N; i++) {
                double x = z[i];
                for (ptrdiff_t k = 0; k < i; k++)
                    x -= kn_at(K, i, k) * solved.data[k];
                solved.data[i] = x / kn_at(K, i, i);
                scale += solved.data[i] * solved.data[i];
            }
            double N = (double)q->N;
            double here = zero + 0.5 * scale - 0.5 * N * (1 + log(scale / N));
            if (!(here <= e->lml[p] + 1e-7 * fmax(1, fabs(here))))
                fail_msg("component %td: %.10g at gamma %g, t %g, found %.10g", p, here,
                         kn_gamma[g], t, e->lml[p]);
            free(K.data), free(solved.data);
        }
}

/* Which of its maxima each component is in: the likelihood has a kink where one leaves its own. */
typedef struct maxima {
    int cell[8];
    double t[8];
} maxima;

static maxima maxima_of(const kn_engine *e)
{
    maxima m = {0};
    for (ptrdiff_t p = 0; p < e->P; p++) {
        m.cell[p] = e->in[p];
        m.t[p] = e->c[p] > 0 ? log(e->d[p] / e->c[p]) : 1e3;
    }
    return m;
}

static bool same_maxima(const maxima *a, const maxima *b, ptrdiff_t P)
{
    bool same = true;
    for (ptrdiff_t p = 0; p < P; p++)
        same = same && a->cell[p] == b->cell[p] && fabs(a->t[p] - b->t[p]) < 0.5;
    return same;
}

static int differences_taken, kinks;

static void check_likelihood(const problem *q, bool low)
{
    kn_engine e = engine_for(q, low);
    double lml, g[KN_COV_OUTER];
    assert_ok(ctx, kn_engine_nested(ctx, &e, &q->at, &lml, g));
    assert_close(lml, whole_density(q, &e), low ? 1e-8 : 1e-9);
    for (ptrdiff_t p = 0; p < q->P; p++)
        check_profile(q, &e, p);
    double h = 1e-3;
    maxima here = maxima_of(&e);
    for (int k = 0; k < kn_cov_n_outer(&q->cov); k++) {
        double x[KN_COV_OUTER], f[4];
        bool smooth = true;
        for (int s = 0; s < 4; s++) {
            memcpy(x, q->x, sizeof x);
            x[k] += h * (s < 2 ? s - 2 : s - 1);
            kn_cov_point at = kn_cov_point_at(&q->cov, x);
            assert_ok(ctx, kn_engine_nested(ctx, &e, &at, &f[s], NULL));
            maxima there = maxima_of(&e);
            smooth = smooth && (q->N == 1 || same_maxima(&here, &there, q->P)); /* 1: flat */
        }
        differences_taken++;
        kinks += !smooth;
        if (smooth)
            assert_close(g[k], (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h), 1e-6);
    }
    kn_engine_clear(&e);
}

/* The posterior of component p of a latent model for one more person, from the rows that `use` has:
 * who is like training row i by c R0(i), and where group >= 0 a member of that group. */
static void posterior(const problem *q, const kn_latent *l, ptrdiff_t p, const int *use,
                      const double *r, double self, int code, double *mean, double *var)
{
    ptrdiff_t n = 0, *row = calloc((size_t)q->N + 1, sizeof *row);
    double c = l->c[p], d = l->d[p], gamma = kn_latent_gamma(l, p), *z;
    for (ptrdiff_t i = 0; i < q->N; i++)
        if (use[i])
            row[n++] = i;
    kn_mat K = ref_new(n, n), Ks = ref_new(1, n), all = component_covariance(q, c, d, gamma);
    z = calloc((size_t)n + 1, sizeof *z);
    for (ptrdiff_t a = 0; a < n; a++) {
        z[a] = kn_at(q->Z, row[a], p);
        kn_col(Ks, a)[0] = c * r[row[a]] + (code == q->code[row[a]] ? d * gamma : 0);
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(K, b)[a] = kn_at(all, row[a], row[b]);
    }
    double kss = c * self + (code >= 0 ? d * gamma : 0);
    ref_gp(K, z, Ks, &kss, mean, var);
    free(K.data), free(Ks.data), free(all.data), free(z), free(row);
}

static kn_latent latent_for(const problem *q, bool low)
{
    kn_engine e = engine_for(q, low);
    kn_latent l;
    kn_mat X;
    double lml;
    assert_ok(ctx, kn_engine_nested(ctx, &e, &q->at, &lml, NULL));
    assert_ok(ctx, kn_mat_copy(ctx, q->train.design, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &l));
    kn_engine_clear(&e);
    return l;
}

/* What a component's numbers may be off by, of its own size. */
static double scale_of(const kn_latent *l, const problem *q, ptrdiff_t p)
{
    return l->c[p] * 3 + l->d[p] + sqrt(kn_sumsq(kn_cols(q->Z, p, 1)) / (double)q->N);
}

#define assert_within(a, b, room)                                                                  \
    do {                                                                                           \
        double a_ = (a), b_ = (b), r_ = (room);                                                    \
        if (!(fabs(a_ - b_) <= r_))                                                                \
            fail_msg("%s = %.12g, expected %.12g, off by %.3g of %.3g allowed", #a, a_, b_,        \
                     fabs(a_ - b_), r_);                                                           \
    } while (0)

static int code_of_group(const problem *q, const kn_latent *l, ptrdiff_t group)
{
    for (ptrdiff_t i = 0; group >= 0 && i < q->N; i++)
        if (l->groups.n > 0 && l->groups.of[i] == group)
            return q->code[i];
    return -1;
}

static void check_prediction(const problem *q, bool low)
{
    kn_latent l = latent_for(q, low);
    kn_mat mean = ref_new(NEW, q->P), var = ref_new(NEW, q->P);
    double clamped = 0, tol = low ? LIKE_NOBODY : 1e-8, m, v;
    double *r = calloc((size_t)q->N + 1, sizeof *r);
    int *use = calloc((size_t)q->N + 1, sizeof *use);
    for (ptrdiff_t i = 0; i < q->N; i++)
        use[i] = 1;
    for (int known = 0; known < 2; known++) {
        kn_newcomers who = {q->new.design, known && q->grouped ? q->known : NULL};
        assert_ok(ctx, kn_latent_predict(ctx, &l, &who, mean, var, &clamped));
        for (int k = 0; k < NEW; k++) {
            int code = who.group ? code_of_group(q, &l, q->known[k]) : -1;
            for (ptrdiff_t i = 0; i < q->N; i++)
                r[i] = relation(q->terms, &q->at, &q->new, k, &q->train, i);
            double self = relation(q->terms, &q->at, &q->new, k, &q->new, k);
            for (ptrdiff_t p = 0; p < q->P; p++) {
                double room = tol * scale_of(&l, q, p) * (1 + self);
                posterior(q, &l, p, use, r, self, code, &m, &v);
                assert_within(kn_at(mean, k, p), m, room);
                assert_within(kn_at(var, k, p), v, room);
                assert_true(kn_at(var, k, p) >= 0);
            }
        }
    }
    kn_latent_clear(&l);
    free(mean.data), free(var.data), free(r), free(use);
}

static void check_leaving(const problem *q, bool low)
{
    kn_latent l = latent_for(q, low);
    kn_mat mean = ref_new(q->N, q->P), var = ref_new(q->N, q->P);
    double clamped = 0, tol = low ? 1e-7 : 1e-8, m, v;
    int *use = calloc((size_t)q->N + 1, sizeof *use);
    for (int group = 0; group < 2; group++) {
        bool whole = group && l.groups.n > 0;
        assert_ok(ctx, kn_latent_loo(ctx, &l, group ? KN_LEAVE_GROUP : KN_LEAVE_ROW, q->Z, mean,
                                     var, &clamped));
        for (ptrdiff_t k = 0; k < q->N; k++) {
            for (ptrdiff_t i = 0; i < q->N; i++)
                use[i] = whole ? q->code[i] != q->code[k] : i != k;
            for (ptrdiff_t p = 0; p < q->P; p++) {
                double room = tol * scale_of(&l, q, p) * (1 + kn_at(q->R, k, k));
                posterior(q, &l, p, use, kn_col(q->R, k), kn_at(q->R, k, k),
                          whole ? -1 : q->code[k], &m, &v);
                assert_within(kn_at(mean, k, p), m, room);
                assert_within(kn_at(var, k, p), v, room);
                assert_true(kn_at(var, k, p) >= 0);
            }
        }
    }
    kn_latent_clear(&l);
    free(mean.data), free(var.data), free(use);
}

/* Every sum of terms, with and without groups, N and P of all sizes; dense and of low rank. */
static void for_all_shapes(void (*check)(const problem *q, bool low))
{
    static const ptrdiff_t SIZES[] = {1, 2, 3, 5, 12, 30};
    enum { N_SIZES = sizeof SIZES / sizeof *SIZES, T = 4, KINDS = 3 }; /* P: 0, 1, all there are */
    kn_rng rng;
    for (int seed = 0; seed < repeat(5, 1) * N_SIZES * N_SUMS * 2 * KINDS; seed++) {
        int kind = seed % KINDS, grouped = seed / KINDS % 2;
        ptrdiff_t N = SIZES[seed / (2 * KINDS * N_SUMS) % N_SIZES], most = N < T ? N : T;
        kn_rng_init(&rng, 11, (uint64_t)seed);
        problem q = problem_new(&rng, SUMS[seed / (2 * KINDS) % N_SUMS], N, T,
                                kind == 2 ? most : kind, grouped, USUAL, false);
        for (int low = 0; low < 2; low++)
            check(&q, low);
        problem_free(&q);
    }
}

static void likelihood_and_gradient_are_those_of_dense_matrices(void **state)
{
    (void)state;
    differences_taken = kinks = 0;
    for_all_shapes(check_likelihood);
    assert_true(kinks < differences_taken / 50);
}

static void new_people_of_new_and_known_groups_as_by_dense_matrices(void **state)
{
    (void)state;
    for_all_shapes(check_prediction);
}

static void leaving_rows_and_groups_out_equals_deleting_them(void **state)
{
    (void)state;
    for_all_shapes(check_leaving);
}

/* Noise of 1e-5 and of 1e5, and people who are all the same. */
static void extremes_hold_what_the_rest_holds(void **state)
{
    (void)state;
    kn_rng rng;
    for (int s = 0; s < N_SUMS; s++)
        for (int grouped = 0; grouped < 2; grouped++)
            for (int kind = 0; kind < 3; kind++) {
                bool alike = kind == 2;
                kn_rng_init(&rng, 12, (uint64_t)(20 * s + 4 * grouped + kind));
                problem q = problem_new(&rng, SUMS[s], 14, 3, 2, grouped,
                                        alike  ? USUAL
                                        : kind ? HUGE
                                               : TINY,
                                        alike);
                for (int low = 0; low < 2; low++) {
                    check_likelihood(&q, low);
                    check_prediction(&q, low);
                    check_leaving(&q, low);
                }
                problem_free(&q);
            }
}

int main(void)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covariances_of_training_and_new_people_match_golden),
        cmocka_unit_test(likelihood_components_and_gradient_match_golden),
        cmocka_unit_test(latent_predictions_match_golden),
        cmocka_unit_test(leave_one_out_and_leave_group_out_match_golden),
        cmocka_unit_test(folds_noise_and_responses_match_golden),
        cmocka_unit_test(likelihood_and_gradient_are_those_of_dense_matrices),
        cmocka_unit_test(new_people_of_new_and_known_groups_as_by_dense_matrices),
        cmocka_unit_test(leaving_rows_and_groups_out_equals_deleting_them),
        cmocka_unit_test(extremes_hold_what_the_rest_holds),
    };
    int failed = cmocka_run_group_tests_name("additive", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
