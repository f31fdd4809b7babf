/* Private declarations of STGPR [METHOD 7], except weight_cells.h: search for the cell of each
 * response, maps of a panel of responses, and the de-identified form. Functions that end in _need
 * declare in a memory plan what the function of that name allocates: "temporary" if it is free
 * again afterwards, "keeps" for what stays. */
#ifndef KN_GP_METHODS_STGPR_INTERNAL_H
#define KN_GP_METHODS_STGPR_INTERNAL_H

#include <math.h>

#include "base/memory/plan.h"
#include "base/parallel/parallel_for.h"
#include "gp/fit_problem.h"
#include "gp/method.h"
#include "gp/methods/stgpr/weight_cells.h"
#include "gp/optimise/optimise.h"
#include "gp/search/search.h"

/* ---- lattice_search.c: search for the cell of each response ---- */

typedef struct kn_cell_search {
    kn_cov_family family; /* R0 as a function of rho and length */
    kn_limits limits;
    double rho, length; /* one more cell, NaN: none; the only cell if optimise is false */
    bool optimise;
    int evals;    /* number of decompositions */
    kn_stop stop; /* KN_STOP_CONVERGED before the first search */
} kn_cell_search;

/* Responses with the same gamma. */
typedef struct kn_cell_class {
    const ptrdiff_t *J; /* n responses of this MPI rank, ascending */
    ptrdiff_t n;
    double gamma;
} kn_cell_class;

/* Chooses the cell (weights and shapes of R0) of each response of one gamma (`which`) on a
 * lattice of (rho, length), then merges cells; appends those in use to s->cells, equal on all
 * MPI ranks, and sets s->cell. On entry s->alpha holds Y. Collective. */
kn_status kn_cells_choose(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                          kn_cell_search *o, kn_stgpr *s);

/* Predicts in plan r the memory of kn_cells_choose: only the peak rises. */
void kn_cells_choose_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- lattice.c: positions of the lattice and requests of the responses ---- */

enum {
    KN_LATTICE_CELLS = 8,                                 /* per axis on the coarse lattice */
    KN_LATTICE_LEVELS = 3,                                /* halvings of the step */
    KN_LATTICE_FINE = 1 << KN_LATTICE_LEVELS,             /* lattice units per coarse step */
    KN_LATTICE_SIDE = KN_LATTICE_CELLS * KN_LATTICE_FINE, /* coordinates 0 .. SIDE; coarse cells
                                                           * are at the centres of their steps */
    KN_LATTICE_RHOS = KN_LATTICE_SIDE + 3,                /* lattice coordinates, rho = 0 and
                                                           * rho = 1 */
    KN_LATTICE_POSITIONS = KN_LATTICE_RHOS * (KN_LATTICE_SIDE + 1) + 1, /* and one cell that the
                                                                         * user gives */
    KN_LATTICE_AROUND = 8 + 2, /* neighbours of a position: 8 on the lattice, 2 at rho = 1 */
    KN_LATTICE_FINE_CELLS = KN_LATTICE_AROUND * KN_LATTICE_LEVELS, /* fine cells that one response
                                                                    * may try */
    KN_LATTICE_COARSE =
        KN_LATTICE_CELLS * KN_LATTICE_CELLS + KN_LATTICE_CELLS + 2 /* coarse cells, at most */
};

typedef struct kn_lattice_position {
    int i, k; /* logit rho, ln length in lattice units */
} kn_lattice_position;

typedef struct kn_lattice {
    const kn_cov *cov;
    kn_cov_family family;
    kn_box box;
    double lower[2], upper[2]; /* bounds of (logit rho, ln length), if the family has them */
    const ptrdiff_t *J;        /* T  responses of this rank */
    ptrdiff_t T;
    int n_cells, n_coarse;   /* cells created so far, coarse ones among them (first) */
    kn_lattice_position *at; /* POSITIONS   of each cell */
    kn_mat where;            /* POSITIONS x 2   rho, length of each cell */
    int *id;                 /* POSITIONS   cell of a position, or -1 */
    kn_mat lml;              /* (n_coarse + TRIES) x T   LML of each cell tried, -inf: not tried */
    int *fine;               /* T x TRIES   fine cells of the rows n_coarse .. of lml, -1: none */
    double *best;            /* T   largest LML so far */
    bool *refines;           /* T   still refining */
} kn_lattice;

