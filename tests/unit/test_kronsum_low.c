/* The low-rank Kronecker sum: value, gradients, EM step and predictions against dense Gaussians. */
#include "base/rng.h"
#include "covs.h"
#include "gp/kronsum_low_slopes.h"
#include "gp/mtgpr.h"
#include "gp/mtgpr_maps.h"
#include "gp/predict.h"
#include "la/la.h"
#include "test.h"

static kn_ctx *ctx;

static kn_view view(kn_mat m)
{
    return kn_view_cols(m.data, m.rows, m.cols);
}

static kn_rng seeded(uint64_t seed)
{
    kn_rng rng;
    kn_rng_init(&rng, seed, 0);
    return rng;
}

/* Something to evaluate: covariates, responses, and R0 = (1-rho) XX'/F + rho SE(length). */
typedef struct sample {
    kn_mat X, Y, R; /* R dense */
    kn_scaling scaling;
    kn_responses responses;
    kn_decomp R0;
    kn_mat U; /* of O too, where it is not the identity */
    kn_low_samples s;
} sample;

static void sample_decompose(sample *s, double rho, double length)
{
    kn_cov cov = cov_of("linear+se", s->X.cols);
    kn_pairs pairs;
    double theta[3];
    theta_at_rho(&cov, rho, length, theta);
    assert_ok(ctx, kn_scaling_new(ctx, view(s->Y), false, &s->scaling));
    s->responses = kn_responses_of(view(s->Y), &s->scaling);
    assert_ok(ctx, kn_pairs_within(ctx, s->X, &cov.stats, &pairs));
    assert_ok(ctx, kn_decomp_new(ctx, s->X.rows, &cov, &s->R0));
    assert_ok(ctx, kn_decomp_compute(ctx, &s->R0, &pairs, NULL, theta));
    s->R = ref_new(s->X.rows, s->X.rows);
    kn_cov_fill(&cov, theta, &pairs, s->R);
    kn_mirror(s->R);
    kn_pairs_clear(&pairs);
    s->s = (kn_low_samples){.U = s->R0.U, .r = s->R0.r};
}

static void sample_clear(sample *s)
{
    kn_decomp_clear(&s->R0);
    kn_scaling_clear(&s->scaling);
    free(s->X.data), free(s->Y.data), free(s->R.data), free(s->U.data);
}

static kn_low_point point_copy(kn_low_point p)
{
    kn_low_point q = p;
    q.G = ref_new(p.G.rows, p.G.cols);
    q.H = ref_new(p.H.rows, p.H.cols);
    q.psi = malloc((size_t)p.G.rows * sizeof *q.psi);
    if (p.G.cols > 0)
        kn_mat_set(q.G, p.G);
    if (p.H.cols > 0)
        kn_mat_set(q.H, p.H);
    memcpy(q.psi, p.psi, (size_t)p.G.rows * sizeof *q.psi);
    return q;
}

static void point_free(kn_low_point p)
{
    free(p.G.data), free(p.H.data), free(p.psi);
}

/* C and S, T x T */
static void dense_tasks(kn_low_point p, kn_mat C, kn_mat S)
{
    for (ptrdiff_t a = 0; a < C.rows; a++)
        for (ptrdiff_t b = 0; b < C.rows; b++) {
            double c = a == b ? p.gamma : 0, s = a == b, unit = sqrt(p.psi[a] * p.psi[b]);
            for (ptrdiff_t q = 0; q < p.G.cols; q++)
                c += kn_at(p.G, a, q) * kn_at(p.G, b, q);
            for (ptrdiff_t q = 0; q < p.H.cols; q++)
                s += kn_at(p.H, a, q) * kn_at(p.H, b, q);
            kn_col(C, a)[b] = unit * c;
            kn_col(S, a)[b] = unit * s;
        }
}

/* ln N(vec Y; 0, C (x) (R + iso I) + S (x) I) */
static double dense_lml(const sample *s, kn_low_point p)
{
    ptrdiff_t N = s->Y.rows, T = s->Y.cols;
    kn_mat C = ref_new(T, T), S = ref_new(T, T), I = ref_new(N, N), R = ref_new(N, N);
    dense_tasks(p, C, S);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++) {
            kn_col(I, i)[j] = i == j;
            kn_col(R, i)[j] = kn_at(s->R, i, j) + (i == j ? p.iso : 0);
        }
    kn_mat K = ref_kron(C, R), noise = ref_kron(S, I);
    for (ptrdiff_t i = 0; i < K.rows * K.cols; i++)
        K.data[i] += noise.data[i];
    double lml = ref_log_density(K, s->Y.data);
    free(C.data), free(S.data), free(I.data), free(R.data), free(K.data), free(noise.data);
    return lml;
}

