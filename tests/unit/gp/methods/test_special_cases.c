/* Where one system is another's special case both say the same numbers, each by its own code:
 *
 *     low-rank Kronecker sum, k = T       = MT-Kronsum                    [METHOD 1h, 1g]
 *     MTGPR by as many pivots as participants   = MTGPR of the exact R0         [METHOD 1h, 6a]
 *     whitened noise                      = MT-Kronsum of its C and S     [METHOD 1f, 1g]
 *     whitened, psi = 1 and c0 = 0        = structured noise              [METHOD 1f, 1b]
 *     whitened, P = T                     has no complement               [METHOD 1f] */
#include "base/random.h"
#include "data/scaling.h"
#include "gp/basis/complement.h"
#include "gp/methods/kronsum/internal.h"
#include "gp/methods/methods.h"
#include "gp/methods/mtgpr/internal.h"
#include "gp/methods/smtgpr/internal.h"
#include "gp/predict/loo.h"
#include "gp/predict/map_density.h"
#include "gp/predict/predict.h"
#include "la/la.h"
#include "support/covs.h"
#include "support/test.h"
#include "support/views.h"

static kn_ctx *ctx;

/* Covariates, responses, R0 and a participant new. */
typedef struct participants {
    ptrdiff_t N, T;
    kn_mat X, Y, Xs, Ys;
    kn_spec spec;
    double theta[KN_COV_THETA];
    kn_scaling scaling;
    kn_responses responses;
    kn_groups groups;
} participants;

enum { NEW = 4 };

static participants participants_new(kn_rng *rng, ptrdiff_t N, ptrdiff_t T)
{
    participants p = {.N = N,
                      .T = T,
                      .X = ref_normal(rng, N, 2),
                      .Y = ref_normal(rng, N, T),
                      .Xs = ref_normal(rng, NEW, 2),
                      .Ys = ref_normal(rng, NEW, T),
                      .spec = {.sample = cov_of("linear+se", 2)}};
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(p.Y, j)[i] += kn_at(p.X, i, 0) * cos((double)j);
    theta_at_rho(&p.spec.sample, 0.6, 1.1, p.theta);
    assert_ok(ctx, kn_scaling_new(ctx, view(p.Y), false, &p.scaling));
    return p;
}

static void participants_free(participants *p)
{
    kn_scaling_clear(&p->scaling);
    kn_groups_clear(&p->groups);
    free(p->X.data), free(p->Y.data), free(p->Xs.data), free(p->Ys.data);
}

/* What a process says of the new participants, and of its own left out. */
typedef struct said {
    kn_mat mean, var, joint, left_mean, left_var;
} said;

static said say(const participants *p, const kn_gp *gp)
{
    said s = {ref_new(NEW, p->T), ref_new(NEW, p->T), ref_new(NEW, 2), ref_new(p->N, p->T),
              ref_new(p->N, p->T)};
    kn_gp_maps maps;
    kn_map_density_state density;
    kn_scaling scaling;
    assert_ok(ctx, kn_gp_predict(ctx, gp, &(kn_predict_input){.X = p->Xs}, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, s.mean, s.var));
    assert_ok(ctx, kn_scaling_new(ctx, view(p->Ys), false, &scaling));
    kn_responses Y = kn_responses_of(view(p->Ys), &scaling);
    assert_ok(ctx, kn_map_density_evaluate(ctx, &maps, &Y, &density));
    for (ptrdiff_t i = 0; i < NEW; i++) {
        kn_col(s.joint, 0)[i] = density.log_p[i];
        kn_col(s.joint, 1)[i] = density.dev[i];
    }
    kn_map_density_state_clear(&density);
    kn_gp_maps_clear(&maps);
    kn_scaling_clear(&scaling);
    assert_ok(ctx, kn_gp_loo(ctx, gp, &p->responses, &maps));
    assert_ok(ctx, kn_gp_maps_block(ctx, &maps, 0, s.left_mean, s.left_var));
    kn_gp_maps_clear(&maps);
    return s;
}

