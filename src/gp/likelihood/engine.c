/* Implements engine.h: the state of an evaluation, dense or low rank. The likelihoods themselves
 * are in structured_noise.c and iso_noise.c (with iso_inner_search.c), the gradient in gradient.c.
 */
#include "gp/likelihood/engine.h"

#include <math.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "gp/likelihood/internal.h"
#include "gp/likelihood/profile_1d.h"
#include "la/la.h"

static const double EMPTY_COMPLEMENT = 1e-10; /* proportion of |Y|^2, METHOD 2 */
const double kn_rank_tolerance_search = 1e-6, kn_rank_tolerance = 1e-12;

void kn_engine_clear(kn_engine *e)
{
    kn_pairs_clear(&e->pairs);
    kn_lowrank_clear(&e->low);
    kn_groups_clear(&e->groups);
    for (int k = 0; k < e->n_cells; k++) {
        kn_decomp_clear(&e->cell[k].R0);
        kn_mat_clear(&e->cell[k].A);
    }
    kn_mat_clear(&e->A2);
    kn_mat_clear(&e->M);
    kn_mat_clear(&e->V);
    kn_mat_clear(&e->H);
    kn_free(e->in);
    kn_free(e->try_c);
    kn_free(e->try_d);
    kn_free(e->try_lml);
    kn_free(e->c);
    kn_free(e->d);
    kn_free(e->lml);
    kn_free(e->w);
    kn_free(e->rest);
    kn_iso_clear(&e->iso);
    *e = (kn_engine){0};
}

void kn_engine_core_clear(kn_engine_core *core)
{
    kn_pairs_clear(&core->pairs);
    for (int k = 0; k < core->n_cells; k++)
        kn_decomp_clear(&core->R0[k]);
    *core = (kn_engine_core){0};
}

void kn_engine_donate(kn_engine *e, kn_engine_core *core)
{
    kn_engine_core_clear(core);
    if (e->spec.rank > 0)
        return;
    core->pairs = e->pairs;
    e->pairs = (kn_pairs){0};
    core->n_cells = e->n_cells;
    core->decomposed = e->decomposed;
    for (int k = 0; k < e->n_cells; k++) {
        core->decomposed = core->decomposed && e->cell[k].R0.U.data;
        core->R0[k] = e->cell[k].R0;
        e->cell[k].R0 = (kn_decomp){0};
    }
}

/* Moves pair statistics and decompositions of an earlier engine from core into this engine,
 * whose n_cells is set; core becomes empty. */
static void move_core(kn_engine *e, kn_engine_core *core)
{
    e->pairs = core->pairs;
    core->pairs = (kn_pairs){0};
    e->decomposed = core->decomposed;
    for (int k = 0; core->decomposed && k < e->n_cells; k++) {
        e->cell[k].R0 = core->R0[k];
        core->R0[k] = (kn_decomp){0};
    }
    kn_engine_core_clear(core);
}

/* Allocates what has as many rows as the decomposition of a cell (m): its A (m x P), and the
 * work space A2, M (m x P) and w (m) of the engine, unless they are large enough; sets their
 * rows to m. */
static kn_status allocate_cell(kn_ctx *ctx, kn_engine *e, kn_latent_cell *cell)
{
    kn_status status = KN_OK;
    ptrdiff_t m = cell->R0.m;
    if (!e->w || e->M.ld < m) {
        kn_mat_clear(&e->M);
        kn_mat_clear(&e->A2);
        kn_free(e->w);
        e->w = NULL;
        KN_TRY(kn_mat_new(ctx, m, e->P, &e->M));
        if (e->spec.noise == KN_NOISE_STRUCTURED)
            KN_TRY(kn_mat_new(ctx, m, e->P, &e->A2));
        KN_TRY(kn_alloc_d(ctx, m, &e->w));
    }
    if (!cell->A.data || cell->A.ld < m) {
        kn_mat_clear(&cell->A);
        KN_TRY(kn_mat_new(ctx, m, e->P, &cell->A));
    }
    cell->A.rows = e->M.rows = e->A2.rows = m;
    if (e->spec.noise == KN_NOISE_ISO)
        KN_TRY(kn_iso_set_rank(ctx, &e->iso, e->Z, m));
out:
    return status;
}

/* N x N matrices of a dense engine in addition to pair statistics and the eigenvectors of each
 * cell: H and the work space of dsyevd. */