static kn_low_point random_point(kn_rng *rng, ptrdiff_t T, ptrdiff_t P, ptrdiff_t Q)
{
    kn_low_point p = {.G = ref_normal(rng, T, P), .H = ref_normal(rng, T, Q)};
    p.psi = malloc((size_t)T * sizeof *p.psi);
    for (ptrdiff_t j = 0; j < T; j++)
        p.psi[j] = exp(0.5 * kn_rng_normal(rng));
    return p;
}

static void random_sample(kn_rng *rng, ptrdiff_t N, ptrdiff_t T, sample *s)
{
    *s = (sample){.X = ref_normal(rng, N, 2), .Y = ref_normal(rng, N, T)};
    sample_decompose(s, 0.6, 1.1);
}

typedef struct slopes {
    kn_low_gradient g;
    double lml;
} slopes;

static slopes evaluate(const sample *s, kn_low_point p, bool gamma)
{
    kn_low w;
    ptrdiff_t columns[2] = {p.G.cols, p.H.cols};
    slopes out = {.g = {.G = ref_new(s->Y.cols, p.G.cols), .H = ref_new(s->Y.cols, p.H.cols)}};
    out.g.ln_psi = malloc((size_t)s->Y.cols * sizeof(double));
    assert_ok(ctx, kn_low_new(ctx, &s->s, &s->responses, NULL, columns, gamma, &w));
    assert_ok(ctx, kn_low_value(ctx, &w, &p, &out.lml));
    assert_ok(ctx, kn_low_slopes(ctx, &w, &p, &out.g));
    kn_low_clear(&w);
    return out;
}

static void slopes_free(slopes s)
{
    free(s.g.G.data), free(s.g.H.data), free(s.g.ln_psi);
}

/* ---- golden
 * -------------------------------------------------------------------------------------- */

static kn_mat csv_or_none(const char *dir, const char *name, bool there, ptrdiff_t rows)
{
    return there ? ref_csv(dir, name) : ref_new(rows, 0);
}

/* The latent form at the point, as a model has it: components, and where gamma > 0 the complement.
 */
static kn_latent latent_of(sample *s, const kn_low *w)
{
    kn_latent l;
    kn_mat X, A;
    ptrdiff_t k = w->k;
    double *c = calloc((size_t)k + 1, sizeof *c), *d = calloc((size_t)k + 1, sizeof *d);
    for (ptrdiff_t q = 0; q < k; q++)
        c[q] = w->c[q], d[q] = w->c[q] * w->iso + 1;
    c[k] = w->gamma, d[k] = w->gamma * w->iso + 1;
    assert_ok(ctx, kn_mat_new(ctx, w->m, k + 1, &A));
    kn_mat_set(kn_cols(A, 0, k), w->A);
    assert_ok(ctx, kn_mat_copy(ctx, s->X, &X));
    assert_ok(ctx, kn_latent_new(ctx, &(kn_latent_parts){&X, &s->R0, &A, c, d, w->iso}, &l));
    free(c), free(d);
    return l;
}

/* mean = psi^1/2 [mean_lat B' + RU D0], D0 = diag(c0/(c0 r + 1)) (U'Yw - U'Z V'), in double. */
static void predictions(sample *s, kn_low *w, kn_low_point p, kn_mat Xs, kn_mat mean, kn_mat var,
                        kn_mat lat_var)
{
    ptrdiff_t T = w->T, k = w->k, n = Xs.rows;
    kn_mat B = ref_new(T, k), m = ref_new(n, k + 1), RU = ref_new(n, w->m);
    kn_mat UY = ref_mul(1, s->R0.U, 0, s->Y);
    double *outside = malloc((size_t)T * sizeof *outside), clamped = 0;
    kn_cov cov = s->R0.cov;
    kn_pairs pairs;
    kn_mat F = ref_new(n, s->X.rows);
    assert_ok(ctx, kn_pairs_between(ctx, Xs, s->X, &cov.stats, &pairs));
    kn_cov_fill(&cov, s->R0.theta, &pairs, F);
    kn_gemm(ctx, 1, KN_N, F, KN_N, s->R0.U, 0, RU);
    kn_low_loadings(ctx, w, NULL, B);
    kn_low_outside(w, outside);
    double *r = malloc((size_t)w->m * sizeof *r);
    memcpy(r, s->R0.r, (size_t)w->m * sizeof *r);
    kn_latent l = latent_of(s, w);
    assert_ok(ctx, kn_latent_predict(ctx, &l, &(kn_newcomers){.X = Xs}, m, lat_var, &clamped));
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < n; i++) {
            double sum = 0, v = kn_at(lat_var, i, k) * outside[j];
            for (ptrdiff_t q = 0; q < k; q++) {
                sum += kn_at(m, i, q) * kn_at(B, j, q);
                v += kn_at(lat_var, i, q) * kn_at(B, j, q) * kn_at(B, j, q);
            }
            for (ptrdiff_t a = 0; a < w->m; a++) {
                double left = kn_at(UY, a, j) / sqrt(p.psi[j]);
                for (ptrdiff_t q = 0; q < k; q++)
                    left -= kn_at(w->UZ, a, q) * kn_at(w->V, j, q);
                sum += kn_at(RU, i, a) * w->gamma / (w->gamma * r[a] + 1) * left;
            }
            kn_col(mean, j)[i] = sqrt(p.psi[j]) * sum;
            kn_col(var, j)[i] = p.psi[j] * v;
        }
    kn_latent_clear(&l);
    kn_pairs_clear(&pairs);
    free(B.data), free(m.data), free(RU.data), free(UY.data), free(F.data);
    free(outside), free(r);
}