static void said_free(said s)
{
    free(s.mean.data), free(s.var.data), free(s.joint.data);
    free(s.left_mean.data), free(s.left_var.data);
}

static void check_said(said a, said b, double tol)
{
    assert_same(a.mean, b.mean, tol);
    assert_same(a.var, b.var, tol < 1e-9 ? tol : 1e-9); /* only the mean has float32 in it */
    assert_same(a.joint, b.joint, tol);
    assert_same(a.left_mean, b.left_mean, 1e-9);
    assert_same(a.left_var, b.left_var, 1e-9);
}

/* ---- MT-Kronsum at given C and S ---- */

typedef struct full {
    kn_kronsum_side side;
    kn_kronsum k;
    kn_kronsum_data data;
    kn_gp gp;
} full;

static void full_at(const participants *p, kn_mat C, kn_mat S, double tau, full *f)
{
    *f = (full){0};
    kn_kronsum_problem of = {
        .spec = &p->spec, .theta = p->theta, .X = p->X, .Y = p->Y, .groups = &p->groups};
    assert_ok(ctx, kn_kronsum_side_new(ctx, &of, &f->side));
    if (tau > 0)
        assert_ok(ctx, kn_kronsum_side_at(ctx, &f->side, tau));
    f->data = kn_kronsum_side_data(&f->side);
    assert_ok(ctx, kn_kronsum_new(ctx, p->T, f->side.A.rows, &f->k));
    assert_ok(ctx, kn_kronsum_evaluate(ctx, &f->data, C, S, &f->k));
}

/* As a process; the side has no decomposition after it. */
static said full_says(const participants *p, full *f)
{
    kn_gp *gp = &f->gp;
    *gp = (kn_gp){
        .method = &kn_method_kronsum, .spec = p->spec, .N = p->N, .F = 2, .T = p->T, .P = p->T};
    assert_ok(ctx, kn_mat_copy(ctx, f->k.Q, &gp->B));
    assert_ok(ctx, kn_mat_copy(ctx, f->k.W, &gp->W));
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &gp->noise));
    assert_ok(ctx, kn_kronsum_latent_new(ctx, &f->side, &gp->latent));
    kn_kronsum_latent_set(ctx, &f->side, &f->k, &gp->latent);
    return say(p, gp);
}

static void full_clear(full *f)
{
    if (f->gp.method) {
        kn_mat_clear(&f->gp.B);
        kn_mat_clear(&f->gp.W);
        kn_free(f->gp.noise);
        kn_latent_clear(&f->gp.latent);
    }
    kn_kronsum_clear(&f->k);
    kn_kronsum_side_clear(&f->side);
}

/* ---- the low-rank Kronecker sum ---- */

/* C = Psi^1/2 (GG' + gamma I) Psi^1/2,  S = Psi^1/2 (I + HH') Psi^1/2 */
static kn_mat spread(kn_mat G, double diagonal, const double *psi)
{
    kn_mat C = ref_mul(0, G, 1, G);
    for (ptrdiff_t a = 0; a < C.rows; a++)
        for (ptrdiff_t b = 0; b < C.rows; b++)
            kn_col(C, a)[b] = (kn_at(C, b, a) + (a == b ? diagonal : 0)) * sqrt(psi[a] * psi[b]);
    return C;
}

/* 2 Psi^1/2 D Psi^1/2 G: what the derivative by a covariance is by its columns */
static kn_mat by_columns(kn_mat D, kn_mat G, const double *psi)
{
    kn_mat W = ref_new(D.rows, D.cols);
    for (ptrdiff_t a = 0; a < D.rows; a++)
        for (ptrdiff_t b = 0; b < D.rows; b++)
            kn_col(W, a)[b] = 2 * kn_at(D, b, a) * sqrt(psi[a] * psi[b]);
    kn_mat out = ref_mul(0, W, 0, G);
    free(W.data);
    return out;
}