/* Creates the lattice of (rho, length) with its coarse cells (responses that share
 * hyperparameters), and space for the likelihoods, for the responses of one gamma (`which`,
 * borrowed). The caller frees *out. */
kn_status kn_lattice_new(kn_ctx *ctx, const kn_cell_samples *samples, const kn_cell_class *which,
                         const kn_cell_search *o, kn_lattice *out);
/* Frees all arrays. */
void kn_lattice_clear(kn_lattice *l);
/* Returns weights and shapes of R0 (covariance between participants) at lattice cell number
 * `cell`. */
kn_cov_point kn_lattice_point(const kn_lattice *l, int cell);

/* Request of a response to evaluate a cell; its LML goes to a row of lml. */
typedef struct kn_eval_request {
    ptrdiff_t response; /* index into J */
    int position, cell, row;
} kn_eval_request;

/* Collects the requests of all responses when the step is halved for the level-th time: out
 * (capacity T AROUND) gets *n requests ordered by response; new cells are created for them.
 * Collective. */
kn_status kn_lattice_refine(kn_ctx *ctx, kn_lattice *l, int level, kn_eval_request *out,
                            ptrdiff_t *n);

/* Updates l->best of response j after row `row` of lml was set. */
static inline void kn_lattice_keep(kn_lattice *l, ptrdiff_t j, int row)
{
    double *lml = &kn_col(l->lml, j)[row];
    if (isnan(*lml))
        *lml = -INFINITY;
    if (*lml > l->best[j])
        l->best[j] = *lml;
}

/* Predicts in plan r the memory of a lattice for s->T responses, which stays in the plan. */
void kn_lattice_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- merge_cells.c: few cells that suit all responses ---- */

/* Reduces the cells (responses that share hyperparameters) that were tried to few: sets s->cell
 * of the lattice's responses and appends the cells in use to s->cells. Greedy: takes the cell
 * that suits most of the remaining responses, on ties the one created first, until every
 * response has a cell. Collective. */
kn_status kn_cells_merge(kn_ctx *ctx, const kn_lattice *l, kn_stgpr *s);

/* Predicts in plan r the memory of kn_cells_merge: only the peak rises. */
void kn_cells_merge_need(kn_mem_plan *r);

/* ---- evaluate_cells.c: likelihood of responses in candidate cells ---- */

typedef struct kn_cell_evaluation {
    kn_cov_point at; /* candidate cell */
    double gamma;
    const ptrdiff_t *J; /* n responses, ascending: those of this MPI rank that request the cell */
    ptrdiff_t n;
    double *lml; /* out: of response J[k] in lml[k stride] */
    ptrdiff_t stride;
    bool done; /* out: false if the search stopped before */
} kn_cell_evaluation;

typedef struct kn_cell_evaluations {
    kn_cell_evaluation *evaluation; /* in the order of evaluation */
    ptrdiff_t n;
    double nats;       /* accuracy of the likelihoods; 0: full */
    bool all;          /* ignore the limits; else they may stop the search, but not before the
                        * very first evaluation */
    bool first;        /* evaluation[0] is the very first evaluation of the search */
    const char *stage; /* name for progress reports */
} kn_cell_evaluations;

/* Computes the log likelihood of responses in candidate cells (responses that share
 * hyperparameters), as `evaluations` list them, in parallel over cells. The responses Y are in
 * s->alpha (N x T). Updates o->evals, o->limits and o->stop. Collective. */
kn_status kn_cells_evaluate(kn_ctx *ctx, const kn_cell_samples *samples, kn_cell_search *o,
                            const kn_stgpr *s, const kn_cell_evaluations *evaluations);

/* Predicts in plan r the memory of kn_cells_evaluate with all T responses in every evaluation:
 * only the peak rises. */
