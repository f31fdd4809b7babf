/* Tasks and columns of convolved processes, and their memory plan [METHOD 1i]. A task is a
 * component or a response that shares the latent processes. */
#include "gp/methods/convolved/internal.h"

#include <math.h>

#include "data/covariates/design.h"
#include "gp/basis/user_span.h"
#include "gp/block_visitor.h"
#include "gp/components/choose_count.h"
#include "gp/methods/fit_steps.h"
#include "la/la.h"

/* ---- columns ---- */

/* Chooses the continuous covariates to smooth over, all or those of {smooth}, into s->smooth
 * (columns of the design); KN_ERR_ARGUMENT or KN_ERR_DATA if there is none, one is a category,
 * or there are more than KN_CONV_SMOOTH. */
static kn_status find_smooth(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *s)
{
    kn_status status;
    const kn_design *x = o->design;
    const kn_tasks_options *t = &o->tasks;
    ptrdiff_t numbers = 0;
    KN_TRY(kn_alloc_i(ctx, x->C, &s->smooth));
    for (ptrdiff_t c = 0; c < x->C; c++) {
        const kn_design_column *k = &x->column[c];
        numbers += k->levels == 0 && !k->constant;
        if (t->smooth && t->smooth[c] && k->levels > 0)
            return kn_fail(ctx, KN_ERR_ARGUMENT,
                           "{method=convolved} smooths over continuous covariates such as age, but "
                           "{smooth=%s} is a category",
                           t->smooth_text);
        if (k->levels == 0 && !k->constant && (!t->smooth || t->smooth[c]))
            s->smooth[s->n_smooth++] = k->x;
    }
    if (numbers == 0)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{method=convolved} smooths over a numeric covariate, but none of them varies");
    if (s->n_smooth == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "{method=convolved}: the covariate in {smooth=%s} does not vary",
                       t->smooth_text);
    if (s->n_smooth > KN_CONV_SMOOTH)
        return kn_fail(ctx, KN_ERR_DATA,
                       "{method=convolved}: there are %td continuous covariates, but at most %d "
                       "can be smoothed over; name them in {smooth}",
                       s->n_smooth, KN_CONV_SMOOTH);
out:
    return status;
}

kn_status kn_conv_columns(kn_ctx *ctx, const kn_gp_options *o, kn_conv_spec *s)
{
    kn_status status;
    const kn_design *x = o->design;
    kn_fixed_columns *fixed = &s->columns;
    void *memory = NULL;
    int n = kn_design_blocks(x, NULL, 0);
    KN_TRY(find_smooth(ctx, o, s));
    KN_TRY(kn_alloc(ctx, n, sizeof(kn_design_block), &memory));
    kn_design_block *block = memory;
    kn_design_blocks(x, block, n);
    KN_TRY(kn_alloc_i(ctx, x->F, &fixed->column));
    KN_TRY(kn_alloc_i(ctx, x->F, &fixed->block));
    for (int b = 0; b < n; b++) {
        bool levels = block[b].kind == KN_DESIGN_CATEGORY || block[b].kind == KN_DESIGN_INTERACTION;
        for (ptrdiff_t f = block[b].first;
             block[b].kind != KN_DESIGN_QUADRATIC && f < block[b].first + block[b].count; f++) {
            fixed->block[fixed->n] = levels ? b : -1;
            fixed->column[fixed->n++] = f;
        }
    }
out:
    kn_free(memory);
    return status;
}

/* ---- tasks ---- */

kn_status kn_conv_identity(kn_ctx *ctx, const kn_responses *Y, kn_basis *basis)
{
    kn_status status;
    KN_TRY(kn_mat_new(ctx, Y->T, Y->T, &basis->B));
    KN_TRY(kn_mat_new(ctx, Y->N, Y->T, &basis->Z));
    for (ptrdiff_t j = 0; j < Y->T; j++)
        kn_col(basis->B, j)[j] = 1;
    kn_responses_block(ctx, Y, 0, basis->Z);
    basis->total = kn_sumsq(basis->Z);
out:
    return status;
}