/* Deviance and log density of rows of Ys by V, W and the variances of METHOD 1h. */
static void joint(const kn_low *w, kn_low_point p, kn_mat Ys, kn_mat mean, kn_mat v, ptrdiff_t i,
                  double *deviance, double *density)
{
    double size = 0, inside = 0, v0 = kn_at(v, i, w->k) + 1, det = w->log_det_S;
    *deviance = 0;
    for (ptrdiff_t j = 0; j < w->T; j++) {
        double e = (kn_at(Ys, i, j) - kn_at(mean, i, j)) / sqrt(p.psi[j]);
        size += e * e;
        det += log(p.psi[j]);
    }
    for (ptrdiff_t q = 0; q < w->k; q++) {
        double a = 0, z = 0;
        for (ptrdiff_t j = 0; j < w->T; j++) {
            double e = (kn_at(Ys, i, j) - kn_at(mean, i, j)) / sqrt(p.psi[j]);
            z += e * kn_at(w->V, j, q);
            for (ptrdiff_t b = 0; b < w->k; b++)
                a += e * kn_at(w->V, j, b) * kn_at(w->W, b, q);
        }
        inside += z * z;
        *deviance += a * a / (kn_at(v, i, q) + 1);
        det += log(kn_at(v, i, q) + 1);
    }
    *deviance += (size - inside) / v0;
    det += (double)(w->T - w->k) * log(v0);
    *density = -0.5 * ((double)w->T * log(2 * M_PI) + det + *deviance);
}

/* The same by the walk over maps of an MTGPR, of what mean leaves of Ys: rows that lack nothing. */
static void joint_by_law(kn_low *w, kn_low_point p, kn_mat Ys, kn_mat mean, kn_mat v,
                         kn_mat deviance, kn_mat density)
{
    ptrdiff_t n = Ys.rows, T = w->T, k = w->k;
    kn_mtgpr own = {.P = p.G.cols, .Q = p.H.cols};
    kn_gp gp = {.method = &kn_method_mtgpr,
                .T = T,
                .P = k,
                .complement_component = true,
                .psi = p.psi,
                .B = ref_new(T, k),
                .own = &own};
    kn_part part = {.n = n, .mean = ref_new(n, k + 1), .var = v};
    kn_gp_maps maps = {.gp = &gp, .n = n, .n_parts = 1, .part = &part};
    kn_mat e = ref_new(n, T);
    kn_scaling s;
    kn_law_walk law;
    kn_low_loadings(ctx, w, NULL, gp.B);
    if (own.Q > 0)
        assert_ok(ctx, kn_mtgpr_factor(ctx, gp.B, &own.L));
    for (ptrdiff_t i = 0; i < n * T; i++)
        e.data[i] = Ys.data[i] - mean.data[i];
    assert_ok(ctx, kn_scaling_new(ctx, view(e), false, &s));
    kn_responses Y = kn_responses_of(view(e), &s);
    assert_ok(ctx, kn_law_density(ctx, &maps, &Y, &law));
    assert_same(kn_mat_cols(law.dev, n, 1), deviance, 1e-10);
    assert_same(kn_mat_cols(law.log_p, n, 1), density, 1e-10);
    kn_law_walk_clear(&law);
    kn_scaling_clear(&s);
    kn_mat_clear(&own.L);
    free(gp.B.data), free(part.mean.data), free(e.data);
}