enum { DENSE_MATRICES = 4 };

/* Returns KN_ERR_MEMORY, naming sizes that would fit, if the dense N x N matrices of an engine
 * exceed the memory budget: n_stats pair statistics, n_cells decompositions and 4 others. */
static kn_status check_dense(kn_ctx *ctx, ptrdiff_t N, int n_stats, int n_cells)
{
    enum { RANK = 1000 };
    double have = (double)kn_memory(ctx), GB = 1e9;
    double each = 8.0 * (DENSE_MATRICES + n_stats + n_cells);
    double need = each * (double)N * (double)N;
    if (need <= have)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_MEMORY,
                   "dense matrices of %td participants need %.1f GB, but %.1f GB are allowed; use "
                   "at most %td participants, or an approximation of rank %d in %.1f GB",
                   N, need / GB, have / GB, (ptrdiff_t)sqrt(have / each), RANK,
                   8.0 * 1.2 * (double)N * RANK / GB);
}

enum { WIDE = 128 }; /* columns of V: slices of this width keep dsyrk at full speed */

kn_status kn_engine_make_dense(kn_ctx *ctx, kn_engine *e)
{
    kn_status status = KN_OK;
    kn_lowrank_clear(&e->low);
    if (e->pairs.n == 0) {
        KN_TRY(check_dense(ctx, e->N, e->cov.stats.n, e->n_cells));
        KN_TRY(kn_pairs_within(ctx, e->X, &e->cov.stats, &e->pairs));
    }
    for (int k = 0; k < e->n_cells; k++) {
        kn_decomp *R0 = &e->cell[k].R0;
        double gamma = R0->gamma;
        if (!e->decomposed) {
            kn_decomp_clear(R0);
            KN_TRY(kn_decomp_new(ctx, e->N, &e->cov, R0));
            R0->gamma = gamma;
        }
        KN_TRY(allocate_cell(ctx, e, &e->cell[k]));
    }
    KN_TRY(kn_mat_new(ctx, e->N, e->P > WIDE ? e->P : WIDE, &e->V));
    KN_TRY(kn_mat_new(ctx, e->N, e->N, &e->H));
out:
    return status;
}

/* Sets up the cells of the engine: one per candidate gamma (ratio of group noise) if the groups
 * can identify gamma, else one with gamma = 0. Allocates nothing. */
static void set_cells(kn_engine *e)
{
    bool informative = kn_groups_identify_gamma(&e->groups);
    e->n_cells = informative ? KN_GAMMAS : 1;
    for (int k = 0; k < e->n_cells; k++)
        e->cell[k] =
            (kn_latent_cell){.R0 = {.N = e->N, .cov = e->cov, .gamma = kn_gamma[k]}, .n = e->P};
}

kn_status kn_engine_new(kn_ctx *ctx, const kn_spec *spec, const kn_engine_data *data,
                        kn_engine *out)
{
    kn_status status;
    ptrdiff_t N = data->Z.rows, P = data->Z.cols, N_ref = data->N_ref > 0 ? data->N_ref : N;
    void *memory;
    *out = (kn_engine){
        .spec = *spec, .N = N, .T = data->T, .P = P, .X = data->X, .Z = data->Z, .E = data->E};
    out->cov = kn_cov_between(&spec->sample);
    out->complement = P < data->T && data->E > EMPTY_COMPLEMENT * data->total;
    out->s2 = out->complement ? data->E / ((double)N * (double)(data->T - P)) : 0;
    out->inside_tolerance = 1e-8;
    if (data->pairs) {
        out->spec.rank = 0;
        out->pairs = *data->pairs;
        *data->pairs = (kn_pairs){0};
    }
    if (data->groups) {
        out->groups = *data->groups;
        *data->groups = (kn_groups){0};
    }
    set_cells(out);
    if (data->core && out->spec.rank == 0 && !data->pairs && data->core->n_cells == out->n_cells)
        move_core(out, data->core);
    KN_TRY(kn_alloc_d(ctx, P, &out->c));
    KN_TRY(kn_alloc_d(ctx, P, &out->d));
    KN_TRY(kn_alloc_d(ctx, P, &out->lml));
    KN_TRY(kn_alloc_d(ctx, P, &out->try_c));
    KN_TRY(kn_alloc_d(ctx, P, &out->try_d));
    KN_TRY(kn_alloc_d(ctx, P, &out->try_lml));
    KN_TRY(kn_alloc_d(ctx, P, &out->rest));
    KN_TRY(kn_alloc(ctx, P, sizeof *out->in, &memory));
    out->in = memory;
    if (spec->noise == KN_NOISE_ISO) {
        double scale = sqrt((double)N_ref / (double)N);
        if (spec->task_scale == KN_TASK_SCALE_SQRTN)
            scale /= sqrt((double)N_ref);
        KN_TRY(kn_iso_new(ctx, spec, data->Z, data->T, data->E, scale, data->tasks, &out->iso));
    }
    if (out->spec.rank > 0) {
        KN_TRY(kn_lowrank_new(ctx, out->X, out->Z, out->n_cells > 1 ? &out->groups : NULL,
                              &out->cov, spec->rank, &out->low));
        out->low.tol = kn_rank_tolerance;
    } else {
        KN_TRY(kn_engine_make_dense(ctx, out));
    }
out:
    if (status != KN_OK)
        kn_engine_clear(out);
    return status;
}