static kn_lowrank_sum_point random_point(kn_rng *rng, ptrdiff_t T, ptrdiff_t P, ptrdiff_t Q,
                                         double gamma)
{
    kn_lowrank_sum_point at = {.G = ref_normal(rng, T, P),
                               .H = ref_normal(rng, T, Q),
                               .gamma = gamma};
    at.psi = malloc((size_t)T * sizeof *at.psi);
    for (ptrdiff_t j = 0; j < T; j++)
        at.psi[j] = exp(0.5 * kn_rng_normal(rng));
    return at;
}

static void point_free(kn_lowrank_sum_point at)
{
    free(at.G.data), free(at.H.data), free(at.psi);
}

/* The low-rank form as MTGPR keeps it; takes R0. */
static void low_process(const participants *p, const kn_lowrank_sum *w,
                        const kn_lowrank_sum_point *at, kn_decomp *R0, kn_gp *gp)
{
    ptrdiff_t k = w->k;
    bool complement = at->gamma > 0 && k < p->T;
    kn_mat X, A;
    double c[16], d[16];
    *gp = (kn_gp){.method = &kn_method_mtgpr,
                  .spec = p->spec,
                  .N = p->N,
                  .F = 2,
                  .T = p->T,
                  .P = k,
                  .pca = true,
                  .complement_component = complement};
    assert_ok(ctx, kn_alloc(ctx, 1, sizeof(kn_mtgpr), &gp->own));
    kn_mtgpr *own = gp->own;
    *own = (kn_mtgpr){.P = w->P, .Q = w->Q};
    assert_ok(ctx, kn_mat_new(ctx, p->T, k, &gp->B));
    kn_lowrank_sum_loadings(ctx, w, NULL, gp->B);
    assert_ok(ctx, kn_mtgpr_factor(ctx, gp->B, &own->L));
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &gp->psi));
    memcpy(gp->psi, at->psi, (size_t)p->T * sizeof(double));
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &gp->noise));
    assert_ok(ctx, kn_mat_copy(ctx, p->X, &X));
    assert_ok(ctx, kn_mat_new(ctx, w->m, k + complement, &A));
    kn_mat_set(kn_cols(A, 0, k), w->A);
    for (ptrdiff_t q = 0; q < k + complement; q++) {
        c[q] = q < k ? w->c[q] : w->gamma;
        d[q] = c[q] * at->iso + 1;
    }
    assert_ok(ctx, kn_latent_new(ctx, &(kn_latent_parts){&X, R0, &A, c, d, at->iso}, &gp->latent));
    if (!complement)
        return;
    kn_complement_input of = {.Y = &p->responses, .psi = at->psi, .V = w->V, .AV = w->UZ};
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &gp->outside));
    kn_lowrank_sum_outside(w, gp->outside);
    assert_ok(ctx, kn_complement_make(ctx, &gp->latent, &of, &gp->D0));
}

static void check_slopes(const participants *p, const kn_lowrank_sum_point *at, kn_mat C, kn_mat S,
                         const kn_lowrank_sum_gradient *g, full *f)
{
    ptrdiff_t T = p->T;
    kn_mat GC = ref_new(T, T), GS = ref_new(T, T);
    kn_kronsum_gradient(ctx, &f->k, GC, GS);
    kn_mat dG = by_columns(GC, at->G, at->psi), dH = by_columns(GS, at->H, at->psi);
    kn_mat CC = ref_mul(0, GC, 0, C), SS = ref_mul(0, GS, 0, S);
    double gamma = 0;
    assert_same(g->G, dG, 1e-10);
    assert_same(g->H, dH, 1e-10);
    for (ptrdiff_t j = 0; j < T; j++) {
        assert_close(g->ln_psi[j], kn_at(CC, j, j) + kn_at(SS, j, j), 1e-10);
        gamma += at->psi[j] * kn_at(GC, j, j);
    }
    assert_close(g->gamma, gamma, 1e-10);
    free(GC.data), free(GS.data), free(dG.data), free(dH.data), free(CC.data), free(SS.data);
}