typedef struct loadings {
    kn_mat US, B;
    const double *mu;
    double total; /* |Y - 1 mu'|^2 */
} loadings;

/* Block visitor (self: loadings): loadings Y'US of the block's responses (rows of B, T x P), and
 * their variation about the means mu, added to the total. */
static kn_status compute_loadings_block(kn_ctx *ctx, void *self, kn_block *b)
{
    loadings *l = self;
    kn_gemm(ctx, 1, KN_T, b->y, KN_N, l->US, 0, kn_sub(l->B, b->first, 0, b->count, l->B.cols));
    for (ptrdiff_t j = 0; j < b->count; j++)
        for (ptrdiff_t i = 0; i < b->y.rows; i++) {
            double e = kn_at(b->y, i, j) - l->mu[b->first + j];
            l->total += e * e;
        }
    return KN_OK;
}

kn_status kn_conv_fold_tasks(kn_ctx *ctx, const kn_refit *r, kn_mat *Z, kn_fold_prediction *part)
{
    kn_status status;
    kn_fold f = {.n_train = r->n};
    double total = 0;
    if (!r->gp->pca) {
        kn_mat fixed = kn_user_span_fixed(r->gp);
        KN_TRY(kn_mat_new(ctx, r->n, fixed.cols, &f.Z_train));
        KN_TRY(kn_project(ctx, &r->Y, r->mu, fixed, f.Z_train, &total));
        if (r->gp->axes)
            KN_TRY(kn_fold_axes(ctx, r->gp, false, &f));
        part->rotate = f.V;
        f.V = kn_mat_none();
        goto out;
    }
    KN_TRY(kn_fold_completed(ctx, &r->Y, r->gp->P, &f));
    if (f.B.data) {
        part->B = f.B;
        f.B = kn_mat_none();
        total = f.total;
        goto out;
    }
    KN_TRY(kn_mat_new(ctx, r->gp->T, f.US.cols, &part->B));
    loadings l = {f.US, part->B, r->mu, 0};
    KN_TRY(kn_block_loop_run(ctx, &(kn_block_loop){.Y = r->Y},
                             &(kn_visitor){&l, KN_BLOCK_Y, NULL, compute_loadings_block, NULL}, 1));
    total = l.total;
out:
    if (status == KN_OK) {
        *Z = f.Z_train;
        f.Z_train = kn_mat_none();
    }
    if (status == KN_OK && r->gp->T > Z->cols)
        part->s2 = fmax(total - kn_sumsq(*Z), 0) / ((double)r->n * (double)(r->gp->T - Z->cols));
    kn_fold_clear(&f);
    return status;
}

/* ---- memory ---- */

void kn_conv_finalise(kn_problem_size *s)
{
    if (s->span > 0 && s->P == 0)
        s->P = kn_min_size(s->span, s->N);
    s->chosen = s->P == 0 && !s->on_responses;
    if (s->on_responses) {
        s->P = s->T;
        s->given_basis = true; /* the identity, which folds do not recompute */
    }
    if (s->chosen)
        s->P = kn_components_max(s->N, s->T, s->N);
}

/* Returns the options of the processes that the sizes s imply for a memory plan. */
static kn_conv_plan make_plan(const kn_problem_size *s)
{
    return (kn_conv_plan){.how = (kn_inducing)s->inducing,
                          .widths = (kn_widths)s->widths,
                          .Q = s->processes > 0 ? s->processes : 1,
                          .M = s->points > 0 ? s->points : 10};
}

/* Returns the sizes of a model of N participants for the memory plans, taking every column of
 * the design as a fixed effect. */
static kn_conv_sizes make_sizes(const kn_problem_size *s, ptrdiff_t N)
{
    return (kn_conv_sizes){.N = N, .P = s->P, .k = s->F, .F = kn_min_size(s->F, KN_CONV_SMOOTH)};
}

/* Predicts in plan r the memory of refitting and predicting a fold with n training and h
 * held-out rows: its prediction stays in the plan, the fit only raises the peak. */