static void golden_case(const char *dir, bool G, bool H)
{
    json_t *expected = ref_json(dir, "expected.json");
    sample s = {.X = ref_csv(dir, "X.csv"), .Y = ref_csv(dir, "Y.csv")};
    ptrdiff_t T = s.Y.cols;
    kn_mat psi = ref_csv(dir, "psi.csv"), Xs = ref_csv(dir, "Xstar.csv");
    kn_mat Ys = ref_csv(dir, "Ystar.csv"), noise = ref_csv(dir, "noise.csv");
    kn_low_point p = {.G = csv_or_none(dir, "G.csv", G, T),
                      .H = csv_or_none(dir, "H.csv", H, T),
                      .psi = psi.data,
                      .gamma = ref_number(expected, "gamma")};
    kn_mat gG = csv_or_none(dir, "grad_G.csv", G, T), gH = csv_or_none(dir, "grad_H.csv", H, T);
    kn_mat gpsi = ref_csv(dir, "grad_ln_psi.csv"), M = ref_csv(dir, "mean.csv");
    kn_mat V = ref_csv(dir, "var_model.csv"), mean = ref_new(M.rows, M.cols);
    kn_mat var = ref_new(M.rows, M.cols), lat = ref_new(M.rows, p.G.cols + p.H.cols + 1);
    kn_mat jo = ref_numbers(expected, "joint"), dev = ref_numbers(expected, "deviance");
    ptrdiff_t columns[2] = {p.G.cols, p.H.cols};
    kn_low w;
    sample_decompose(&s, ref_number(expected, "rho"), ref_number(expected, "length"));
    slopes e = evaluate(&s, p, true);
    assert_close(e.lml, ref_number(expected, "lml"), 1e-10);
    assert_close(e.g.gamma, ref_number(expected, "grad_gamma"), 1e-10);
    if (G)
        assert_same(e.g.G, gG, 1e-10);
    if (H)
        assert_same(e.g.H, gH, 1e-10);
    for (ptrdiff_t j = 0; j < T; j++)
        assert_close(e.g.ln_psi[j], gpsi.data[j], 1e-10);
    if (p.gamma == 0) { /* and without what gamma needs */
        slopes f = evaluate(&s, p, false);
        assert_close(f.lml, e.lml, 1e-12);
        for (ptrdiff_t j = 0; j < T; j++)
            assert_close(f.g.ln_psi[j], gpsi.data[j], 1e-10);
        slopes_free(f);
    }
    assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, true, &w));
    assert_ok(ctx, kn_low_value(ctx, &w, &p, &e.lml));
    lat.cols = w.k + 1;
    predictions(&s, &w, p, Xs, mean, var, lat);
    assert_same(mean, M, 1e-10);
    assert_same(var, V, 1e-10);
    for (ptrdiff_t j = 0; j < T; j++) {
        double h = 1;
        for (ptrdiff_t q = 0; q < p.H.cols; q++)
            h += kn_at(p.H, j, q) * kn_at(p.H, j, q);
        assert_close(psi.data[j] * h, noise.data[j], 1e-10);
    }
    for (ptrdiff_t i = 0; i < Ys.rows; i++) {
        double d, l;
        joint(&w, p, Ys, mean, lat, i, &d, &l);
        assert_close(d, dev.data[i], 1e-10);
        assert_close(l, jo.data[i], 1e-10);
    }
    joint_by_law(&w, p, Ys, mean, lat, dev, jo);
    kn_low_clear(&w);
    slopes_free(e);
    sample_clear(&s);
    json_decref(expected);
    free(p.G.data), free(p.H.data), free(psi.data), free(Xs.data), free(Ys.data), free(noise.data);
    free(gG.data), free(gH.data), free(gpsi.data), free(M.data), free(V.data), free(mean.data);
    free(var.data), free(lat.data), free(jo.data), free(dev.data);
}

static void matches_golden(void **state)
{
    (void)state;
    golden_case("models/kronsum_lowrank/case1", true, true);
    golden_case("models/kronsum_lowrank/case2", true, true);
    golden_case("models/kronsum_lowrank/case3", true, false);
    golden_case("models/kronsum_lowrank/case4", false, true);
}