void kn_cells_evaluate_need(kn_mem_plan *r, const kn_problem_size *s);

/* Sets s->gamma, the ratio of group noise to noise, of the responses `mine` to the candidate
 * with the largest likelihood at the point `at` of R0 (covariance between participants); on ties
 * the smallest. The responses Y are in s->alpha. Collective. */
kn_status kn_cells_choose_gamma(kn_ctx *ctx, const kn_cell_samples *samples, kn_index_range mine,
                                const kn_cov_point *at, kn_cell_search *o, kn_stgpr *s);

/* Predicts in plan r the memory of kn_cells_choose_gamma, except the array s->gamma that it
 * fills: only the peak rises. */
void kn_cells_choose_gamma_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- final_parameters.c: final parameters of each response ---- */

/* Ends a fit: computes c, delta, d, lml (unless `fixed`: then they stay) and alpha of each
 * response in its cell (responses that share hyperparameters), and with groups the effects. On
 * entry s->alpha holds Y. Processes the responses of this MPI rank if samples->Y is set, else
 * all. *evals is increased by the number of cells. */
kn_status kn_stgpr_finish(kn_ctx *ctx, const kn_cell_samples *samples, bool fixed, kn_stgpr *s,
                          int *evals);

/* ---- per_response.c: all hyperparameters free for each response ---- */

/* Fits each response of Y (N x T) separately with all hyperparameters free: theta (T x n) of a
 * response = [R0's, noise], the start if start_given, on return the optimum; lml T and grad T x
 * n at the optimum. bounded: keep lengths in the box of the search. pairs are moved. One MPI
 * rank. */
kn_status kn_plain_fit(kn_ctx *ctx, kn_pairs *pairs, const kn_cov *cov, kn_mat Y,
                       const kn_search_options *o, bool bounded, kn_mat theta, bool start_given,
                       double *lml, kn_mat grad, kn_search_result *found);
/* Converts theta (T x n) of kn_plain_fit to the cells (responses that share hyperparameters) of
 * *s: sets cells, cell, c, delta and d; equal neighbours share a cell. */
kn_status kn_plain_cells(kn_ctx *ctx, const kn_cov *cov, kn_mat theta, kn_stgpr *s);

/* Predicts in plan r the memory of kn_plain_fit, including pair statistics: only the peak rises. */
void kn_plain_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- cell_predict.c: participants predicted with one cell ---- */

/* Work space for n participants: R0*, R0* U, and results of up to `width` responses. */
typedef struct kn_cell_predictor {
    const kn_pairs *pairs;     /* distances to the training participants, borrowed */
    kn_mat Xs, Rs, RU, RU2;    /* n x F, borrowed; n x N R0*; n x m R0* U (squared without groups);
                                * its squares */
    const ptrdiff_t *group;    /* n  known groups, -1: new; NULL: all new */
    kn_mat sums;               /* groups x m  sums of U over groups */
    double *self, *sq;         /* n  R0**, work space */
    kn_mat mean, var, inverse; /* n x width, n x width, N x width */
} kn_cell_predictor;

/* Allocates the work space to predict the participants Xs (n x F) from N training participants,
 * up to `width` responses at a time. pairs and Xs are borrowed. The caller clears *out, also
 * after an error. */
kn_status kn_cell_predictor_new(kn_ctx *ctx, kn_mat Xs, ptrdiff_t N, const kn_pairs *pairs,
                                ptrdiff_t width, kn_cell_predictor *out);
/* Frees the work space. */
void kn_cell_predictor_clear(kn_cell_predictor *a);
/* Sets the known group of each participant (n, borrowed; -1: new); `groups`: number of training
 * groups; variances: they will be requested. */
kn_status kn_cell_predictor_set_groups(kn_ctx *ctx, kn_cell_predictor *a, const ptrdiff_t *group,
                                       ptrdiff_t groups, bool variances);

/* Computes R0* (n x N) between the predictor's participants and the training sample at the
 * cell's point `at`. With `variances` also R0* U, for which the decomposition of the cell must
 * be in *w. */