static void need_fold(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t h)
{
    kn_problem_size f = *s;
    kn_conv_plan plan = make_plan(s);
    kn_mem_usage begin = r->now;
    f.N = n;
    kn_refit_need(r, s, n, h);
    ptrdiff_t Q = s->span > 0 ? s->span : s->P;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, s->given_basis ? Q : 2 * s->P); /* Z, US */
    if (s->given_basis) {
        kn_project_need(r, n, s->T, Q);
        if (s->span > 0)
            kn_fold_axes_need(r, s, n);
    } else {
        kn_mem_usage mark = r->now;
        kn_gram_need(r, &f);
        kn_folds_pca_need(r, &f, n, 1);
        kn_plan_free_to(r, mark);
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
        kn_block_loop_need(r, n, kn_block_loop_width(0, s->T), KN_BLOCK_Y);
    }
    kn_conv_model_need(r, &plan, make_sizes(s, n));
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 4 : 2) * s->P);
    kn_conv_predict_need(r, &plan, make_sizes(s, n), h);
    kn_plan_free_to(r, begin);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T + s->P, 1);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, 1); /* rows */
    kn_plan_alloc_d(r, KN_NEED_WORK, h, (s->sites > 0 ? 3 : 2) * s->P);
    if (!s->given_basis)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
    if (s->span > 0)
        kn_plan_alloc_d(r, KN_NEED_WORK, s->span, s->P); /* rotate */
}

void kn_conv_fit_need(kn_mem_plan *r, const kn_problem_size *s)
{
    kn_conv_plan plan = make_plan(s);
    kn_mem_usage begin = r->now, gram, made;
    kn_plan_stage(r, "gram");
    if (!s->given_basis)
        kn_gram_need(r, s);
    gram = r->now;
    kn_plan_stage(r, "components");
    if (s->chosen)
        kn_components_need(r, s);
    kn_plan_stage(r, "basis");
    if (s->on_responses)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T + s->N, s->P);
    else if (s->span > 0)
        kn_user_span_need(r, s);
    else
        kn_basis_need(r, s);
    made = r->now;
    kn_plan_stage(r, "search");
    kn_conv_model_need(r, &plan, make_sizes(s, s->N));
    kn_plan_alloc_d(r, KN_NEED_WORK, s->N, s->F);
    kn_plan_alloc_d(r, KN_NEED_WORK, s->T, 1);
    kn_plan_free(r, gram, made);
    kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->P);
    if (s->P < s->span)
        kn_plan_alloc_d(r, KN_NEED_BASIS, s->T, s->span);
    kn_plan_stage(r, "folds");
    kn_plan_alloc_d(r, KN_NEED_WORK, s->folds > 0 ? s->N : 0, 2);
    for (int k = 0; k < s->folds; k++) {
        ptrdiff_t h = (s->N + s->folds - 1 - k) / s->folds;
        need_fold(r, s, s->N - h, h);
    }
    kn_plan_free(r, begin, gram);
}

void kn_conv_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n)
{
    kn_conv_plan plan = make_plan(s);
    ptrdiff_t N = s->scoring ? s->train : s->N;
    kn_plan_alloc_d(r, KN_NEED_WORK, n, 2 * s->P);
    if (kind == KN_MAPS_LOO) {
        kn_mem_usage mark = r->now;
        kn_plan_alloc_d(r, KN_NEED_WORK, N, s->P);
        kn_project_need(r, N, s->T, s->P);
        kn_conv_loo_need(r, &plan, make_sizes(s, N));
        kn_plan_free_to(r, mark);
    } else {
        kn_conv_predict_need(r, &plan, make_sizes(s, N), n);
    }
}

void kn_conv_shape(const kn_gp *gp, kn_problem_size *s)
{
    const kn_conv_plan *plan = &((const kn_convolved *)gp->own)->spec.plan;
    s->inducing = (int)plan->how;
    s->widths = (int)plan->widths;
    s->processes = plan->Q;
    s->points = plan->M;
    s->F = gp->F;
}