/* Full covariances by k = T: C = GG', S = psi (I + HH'), psi half of S's least eigenvalue. */
static void full_rank_matches_golden(const char *dir, bool omega)
{
    json_t *expected = ref_json(dir, "expected.json");
    sample s = {.X = ref_csv(dir, "X.csv"), .Y = ref_csv(dir, "Y.csv")};
    kn_mat C = ref_csv(dir, "C.csv"), S = ref_csv(dir, "S.csv"), O = ref_csv(dir, "Omega.csv");
    ptrdiff_t T = s.Y.cols, N = s.Y.rows;
    kn_low_point p = {.G = ref_new(T, T), .H = ref_new(T, T)};
    double *w = malloc((size_t)T * sizeof *w), *r = malloc((size_t)N * sizeof *r);
    kn_mat E = ref_new(T, T);
    kn_mat_set(E, C);
    assert_ok(ctx, kn_eig(ctx, E, w));
    p.psi = malloc((size_t)T * sizeof *p.psi);
    sample_decompose(&s, ref_number(expected, "rho"), ref_number(expected, "length"));
    kn_mat ES = ref_new(T, T);
    double *ws = malloc((size_t)T * sizeof *ws);
    kn_mat_set(ES, S);
    assert_ok(ctx, kn_eig(ctx, ES, ws));
    double psi = 0.5 * ws[0];
    for (ptrdiff_t q = 0; q < T; q++)
        for (ptrdiff_t j = 0; j < T; j++) {
            p.psi[j] = psi;
            kn_col(p.G, q)[j] = kn_at(E, j, q) * sqrt(fmax(w[q], 0) / psi);
            kn_col(p.H, q)[j] = kn_at(ES, j, q) * sqrt(ws[q] / psi - 1);
        }
    if (omega) { /* W_R'O W_R = I */
        double det = 0;
        kn_mat R = ref_new(N, N);
        kn_mat_set(R, s.R);
        assert_true(ref_chol(O));
        kn_trsm_left(ctx, KN_N, O, R);
        kn_trsm_right(ctx, KN_T, O, R);
        assert_ok(ctx, kn_eig(ctx, R, r));
        kn_trsm_left(ctx, KN_T, O, R);
        for (ptrdiff_t i = 0; i < N; i++)
            det += 2 * log(kn_at(O, i, i));
        s.U = R;
        s.s = (kn_low_samples){.U = R, .r = r, .omega = true, .log_det = det};
    }
    slopes e = evaluate(&s, p, true);
    assert_close(e.lml, ref_number(expected, "lml"), 1e-10);
    slopes_free(e);
    kn_low low;
    kn_mat c = ref_numbers(expected, "eig_c");
    ptrdiff_t columns[2] = {T, T};
    assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, false, &low));
    assert_ok(ctx, kn_low_value(ctx, &low, &p, &e.lml));
    for (ptrdiff_t q = 0; q < T; q++)
        assert_close(low.c[q], c.data[T - 1 - q], 1e-10);
    kn_low_clear(&low);
    point_free(p);
    sample_clear(&s);
    json_decref(expected);
    free(C.data), free(S.data), free(O.data), free(E.data), free(ES.data), free(c.data);
    free(w), free(ws), free(r);
}

static void as_many_columns_as_responses_is_the_full_kronecker_sum(void **state)
{
    (void)state;
    full_rank_matches_golden("models/kronsum/case1", false);
    full_rank_matches_golden("models/kronsum/case2", true);
    full_rank_matches_golden("models/kronsum/case3", false);
}

/* ---- Bonilla: R of low rank by given rows
 * ---------------------------------------------------------- */

static kn_low_point bonilla_point(kn_mat L, kn_mat sigma2)
{
    kn_low_point p = {.G = ref_new(L.rows, L.cols), .H = ref_new(L.rows, 0), .psi = sigma2.data};
    for (ptrdiff_t q = 0; q < L.cols; q++)
        for (ptrdiff_t j = 0; j < L.rows; j++)
            kn_col(p.G, q)[j] = kn_at(L, j, q) / sqrt(sigma2.data[j]);
    return p;
}