void kn_cell_predictor_bind(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                            const kn_cov_point *at, bool variances);
/* Computes the model variances a->var (participants x n) of n responses of one cell, whose c and
 * d are in *w; kn_cell_predictor_bind was called with variances. */
void kn_cell_predictor_variances(kn_ctx *ctx, kn_cell_predictor *a, const kn_cell_work *w,
                                 ptrdiff_t n);

/* Predicts in plan r the memory of a kn_cell_predictor for n participants, N training
 * participants and `width` responses, without pairs, which stays in the plan. */
void kn_cell_predictor_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n, ptrdiff_t N,
                            ptrdiff_t width);
/* Returns the approximate number of doubles of one predictor for n participants, N training
 * participants and `width` responses, for kn_cell_workers. */
double kn_cell_predictor_means(ptrdiff_t n, ptrdiff_t N, ptrdiff_t width);

/* ---- map_panels.c: hooks of the method, and the panel under construction ---- */

/* Implements kn_method.predict: records the new participants (input->X is copied); panels are
 * computed when blocks are requested. */
kn_status kn_stgpr_predict(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                           kn_gp_maps *out);
/* Implements kn_method.loo: records the responses Y (borrowed); panels are computed when blocks
 * are requested. */
kn_status kn_stgpr_loo(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
/* Implements kn_method.cv: records folds and responses; panels are computed when blocks are
 * requested. Collective if responses have missing cells, which are imputed here. */
kn_status kn_stgpr_cv(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);
/* Implements kn_method.block: copies mean and variance of the block from the current panel,
 * which is computed first if the block is not in it. */
kn_status kn_stgpr_maps_block(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y,
                              kn_mat mean, kn_mat var);

/* Implements kn_method.batch: the number of participants that fills a panel, because each cell is
 * decomposed again for every prediction. */
ptrdiff_t kn_stgpr_batch(const kn_gp *gp);

/* Implements kn_method.need.maps, which predicts in plan r the memory of maps of n participants:
 * pair statistics and covariates of n participants stay in the plan. */
void kn_stgpr_maps_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
/* Implements kn_method.need.block, which predicts in plan r the memory of one block of maps: the
 * panel stays in the plan after the first block, its computation only raises the peak. */
void kn_stgpr_block_need(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);

typedef struct kn_stgpr_maps {
    kn_maps_kind kind;     /* the fields below belong to the kind named */
    kn_mat Xs;             /* PREDICT: n x F */
    ptrdiff_t *group;      /* PREDICT: n  known group, or -1; NULL: all in new groups */
    kn_pairs pairs;        /* of the training participants */
    int *fold;             /* CV: N  fold of each participant */
    kn_mat X_without_site; /* CV: N x F without site, or none */
    int n_imputed;         /* CV with missing cells: number of folds ... */
    double **imputed;      /* ... and the imputed values of each [METHOD 0b] */
    /* The panel: responses first .. first + count - 1. */
    ptrdiff_t first, count;
    bool has_mean, has_var;
    bool without_site; /* means of the panel are without site effects */
    kn_mat mean, var;  /* participants x count */
} kn_stgpr_maps;

typedef struct kn_stgpr_panel {
    const kn_gp *gp;
    kn_cell_samples samples;
    const kn_responses *Y;
    kn_stgpr_maps *m;
    kn_cell_groups g; /* responses of the panel by cell */
    ptrdiff_t width;  /* of the work space: from the model's T, not from the rank */
    bool mean, var;   /* to be computed */
} kn_stgpr_panel;

/* One cell of a panel: its responses J (n) and its point of R0. */
typedef struct kn_panel_cell {
    const ptrdiff_t *J;
    ptrdiff_t n;
    kn_cov_point at;
    double gamma;
} kn_panel_cell;
/* Fills *out with the responses of the panel in this cell (responses that share
 * hyperparameters), its point of R0 and gamma; returns false if it has none. */
bool kn_panel_find_cell(const kn_stgpr_panel *b, ptrdiff_t cell, kn_panel_cell *out);

/* Copies signal and noise variance c and d of the n responses J to the first n entries of the
 * work space. */
void kn_panel_load(const kn_stgpr *s, const ptrdiff_t *J, ptrdiff_t n, kn_cell_work *w);
/* Copies results `from` (participants x responses J) to the columns J - first of the panel
 * (predictions of a range of responses); rows: row indices of the participants, or NULL for 0 ..
 * n-1. */
void kn_panel_write(kn_mat from, const ptrdiff_t *rows, const ptrdiff_t *J, ptrdiff_t first,
                    kn_mat panel);

/* Calls fn(ctx, self, worker, cell) for every cell (responses that share hyperparameters) of the
 * model, in parallel on `workers` workers. */
kn_status kn_panel_run(kn_ctx *ctx, const kn_stgpr_panel *b, int workers, kn_worker_pool_fn fn,
                       void *self);

/* ---- predict.c: panel for new participants ---- */

/* Computes the panel (predictions of a range of responses; n x count) for new participants: mean
 * and variance as b->mean and b->var request, ROWS participants at a time, in parallel over
 * cells. */
kn_status kn_stgpr_predict_panel(kn_ctx *ctx, const kn_stgpr_panel *b);
/* Predicts in plan r the memory of kn_stgpr_predict_panel for n participants: only the peak
 * rises. */
void kn_stgpr_predict_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t n);