void kn_engine_need(kn_mem_plan *r, const kn_problem_size *s, bool gradient, bool tasks)
{
    int cells = s->groups > 0 ? KN_GAMMAS : 1;
    kn_plan_alloc_d(r, KN_NEED_WORK, s->P, 8);
    if (s->iso)
        kn_iso_need(r, s, tasks);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->M, (cells + (s->iso ? 1 : 2)) * s->P + 1); /* A, M, A2, w */
    if (s->M < s->N) {
        kn_lowrank_need(r, s);
        if (gradient)
            kn_lowrank_gradient_need(r, s);
    } else {
        kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
        kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->P > WIDE ? s->P : WIDE);
        kn_plan_alloc_d(r, KN_NEED_SAMPLES, s->N, s->N);
        for (int k = 0; k < cells; k++)
            kn_decomp_need(r, s->N);
    }
    if (!s->iso)
        kn_profile_need(r, s->M, s->P);
}

void kn_engine_core_need(kn_mem_plan *r, const kn_problem_size *s)
{
    int cells = s->groups > 0 ? KN_GAMMAS : 1;
    if (s->M < s->N)
        return;
    kn_pairs_need(r, KN_NEED_SAMPLES, s->stats, s->N, s->N);
    kn_plan_alloc_d(r, KN_NEED_SAMPLES, cells * s->N, s->N + 1);
}

/* Computes the low-rank features of R0 (covariance between participants) at parameters r0. With
 * spec.rank_auto, changes the engine to dense if they do not represent R0 well enough, unless
 * root decides (e->follows). */
static kn_status make_features(kn_ctx *ctx, kn_engine *e, const double *r0)
{
    static const double FAR = 10; /* times the tolerance */
    kn_status status = kn_lowrank_at(ctx, &e->low, r0);
    bool enough = e->low.residual_used <= FAR * e->low.tol && e->low.m0 <= e->spec.rank;
    if (status != KN_OK || !e->spec.rank_auto || enough || e->follows)
        return status;
    e->spec.rank = 0;
    return kn_engine_make_dense(ctx, e);
}

kn_status kn_engine_try_rank(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at)
{
    double r0[KN_COV_THETA];
    kn_cov_theta(&e->cov, at, r0);
    return e->spec.rank > 0 && e->spec.rank_auto ? make_features(ctx, e, r0) : KN_OK;
}

kn_status kn_engine_sync_rank(kn_ctx *ctx, kn_engine *e, bool *turned)
{
    ptrdiff_t rank = e->spec.rank;
    kn_status status = kn_comm_broadcast(ctx, &rank, sizeof rank, 0);
    e->follows = kn_ctx_comm(ctx)->rank > 0;
    *turned = e->spec.rank > 0 && rank == 0;
    if (status != KN_OK || !*turned)
        return status;
    e->spec.rank = 0;
    return kn_engine_make_dense(ctx, e);
}

/* Computes the low-rank features at r0, then for each cell (components with equal group noise)
 * the decomposition of R0 and A = U'Z (m x P). If the features show that low rank does not
 * suffice, spec.rank becomes 0 and no cell is decomposed here. */