static void bonilla_matches_golden(void **state)
{
    static const char dir[] = "models/bonilla/case1";
    (void)state;
    json_t *expected = ref_json(dir, "expected.json");
    sample s = {.X = ref_csv(dir, "X.csv"), .Y = ref_csv(dir, "Y.csv")};
    kn_mat L = ref_csv(dir, "L.csv"), sigma2 = ref_csv(dir, "sigma2.csv");
    kn_mat gL = ref_csv(dir, "grad_L.csv"), gs = ref_csv(dir, "grad_ln_sigma2.csv");
    kn_mat inducing = ref_numbers(expected, "inducing"), Xs = ref_csv(dir, "Xstar.csv");
    kn_mat M = ref_csv(dir, "mean.csv"), V = ref_csv(dir, "var_model.csv");
    kn_low_point p = bonilla_point(L, sigma2);
    ptrdiff_t N = s.Y.rows, pivots[16], columns[2] = {L.cols, 0};
    kn_lowrank low;
    kn_low w;
    sample_decompose(&s, ref_number(expected, "rho"), ref_number(expected, "length"));
    slopes e = evaluate(&s, p, false);
    assert_close(e.lml, ref_number(expected, "lml_all_points"), 1e-10);
    slopes_free(e);

    kn_mat Z = ref_new(N, 1);
    for (ptrdiff_t i = 0; i < inducing.rows; i++)
        pivots[i] = (ptrdiff_t)inducing.data[i];
    kn_decomp R0 = {.N = N, .cov = s.R0.cov};
    memcpy(R0.theta, s.R0.theta, sizeof R0.theta);
    assert_ok(ctx, kn_lowrank_new(ctx, s.X, Z, NULL, &s.R0.cov, inducing.rows, &low));
    assert_ok(ctx, kn_lowrank_set_pivots(ctx, &low, inducing.rows, pivots, 0));
    low.tol = 1; /* whatever they leave out */
    assert_ok(ctx, kn_lowrank_at(ctx, &low, s.R0.theta));
    assert_int_equal(low.n_used, inducing.rows);
    assert_ok(ctx, kn_lowrank_decompose(ctx, &low, &R0));
    s.U = ref_new(N, R0.m);
    assert_ok(ctx, kn_decomp_vectors(ctx, &R0, NULL, s.X, s.U));
    s.s = (kn_low_samples){.U = s.U, .r = R0.r};
    e = evaluate(&s, p, false);
    assert_close(e.lml, ref_number(expected, "lml"), 1e-10);
    for (ptrdiff_t j = 0; j < L.rows; j++) { /* from G and psi to L and sigma2 */
        double less = 0;
        for (ptrdiff_t q = 0; q < L.cols; q++) {
            assert_close(kn_at(e.g.G, j, q) / sqrt(sigma2.data[j]), kn_at(gL, j, q), 1e-10);
            less += 0.5 * kn_at(e.g.G, j, q) * kn_at(p.G, j, q);
        }
        assert_close(e.g.ln_psi[j] - less, gs.data[j], 1e-10);
    }
    assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
    assert_ok(ctx, kn_low_value(ctx, &w, &p, &e.lml));
    kn_mat mean = ref_new(M.rows, w.k + 1), var = ref_new(M.rows, w.k + 1);
    kn_mat B = ref_new(L.rows, w.k);
    double clamped = 0;
    kn_low_loadings(ctx, &w, p.psi, B);
    kn_decomp dense = s.R0;
    s.R0 = R0;
    kn_latent l = latent_of(&s, &w);
    s.R0 = dense;
    assert_ok(ctx, kn_latent_predict(ctx, &l, &(kn_newcomers){.X = Xs}, mean, var, &clamped));
    for (ptrdiff_t i = 0; i < M.rows; i++)
        for (ptrdiff_t j = 0; j < M.cols; j++) {
            double m = 0, v = 0;
            for (ptrdiff_t q = 0; q < w.k; q++) {
                m += kn_at(mean, i, q) * kn_at(B, j, q);
                v += kn_at(var, i, q) * kn_at(B, j, q) * kn_at(B, j, q);
            }
            assert_close(m, kn_at(M, i, j), 1e-10);
            assert_close(v, kn_at(V, i, j), 1e-10);
        }
    kn_latent_clear(&l);
    kn_low_clear(&w);
    kn_lowrank_clear(&low);
    slopes_free(e);
    sample_clear(&s);
    json_decref(expected);
    free(p.G.data), free(p.H.data), free(L.data), free(sigma2.data), free(gL.data), free(gs.data);
    free(inducing.data), free(Xs.data), free(M.data), free(V.data), free(Z.data), free(mean.data);
    free(var.data), free(B.data);
}

/* ---- random shapes
 * ------------------------------------------------------------------------------- */

static const struct shape {
    ptrdiff_t N, T, P, Q;
    double gamma, iso, noise;
} SHAPES[] = {
    {7, 5, 1, 0, 0, 0, 1},      {4, 9, 2, 0, 0.4, 0, 1},     {6, 4, 3, 0, 0, 0.7, 1},
    {5, 6, 2, 2, 0.2, 0.5, 1},  {8, 3, 2, 2, 0, 0.3, 1},     {6, 5, 0, 2, 0.5, 0, 1},
    {6, 5, 2, 1, 0.1, 0, 1e-6}, {6, 5, 2, 1, 0.1, 0.2, 1e4}, {5, 7, 4, 2, 0, 0, 1},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES };

static kn_low_point shape_point(kn_rng *rng, const struct shape *a)
{
    kn_low_point p = random_point(rng, a->T, a->P, a->Q);
    p.gamma = a->gamma;
    p.iso = a->iso;
    for (ptrdiff_t j = 0; j < a->T; j++)
        p.psi[j] *= a->noise;
    return p;
}

static void value_is_the_dense_gaussians(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        kn_rng rng = seeded((uint64_t)k + 1);
        sample s;
        random_sample(&rng, SHAPES[k].N, SHAPES[k].T, &s);
        kn_low_point p = shape_point(&rng, &SHAPES[k]);
        slopes e = evaluate(&s, p, true);
        assert_close(e.lml, dense_lml(&s, p), SHAPES[k].noise < 1 ? 1e-8 : 1e-10);
        slopes_free(e);
        point_free(p);
        sample_clear(&s);
    }
}