/* ---- loo.c: leave-one-out panel ---- */

/* Computes the leave-one-out panel (predictions of a range of responses; N x count) of the
 * responses: mean and variance as b->mean and b->var request, in parallel over cells. */
kn_status kn_stgpr_loo_panel(kn_ctx *ctx, const kn_stgpr_panel *b);
/* Predicts in plan r the memory of kn_stgpr_loo_panel: only the peak rises. */
void kn_stgpr_loo_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- cv.c: cross-validated panel ---- */

/* Sets mean and variance of the panel (predictions of a range of responses; N x count) for all
 * held-out participants of all folds. KN_ERR_DATA as kn_fold_rows. */
kn_status kn_stgpr_cv_panel(kn_ctx *ctx, const kn_stgpr_panel *b, int folds);
/* Predicts in plan r the memory of kn_stgpr_cv_panel: only the peak rises. */
void kn_stgpr_cv_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- deidentify.c: cells of a model without participants ---- */

/* Implements kn_method.deidentify: replaces alpha, effects, X and groups of `to` (a copy of `from`)
 * by synthetic points; how->limit is set. */
kn_status kn_stgpr_deidentify(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how, kn_gp *to);
/* Implements kn_method.points: number of synthetic points of all cells. */
ptrdiff_t kn_stgpr_points(const kn_gp *gp);
/* Frees s->shared. */
void kn_stgpr_shared_clear(kn_stgpr *s);

/* Visits the arrays of every cell (responses that share hyperparameters) that has responses, of
 * a de-identified model, in the model file: A, r, base, map; reading allocates s->shared and
 * checks them. */
kn_status kn_stgpr_shared_arrays(kn_gp *gp, kn_arrays *a);

typedef struct kn_shared_maps {
    kn_mat Xs;               /* new participants x F */
    ptrdiff_t first;         /* first response of g */
    const kn_cell_groups *g; /* responses in the order of their cells */
    ptrdiff_t width;         /* capacity of mean and var */
    ptrdiff_t n;      /* out: number of responses predicted, all of one cell, at most width */
    kn_mat mean, var; /* out: participants x width, n columns are set */
    double *clamped;
} kn_shared_maps;

/* Predicts, with a de-identified model, the responses g->order[at] .. g->order[at + n - 1] of
 * one cell into shared_maps->mean and var; sets shared_maps->n. */
kn_status kn_stgpr_shared_predict(kn_ctx *ctx, const kn_gp *gp, ptrdiff_t at,
                                  kn_shared_maps *shared_maps);

/* ---- stgpr.c: contents of gp->own ---- */

/* gp->own is a kn_stgpr. The fit distributes responses over MPI ranks. Collective. */

/* Allocates an empty kn_stgpr as gp->own. */
kn_status kn_stgpr_allocate(kn_ctx *ctx, kn_gp *gp);

#endif