static kn_status decompose_low(kn_ctx *ctx, kn_engine *e, const double *r0)
{
    kn_status status;
    KN_TRY(make_features(ctx, e, r0));
    for (int k = 0; e->spec.rank > 0 && k < e->n_cells; k++) {
        KN_TRY(kn_lowrank_decompose(ctx, &e->low, &e->cell[k].R0));
        KN_TRY(allocate_cell(ctx, e, &e->cell[k]));
        KN_TRY(kn_lowrank_project(ctx, &e->low, &e->cell[k].R0, e->cell[k].A));
    }
out:
    return status;
}

/* True if a dense engine already holds the decompositions at parameters r0, as after an earlier
 * search that ended there. */
static bool is_decomposed_at(const kn_engine *e, const double *r0)
{
    bool same = e->decomposed && e->spec.rank == 0;
    for (int k = 0; same && k < e->cov.n_theta; k++)
        same = e->cell[0].R0.theta[k] == r0[k];
    return same;
}

/* Decomposes R0 of every cell (components with equal group noise) at parameters r0, dense or low
 * rank, unless it is decomposed there, and sets A = U'Z (m x P) of each. [METHOD 1b] A dense
 * cell costs 9 N^3 + 2 N^2 P flops. */
static kn_status decompose_at(kn_ctx *ctx, kn_engine *e, const double *r0)
{
    kn_status status = KN_OK;
    bool decomposed = is_decomposed_at(e, r0);
    e->decomposed = false; /* until all cells are decomposed */
    e->evals++;
    e->iso.fresh = false;
    if (e->spec.rank > 0)
        KN_TRY(decompose_low(ctx, e, r0));
    for (int k = 0; e->spec.rank == 0 && k < e->n_cells; k++) {
        kn_latent_cell *cell = &e->cell[k];
        if (!decomposed)
            KN_TRY(kn_decomp_compute(ctx, &cell->R0, &e->pairs, &e->groups, r0));
        kn_gemm(ctx, 1, KN_T, cell->R0.U, KN_N, e->Z, 0, cell->A); /* A = U'Z   m x P */
    }
    e->decomposed = e->spec.rank == 0;
    e->decompositions += !decomposed;
out:
    return status;
}

kn_status kn_engine_broadcast(kn_ctx *ctx, kn_engine *e)
{
    kn_status status;
    ptrdiff_t P = e->P, bytes = sizeof(double);
    KN_TRY(kn_comm_broadcast(ctx, e->inside, sizeof e->inside, 0));
    if (e->spec.noise == KN_NOISE_ISO) /* c and d refer to this rank's own eigenvectors */
        goto out;
    KN_TRY(kn_comm_broadcast(ctx, e->c, P * bytes, 0));
    KN_TRY(kn_comm_broadcast(ctx, e->d, P * bytes, 0));
    KN_TRY(kn_comm_broadcast(ctx, e->in, P * (ptrdiff_t)sizeof *e->in, 0));
    KN_TRY(kn_comm_broadcast(ctx, &e->s2, bytes, 0));
out:
    return status;
}

/* ---- to the latent form ---- */

/* Moves cell k (components with equal group noise) of the engine to *out, a cell of the latent
 * form: its decomposition, and the columns of A (m x n) of the n components whose best cell it
 * is. */
static kn_status move_cell(kn_ctx *ctx, kn_engine *e, int k, ptrdiff_t n, kn_latent_cell *out)
{
    kn_status status = KN_OK;
    kn_latent_cell *from = &e->cell[k];
    *out = (kn_latent_cell){.n = n};
    if (n == e->P && from->A.ld == from->A.rows) {
        out->A = from->A;
        from->A = kn_mat_none();
    } else if (n == e->P) { /* A has spare rows: copy */
        KN_TRY(kn_mat_copy(ctx, from->A, &out->A));
    } else {
        KN_TRY(kn_mat_new(ctx, from->R0.m, n, &out->A));
        KN_TRY(kn_alloc_i(ctx, n, &out->which));
        for (ptrdiff_t p = 0, at = 0; p < e->P; p++)
            if (e->in[p] == k) {
                kn_mat_set(kn_cols(out->A, at, 1), kn_cols(from->A, p, 1));
                out->which[at++] = p;
            }
    }
    out->R0 = from->R0;
    from->R0 = (kn_decomp){0};
    kn_mat_clear(&out->R0.rotation); /* only needed while fitting */
out:
    return status;
}