/* Columns as many as T in all or more, or fewer with gamma: C and S are the same matrices. */
static void check_low(kn_rng *rng, ptrdiff_t T, ptrdiff_t P, ptrdiff_t Q, double gamma, double tau)
{
    participants p = participants_new(rng, 13, T);
    kn_lowrank_sum_point at = random_point(rng, T, P, Q, gamma);
    kn_mat C = spread(at.G, gamma, at.psi), S = spread(at.H, 1, at.psi);
    ptrdiff_t columns[2] = {P, Q};
    int code[13];
    kn_lowrank_sum w;
    full f;
    double lml;
    kn_lowrank_sum_gradient g = {.G = ref_new(T, P), .H = ref_new(T, Q)};
    g.ln_psi = malloc((size_t)T * sizeof(double));
    p.responses = kn_responses_of(view(p.Y), &p.scaling);
    for (int i = 0; i < 13; i++)
        code[i] = i / 3;
    if (tau > 0)
        assert_ok(ctx, kn_groups_new(ctx, 13, code, &p.groups));
    full_at(&p, C, S, tau, &f);
    kn_lowrank_sum_samples s = {.U = f.side.R0.U,
                                .r = f.side.R0.r,
                                .omega = tau > 0,
                                .log_det = f.side.log_det};
    assert_ok(ctx, kn_lowrank_sum_new(ctx, &s, &p.responses, NULL, columns, true, &w));
    assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &at, &lml));
    assert_close(lml, f.k.lml, 1e-10);
    assert_ok(ctx, kn_lowrank_sum_slopes(ctx, &w, &at, &g));
    check_slopes(&p, &at, C, S, &g, &f);
    if (tau == 0) {
        kn_gp gp;
        kn_decomp R0;
        kn_pairs pairs;
        assert_ok(ctx, kn_pairs_within(ctx, p.X, &p.spec.sample.stats, &pairs));
        assert_ok(ctx, kn_decomp_new(ctx, p.N, &p.spec.sample, &R0));
        assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, p.theta));
        low_process(&p, &w, &at, &R0, &gp);
        said a = say(&p, &gp), b = full_says(&p, &f);
        check_said(a, b, gp.complement_component ? 1e-6 : 1e-10); /* D0 is in float32 */
        said_free(a), said_free(b);
        kn_gp_clear(&gp);
        kn_pairs_clear(&pairs);
    }
    kn_lowrank_sum_clear(&w);
    full_clear(&f);
    participants_free(&p);
    point_free(at);
    free(C.data), free(S.data), free(g.G.data), free(g.H.data), free(g.ln_psi);
}

static void low_rank_is_kronsum_of_its_covariances(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 1, 0);
    check_low(&rng, 4, 4, 4, 0, 0);   /* free */
    check_low(&rng, 5, 5, 5, 0.3, 0); /* gamma inside all of V */
    check_low(&rng, 5, 2, 3, 0, 0);   /* k = T by both together */
    check_low(&rng, 1, 1, 1, 0, 0);
    check_low(&rng, 6, 2, 1, 0.4, 0); /* a complement with signal */
    check_low(&rng, 6, 2, 1, 0, 0);   /* and without */
    check_low(&rng, 4, 4, 4, 0, 0.7); /* groups */
    check_low(&rng, 6, 1, 2, 0.2, 0.7);
}

/* ---- R0 by pivots ---- */