/* Central difference of the value in one number. */
static double difference(const sample *s, kn_low_point p, double *x, bool log_scale)
{
    double h = log_scale ? 1e-5 : 1e-5 * fmax(1, fabs(*x)), at = *x, f[2];
    for (int k = 0; k < 2; k++) {
        double step = k ? -h : h;
        *x = log_scale ? at * exp(step) : at + step;
        slopes e = evaluate(s, p, true);
        f[k] = e.lml;
        slopes_free(e);
    }
    *x = at;
    return (f[0] - f[1]) / (2 * h);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        if (SHAPES[k].noise != 1)
            continue;
        kn_rng rng = seeded((uint64_t)k + 40);
        sample s;
        random_sample(&rng, SHAPES[k].N, SHAPES[k].T, &s);
        kn_low_point p = shape_point(&rng, &SHAPES[k]);
        p.gamma += 0.1; /* away from the edge, where a difference has one side */
        p.iso += 0.1;
        slopes e = evaluate(&s, p, true);
        for (ptrdiff_t i = 0; i < SHAPES[k].T * SHAPES[k].P; i++)
            assert_close(e.g.G.data[i], difference(&s, p, &p.G.data[i], false), 1e-6);
        for (ptrdiff_t i = 0; i < SHAPES[k].T * SHAPES[k].Q; i++)
            assert_close(e.g.H.data[i], difference(&s, p, &p.H.data[i], false), 1e-6);
        for (ptrdiff_t j = 0; j < SHAPES[k].T; j++)
            assert_close(e.g.ln_psi[j], difference(&s, p, &p.psi[j], true), 1e-6);
        for (int which = 0; which < 2; which++) {
            kn_low_point q = p;
            double h = 1e-5, f[2], *x = which ? &q.iso : &q.gamma, at = *x;
            for (int side = 0; side < 2; side++) {
                *x = at + (side ? -h : h);
                slopes o = evaluate(&s, q, true);
                f[side] = o.lml;
                slopes_free(o);
            }
            assert_close(which ? e.g.iso : e.g.gamma, (f[0] - f[1]) / (2 * h), 1e-6);
        }
        slopes_free(e);
        point_free(p);
        sample_clear(&s);
    }
}

/* A U without its last columns, whose r is 0, says the same as the whole one. */
static void directions_outside_u_count(void **state)
{
    (void)state;
    kn_rng rng = seeded(5);
    sample s = {.X = ref_normal(&rng, 9, 2), .Y = ref_normal(&rng, 9, 6)};
    sample_decompose(&s, 0, 1); /* linear: rank 2 */
    for (int k = 0; k < 3; k++) {
        kn_low_point p = random_point(&rng, 6, 2, k > 0 ? 1 : 0);
        p.gamma = k == 2 ? 0.3 : 0;
        p.iso = k > 0 ? 0.4 : 0;
        for (ptrdiff_t i = 0; i < 7; i++)
            assert_true(s.R0.r[i] < 1e-12);
        slopes whole = evaluate(&s, p, k == 2);
        s.s = (kn_low_samples){.U = kn_cols(s.R0.U, 7, 2), .r = s.R0.r + 7};
        slopes low = evaluate(&s, p, k == 2);
        assert_close(low.lml, whole.lml, 1e-11);
        assert_same(low.g.G, whole.g.G, 1e-10);
        if (k > 0)
            assert_same(low.g.H, whole.g.H, 1e-10);
        for (ptrdiff_t j = 0; j < 6; j++)
            assert_close(low.g.ln_psi[j], whole.g.ln_psi[j], 1e-10);
        assert_close(low.g.iso, whole.g.iso, 1e-10);
        if (k == 2)
            assert_close(low.g.gamma, whole.g.gamma, 1e-10);
        s.s = (kn_low_samples){.U = s.R0.U, .r = s.R0.r};
        slopes_free(whole);
        slopes_free(low);
        point_free(p);
    }
    sample_clear(&s);
}

/* ---- EM
 * ------------------------------------------------------------------------------------------ */