kn_status kn_engine_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out)
{
    kn_status status;
    ptrdiff_t count[KN_GAMMAS] = {0};
    bool grouped = e->n_cells > 1, iso = e->spec.noise == KN_NOISE_ISO;
    *out = (kn_latent){.P = e->P, .iso = iso ? e->iso.iso : 0};
    if (iso) { /* A rotated by U_C */
        kn_mat_clear(&e->cell[0].A);
        e->cell[0].A = e->iso.A;
        e->iso.A = kn_mat_none();
    }
    KN_TRY(kn_alloc_d(ctx, e->P, &out->c));
    KN_TRY(kn_alloc_d(ctx, e->P, &out->d));
    if (grouped)
        KN_TRY(kn_alloc_d(ctx, e->P, &out->gamma));
    for (ptrdiff_t p = 0; p < e->P; p++) {
        count[e->in[p]]++;
        out->c[p] = e->c[p];
        out->d[p] = e->d[p];
        if (grouped)
            out->gamma[p] = e->cell[e->in[p]].R0.gamma;
    }
    for (int k = 0; k < e->n_cells; k++)
        if (count[k] > 0 || (e->P == 0 && k == 0))
            KN_TRY(move_cell(ctx, e, k, count[k], &out->cell[out->n_cells++]));
    out->X = *X;
    *X = kn_mat_none();
    if (grouped) {
        out->groups = e->groups;
        e->groups = (kn_groups){0};
        KN_TRY(kn_latent_group_sums(ctx, out, e->Z));
    }
out:
    if (status != KN_OK)
        kn_latent_clear(out);
    return status;
}

kn_status kn_engine_at(kn_ctx *ctx, kn_engine *e, const double *r0, double *lml)
{
    kn_status status = decompose_at(ctx, e, r0);
    return status == KN_OK ? kn_structured_eval(ctx, e, lml) : status;
}

kn_status kn_engine_decompose(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at)
{
    double r0[KN_COV_THETA];
    kn_cov_theta(&e->cov, at, r0);
    return decompose_at(ctx, e, r0);
}

kn_status kn_engine_maximise(kn_ctx *ctx, kn_engine *e, double *lml)
{
    if (e->spec.noise == KN_NOISE_STRUCTURED)
        return kn_structured_eval(ctx, e, lml);
    kn_status status = kn_engine_maximise_inside(ctx, e, lml);
    if (status == KN_OK)
        kn_engine_copy_iso(e);
    return status;
}

kn_status kn_engine_gradient(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *g)
{
    double g0[KN_COV_THETA];
    kn_status status = kn_gradient_r0(ctx, e, g0);
    if (status == KN_OK)
        kn_cov_outer_gradient(&e->cov, at, g0, g);
    return status;
}

kn_status kn_engine_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                           double *g)
{
    kn_status status;
    KN_TRY(kn_engine_decompose(ctx, e, at));
    KN_TRY(kn_engine_maximise(ctx, e, lml));
    if (g)
        KN_TRY(kn_engine_gradient(ctx, e, at, g));
out:
    return status;
}

kn_status kn_engine_evaluate_at(kn_ctx *ctx, kn_engine *e, kn_cov_point *at, double *lml)
{
    kn_status status;
    bool turned;
    KN_TRY(kn_comm_broadcast(ctx, at, sizeof *at, 0));
    KN_TRY(kn_engine_sync_rank(ctx, e, &turned));
    KN_TRY(kn_engine_nested(ctx, e, at, lml, NULL));
    KN_TRY(kn_engine_sync_rank(ctx, e, &turned));
    if (turned)
        KN_TRY(kn_engine_nested(ctx, e, at, lml, NULL));
    KN_TRY(kn_engine_broadcast(ctx, e));
out:
    return status;
}

kn_status kn_engine_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g)
{
    double r0[KN_COV_THETA], g0[KN_COV_THETA], inside[KN_THETA] = {0}, gi[KN_THETA];
    kn_spec_split(&e->spec, theta, r0, inside);
    kn_status status = decompose_at(ctx, e, r0);
    if (status != KN_OK)
        return status;
    status = kn_iso_eval(ctx, &e->iso, e->cell[0].R0.r, e->cell[0].A, inside, lml, g ? gi : NULL);
    if (status != KN_OK)
        return status;
    memcpy(e->inside, inside, sizeof e->inside);
    kn_engine_copy_iso(e);
    if (!g)
        return KN_OK;
    status = kn_gradient_r0(ctx, e, g0);
    if (status == KN_OK)
        kn_spec_join(&e->spec, g0, gi, g);
    return status;
}