static void as_many_pivots_as_participants_is_the_exact_covariance(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 2, 0);
    for (int gamma = 0; gamma < 2; gamma++) {
        participants p = participants_new(&rng, 11, 6);
        kn_lowrank_sum_point at = random_point(&rng, 6, 2, gamma, 0.5 * gamma);
        ptrdiff_t columns[2] = {2, gamma};
        kn_lowrank low;
        kn_pairs pairs;
        kn_mat Z = ref_new(11, 1), U = ref_new(11, 11);
        said s[2];
        double lml[2], orthogonal = 0;
        at.iso = 0.2; /* then also what is outside U would count */
        p.responses = kn_responses_of(view(p.Y), &p.scaling);
        for (int exact = 0; exact < 2; exact++) {
            kn_decomp R0 = {.N = 11, .cov = p.spec.sample};
            kn_lowrank_sum w;
            kn_gp gp;
            if (exact) {
                assert_ok(ctx, kn_pairs_within(ctx, p.X, &p.spec.sample.stats, &pairs));
                assert_ok(ctx, kn_decomp_new(ctx, 11, &p.spec.sample, &R0));
                assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, p.theta));
                kn_pairs_clear(&pairs);
                /* By pivots U is made of eigenvectors of F'F, R0 = FF': they are orthogonal to
                 * within rounding times the largest eigenvalue by the least. */
                orthogonal = 11 * DBL_EPSILON * R0.r[10] / R0.r[0];
            } else {
                memcpy(R0.theta, p.theta, sizeof p.theta);
                assert_ok(ctx, kn_lowrank_new(ctx, p.X, Z, NULL, &p.spec.sample, 11, &low));
                low.tol = 0;
                assert_ok(ctx, kn_lowrank_at(ctx, &low, p.theta));
                assert_ok(ctx, kn_lowrank_decompose(ctx, &low, &R0));
                kn_mat_clear(&R0.rotation);
                assert_int_equal(R0.m, 11);
                assert_ok(ctx, kn_decomp_vectors(ctx, &R0, NULL, p.X, U));
                kn_lowrank_clear(&low);
            }
            kn_lowrank_sum_samples samples = {.U = exact ? R0.U : U, .r = R0.r};
            assert_ok(ctx,
                      kn_lowrank_sum_new(ctx, &samples, &p.responses, NULL, columns, true, &w));
            assert_ok(ctx, kn_lowrank_sum_value(ctx, &w, &at, &lml[exact]));
            low_process(&p, &w, &at, &R0, &gp);
            s[exact] = say(&p, &gp);
            kn_gp_clear(&gp);
            kn_lowrank_sum_clear(&w);
        }
        assert_close(lml[0], lml[1], 1e-10 + orthogonal);
        check_said(s[0], s[1], (gamma ? 1e-6 : 1e-10) + orthogonal);
        said_free(s[0]), said_free(s[1]);
        participants_free(&p);
        point_free(at);
        free(Z.data), free(U.data);
    }
}

/* ---- whitened noise ---- */

/* Components of the whitened responses in a basis; c, d by their profiles. */
static void whiten(const participants *p, kn_mat B, const double *psi, kn_whitened *w)
{
    kn_mat Yw = ref_new(p->N, p->T);
    *w = (kn_whitened){.complement = B.cols < p->T};
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &w->factors.psi));
    assert_ok(ctx, kn_mat_copy(ctx, B, &w->factors.B));
    for (ptrdiff_t j = 0; j < p->T; j++) {
        w->factors.psi[j] = psi[j];
        for (ptrdiff_t i = 0; i < p->N; i++)
            kn_col(Yw, j)[i] = kn_at(p->Y, i, j) / sqrt(psi[j]);
    }
    kn_mat Z = ref_mul(0, Yw, 0, B);
    assert_ok(ctx, kn_mat_copy(ctx, Z, &w->factors.Z));
    w->factors.total = kn_sumsq(Yw);
    kn_whitened_data of = {&p->spec, p->X, &p->responses, NULL, p->theta};
    assert_ok(ctx, kn_whitened_at(ctx, &of, w));
    free(Yw.data), free(Z.data);
}