static void em_never_lowers_the_likelihood(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++)
        for (int low = 0; low < 2; low++) {
            const struct shape *a = &SHAPES[k];
            kn_rng rng = seeded((uint64_t)k + 80);
            sample s = {.X = ref_normal(&rng, a->N, 2), .Y = ref_normal(&rng, a->N, a->T)};
            sample_decompose(&s, low ? 0 : 0.5, 1);
            if (low)
                s.s = (kn_low_samples){.U = kn_cols(s.R0.U, a->N - 2, 2), .r = s.R0.r + a->N - 2};
            kn_low_point p = shape_point(&rng, a);
            ptrdiff_t columns[2] = {a->P, a->Q};
            double lml, before = -INFINITY, least[16];
            for (ptrdiff_t j = 0; j < a->T; j++) {
                least[j] = 1e-3 * kn_sumsq(kn_cols(s.Y, j, 1)) / (double)a->N;
                p.psi[j] = fmax(p.psi[j], least[j]);
            }
            kn_low w;
            p.gamma = 0;
            assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
            for (int step = 0; step < 60; step++) {
                assert_ok(ctx, kn_low_value(ctx, &w, &p, &lml));
                assert_true(lml >= before - 1e-9 * fabs(lml));
                before = lml;
                assert_ok(ctx, kn_low_em(ctx, &w, least, &p));
                for (ptrdiff_t j = 0; j < a->T; j++)
                    assert_true(p.psi[j] >= least[j]);
            }
            kn_low_clear(&w);
            point_free(p);
            sample_clear(&s);
        }
}

/* Where EM stands still the gradient is zero. */
static void em_stands_still_at_a_maximum(void **state)
{
    (void)state;
    kn_rng rng = seeded(3);
    sample s = {.X = ref_normal(&rng, 40, 2), .Y = ref_normal(&rng, 40, 4)};
    kn_low_point p = random_point(&rng, 4, 1, 0);
    ptrdiff_t columns[2] = {1, 0};
    double lml, least[4] = {1e-3, 1e-3, 1e-3, 1e-3};
    kn_low w;
    for (ptrdiff_t i = 0; i < 40; i++) { /* one factor, so that no response is all signal */
        double f = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < 4; j++)
            kn_col(s.Y, j)[i] += f;
    }
    sample_decompose(&s, 0.6, 1.1);
    p.iso = 0.5;
    assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, false, &w));
    for (int step = 0; step < 5000; step++) {
        assert_ok(ctx, kn_low_value(ctx, &w, &p, &lml));
        assert_ok(ctx, kn_low_em(ctx, &w, least, &p));
    }
    slopes e = evaluate(&s, p, false);
    for (ptrdiff_t j = 0; j < 4; j++) {
        assert_true(p.psi[j] > 1e-2);
        assert_true(fabs(e.g.G.data[j]) < 1e-6);
        assert_true(fabs(e.g.ln_psi[j]) < 1e-6);
    }
    slopes_free(e);
    kn_low_clear(&w);
    point_free(p);
    sample_clear(&s);
}

static void a_mean_is_taken_off(void **state)
{
    (void)state;
    kn_rng rng = seeded(9);
    sample s;
    random_sample(&rng, 8, 5, &s);
    kn_low_point p = random_point(&rng, 5, 2, 1), q = point_copy(p);
    double mu[5], lml[2], least[5] = {0};
    ptrdiff_t columns[2] = {2, 1};
    kn_low w[2];
    kn_scaling scaling;
    kn_mat shifted = ref_new(8, 5);
    for (ptrdiff_t j = 0; j < 5; j++) {
        mu[j] = (double)j - 1.3;
        for (ptrdiff_t i = 0; i < 8; i++)
            kn_col(shifted, j)[i] = kn_at(s.Y, i, j) + mu[j];
    }
    assert_ok(ctx, kn_scaling_new(ctx, view(shifted), false, &scaling));
    kn_responses Y = kn_responses_of(view(shifted), &scaling);
    assert_ok(ctx, kn_low_new(ctx, &s.s, &s.responses, NULL, columns, true, &w[0]));
    assert_ok(ctx, kn_low_new(ctx, &s.s, &Y, mu, columns, true, &w[1]));
    for (int k = 0; k < 2; k++) {
        kn_low_point *at = k ? &q : &p;
        assert_ok(ctx, kn_low_value(ctx, &w[k], at, &lml[k]));
        assert_ok(ctx, kn_low_em(ctx, &w[k], least, at));
    }
    assert_close(lml[1], lml[0], 1e-12);
    assert_same(q.G, p.G, 1e-11);
    assert_same(q.H, p.H, 1e-11);
    kn_low_clear(&w[0]);
    kn_low_clear(&w[1]);
    kn_scaling_clear(&scaling);
    point_free(p);
    point_free(q);
    free(shifted.data);
    sample_clear(&s);
}

static int setup(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return ctx ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_golden),
        cmocka_unit_test(as_many_columns_as_responses_is_the_full_kronecker_sum),
        cmocka_unit_test(bonilla_matches_golden),
        cmocka_unit_test(value_is_the_dense_gaussians),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(directions_outside_u_count),
        cmocka_unit_test(em_never_lowers_the_likelihood),
        cmocka_unit_test(em_stands_still_at_a_maximum),
        cmocka_unit_test(a_mean_is_taken_off),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