static void whitened_process(const participants *p, kn_whitened *w, kn_gp *gp)
{
    *gp = (kn_gp){.method = &kn_method_whitened,
                  .spec = p->spec,
                  .N = p->N,
                  .F = 2,
                  .T = p->T,
                  .P = w->factors.B.cols,
                  .pca = true,
                  .complement_component = w->complement,
                  .s2 = w->complement ? w->latent.d[w->factors.B.cols] : 0};
    gp->spec.noise = KN_NOISE_WHITENED;
    if (w->complement) {
        kn_whitened_data of = {&p->spec, p->X, &p->responses, NULL, p->theta};
        kn_complement_input outside = kn_whitened_outside(&of, w);
        assert_ok(ctx, kn_complement_make(ctx, &w->latent, &outside, &gp->D0));
    }
    assert_ok(ctx, kn_alloc_d(ctx, p->T, &gp->noise));
    gp->psi = w->factors.psi;
    gp->B = w->factors.B;
    gp->latent = w->latent;
    kn_mat_clear(&w->factors.Z);
}

/* Psi^1/2 [B diag(x) B' + x0 (I-BB')] Psi^1/2 */
static kn_mat covariance_of(kn_mat B, const double *psi, const double *x)
{
    ptrdiff_t T = B.rows, P = B.cols;
    kn_mat C = ref_new(T, T);
    double rest = P < T ? x[P] : 0;
    for (ptrdiff_t a = 0; a < T; a++)
        for (ptrdiff_t b = 0; b < T; b++) {
            double sum = a == b ? rest : 0;
            for (ptrdiff_t q = 0; q < P; q++)
                sum += kn_at(B, a, q) * kn_at(B, b, q) * (x[q] - rest);
            kn_col(C, a)[b] = sum * sqrt(psi[a] * psi[b]);
        }
    return C;
}

static void whitened_noise_is_kronsum_of_its_covariances(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    static const ptrdiff_t SHAPE[][3] = {{14, 6, 2}, {14, 5, 5}, {9, 12, 3}, {10, 4, 0}, {8, 1, 1}};
    for (int k = 0; k < 5; k++) {
        ptrdiff_t T = SHAPE[k][1], P = SHAPE[k][2];
        participants p = participants_new(&rng, SHAPE[k][0], T);
        kn_mat B = ref_orthonormal(&rng, T, P);
        double psi[16];
        kn_whitened w;
        kn_gp gp;
        full f;
        p.responses = kn_responses_of(view(p.Y), &p.scaling);
        for (ptrdiff_t j = 0; j < T; j++)
            psi[j] = exp(0.5 * kn_rng_normal(&rng));
        whiten(&p, B, psi, &w);
        kn_mat C = covariance_of(B, psi, w.latent.c), S = covariance_of(B, psi, w.latent.d);
        full_at(&p, C, S, 0, &f);
        assert_close(w.lml, f.k.lml, 1e-10);
        whitened_process(&p, &w, &gp);
        said a = say(&p, &gp), b = full_says(&p, &f);
        check_said(a, b, P < T ? 1e-5 : 1e-10); /* D0 is in float32, small directions left out */
        said_free(a), said_free(b);
        kn_gp_clear(&gp);
        full_clear(&f);
        participants_free(&p);
        free(B.data), free(C.data), free(S.data);
    }
}

/* Outside the basis only the direction with least of the covariates varies: c0 = 0 is the best. */
static void whitened_without_whitening_and_signal_outside_is_structured(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 4, 0);
    enum { N = 12, T = 7, P = 3 };
    participants p = participants_new(&rng, N, T);
    kn_mat B = ref_orthonormal(&rng, T, P), Z = ref_mul(0, p.Y, 0, B), in = ref_mul(0, Z, 1, B);
    kn_decomp R0;
    kn_pairs pairs;
    kn_whitened w;
    kn_gp gp;
    kn_engine e = {0};
    double psi[T], lml, outside = 0;
    assert_ok(ctx, kn_pairs_within(ctx, p.X, &p.spec.sample.stats, &pairs));
    assert_ok(ctx, kn_decomp_new(ctx, N, &p.spec.sample, &R0));
    assert_ok(ctx, kn_decomp_compute(ctx, &R0, &pairs, NULL, p.theta));
    ptrdiff_t lowest = R0.r[0] < R0.r[N - 1] ? 0 : N - 1;
    for (ptrdiff_t j = 0; j < T; j++) {
        double along = 0;
        psi[j] = 1;
        for (ptrdiff_t i = 0; i < N; i++)
            along += kn_at(R0.U, i, lowest) * (kn_at(p.Y, i, j) - kn_at(in, i, j));
        for (ptrdiff_t i = 0; i < N; i++) {
            double left = kn_at(R0.U, i, lowest) * along;
            kn_col(p.Y, j)[i] = kn_at(in, i, j) + left;
            outside += left * left;
        }
    }
    kn_scaling_clear(&p.scaling);
    assert_ok(ctx, kn_scaling_new(ctx, view(p.Y), false, &p.scaling));
    p.responses = kn_responses_of(view(p.Y), &p.scaling);
    whiten(&p, B, psi, &w);
    assert_true(w.latent.c[P] == 0);
    kn_spec spec = p.spec;
    spec.noise = KN_NOISE_STRUCTURED;
    assert_ok(ctx, engine_over(ctx, &spec, p.X, Z, T, outside, kn_sumsq(p.Y), &e));
    assert_ok(ctx, kn_engine_at(ctx, &e, p.theta, &lml));
    assert_close(w.lml, lml, 1e-10);
    assert_close(w.latent.d[P], e.s2, 1e-10);
    for (ptrdiff_t q = 0; q < P; q++) {
        assert_close(w.latent.c[q], e.c[q], 1e-10);
        assert_close(w.latent.d[q], e.d[q], 1e-10);
    }
    whitened_process(&p, &w, &gp);
    assert_null(gp.D0.data);
    said a = say(&p, &gp);
    gp.method = &kn_method_smtgpr;
    gp.spec.noise = KN_NOISE_STRUCTURED;
    kn_free(gp.psi);
    gp.psi = NULL;
    said b = say(&p, &gp);
    check_said(a, b, 1e-10);
    said_free(a), said_free(b);
    kn_gp_clear(&gp);
    kn_engine_clear(&e);
    kn_decomp_clear(&R0);
    kn_pairs_clear(&pairs);
    participants_free(&p);
    free(B.data), free(Z.data), free(in.data);
}

/* Also in folds; where a fold has fewer participants than responses it has a complement all the
 * same. */
static void as_many_components_as_responses_leave_no_complement(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 5, 0);
    participants p = participants_new(&rng, 12, 8);
    for (int folds = 2; folds <= 6; folds += 4) {
        kn_settings s;
        kn_model *m;
        kn_maps *maps;
        kn_mat mean = ref_new(12, 8), var = ref_new(12, 8);
        kn_settings_init(&s);
        s.noise = KN_NOISE_WHITENED;
        s.components = 8;
        s.folds = folds;
        s.group = "none";
        s.calibrate = KN_CALIBRATE_NONE;
        assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), &s, &m));
        assert_false(m->gp.complement_component);
        assert_int_equal(m->gp.latent.P, 8);
        assert_null(m->gp.D0.data);
        assert_true(isfinite(m->info.cv.msll) && isfinite(m->info.lml));
        assert_ok(ctx, kn_maps_cv(ctx, m, view(p.Y), folds, NULL, &maps));
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, 8, mean, var));
        for (ptrdiff_t i = 0; i < 12 * 8; i++)
            assert_true(isfinite(mean.data[i]) && var.data[i] >= 0);
        kn_maps_free(maps);
        kn_model_free(m);
        free(mean.data), free(var.data);
    }
    participants_free(&p);
}

TEST_PROGRAM(methods_special_cases)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_rank_is_kronsum_of_its_covariances),
        cmocka_unit_test(as_many_pivots_as_participants_is_the_exact_covariance),
        cmocka_unit_test(whitened_noise_is_kronsum_of_its_covariances),
        cmocka_unit_test(whitened_without_whitening_and_signal_outside_is_structured),
        cmocka_unit_test(as_many_components_as_responses_leave_no_complement),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
