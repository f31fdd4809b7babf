/* The likelihood engine: evaluates the likelihood of coordinates Z and its gradient. All work
 * space is allocated once; gp/search calls it at many points.
 *
 * nested: the engine takes weights and shapes of R0 and maximises over all other parameters inside
 * [METHOD 3b]. joint (iso noise only): it takes all parameters theta. */
#ifndef KN_GP_LIKELIHOOD_ENGINE_H
#define KN_GP_LIKELIHOOD_ENGINE_H

#include "base/memory/plan.h"
#include "cov/simplex_weights.h"
#include "gp/latent.h"
#include "gp/likelihood/iso_noise.h"
#include "gp/likelihood_spec.h"
#include "gp/optimise/optimise.h"

/* What dense engines over the same participants and groups can reuse: pair statistics and the
 * decompositions at the last point. */
typedef struct kn_engine_core {
    kn_pairs pairs;
    int n_cells;
    kn_decomp R0[KN_GAMMAS]; /* U NULL: none */
    bool decomposed;         /* R0[] are the decompositions at R0[0].theta */
} kn_engine_core;
/* Frees the core and sets it to {0}. */
void kn_engine_core_clear(kn_engine_core *core);

/* An engine. Fields marked view are borrowed. */
typedef struct kn_engine {
    kn_spec spec;
    kn_cov cov; /* covariance of R0: spec.sample without its iso term */
    ptrdiff_t N, T, P;
    kn_mat Z;         /* view, N x P */
    double E;         /* energy outside the basis, |Y|^2 - |Z|^2 */
    bool complement;  /* the complement is modelled: P < T and E exceeds rounding [METHOD 2] */
    kn_mat X;         /* view, N x F; none if pairs were given */
    kn_groups groups; /* repeated measures that share noise (structured only); {0}: none */
    kn_pairs pairs;   /* dense only */
    kn_lowrank low;   /* low rank only */
    /* One cell per candidate gamma (one cell without groups): its decomposition, and A = U'Z m x P
     * of all components. */
    int n_cells;
    kn_latent_cell cell[KN_GAMMAS];
    int *in;            /* P  index of the best cell of each component */
    kn_mat A2, M, V, H; /* work space */
    /* P  signal variance, noise variance and LML of each component in its best cell; w (m) is work
     * space */
    double *c, *d, *lml, *w;
    double *try_c, *try_d, *try_lml; /* P  the same in the cell being evaluated */
    double *rest;                    /* P  energy of each component outside U (low rank) */
    double s2;                       /* noise variance of the complement */
    kn_iso iso;                      /* iso noise only */
    double inside[KN_THETA]; /* iso: inside parameters at the last maximum, the next warm start */
    bool warm;               /* inside holds a start */
    double inside_tolerance; /* inner search, nats */
    bool thorough;           /* try the cold starts in addition to the warm one */
    bool follows;            /* root decides whether the low rank suffices; this rank follows */
    bool decomposed;         /* dense: the cells hold the decompositions at cell[0].R0.theta */
    int evals, inner_evals;
    int decompositions; /* evaluations that computed a decomposition, not reused one */
    bool lockstep;      /* root evaluates for all MPI ranks, see search/lockstep.c */
} kn_engine;

/* Input of kn_engine_new. X (N x F, none if pairs are given) and Z (N x P) are borrowed and must
 * outlive the engine; pairs and groups are moved. */
typedef struct kn_engine_data {
    kn_mat X, Z;
    kn_pairs *pairs;   /* pair statistics of the rows; NULL: computed from X */
    kn_groups *groups; /* NULL: none */
    ptrdiff_t T;       /* number of responses */
    double E, total;   /* energy outside the basis, and total energy |Y|^2 */
    /* number of participants that task features are scaled to, so that folds have the same C
     * [METHOD 5b]; 0: N */
    ptrdiff_t N_ref;
    const kn_pairs *tasks; /* as in kn_iso_new; may be NULL */
    /* NULL, or the core of an engine over the same X and groups; moved if this engine is dense */
    kn_engine_core *core;
} kn_engine_data;

/* Creates the engine that evaluates the log likelihood of the coordinates Z (N x P) and its
 * gradient at given parameters: dense if spec.rank is 0 or pairs are given, else low rank.
 * KN_ERR_MEMORY, with the sizes that would fit, if the dense matrices exceed the budget. */
kn_status kn_engine_new(kn_ctx *ctx, const kn_spec *spec, const kn_engine_data *data,
                        kn_engine *out);
/* Frees all that the engine owns and sets it to {0}. */
void kn_engine_clear(kn_engine *e);

/* Moves pair statistics and decompositions of a dense engine to core, for the next engine. A
 * low-rank engine leaves core empty. Afterwards the engine can only be cleared. */
void kn_engine_donate(kn_engine *e, kn_engine_core *core);

/* With spec.rank_auto: tests whether the low rank suffices at the weights and shapes `at`, and
 * changes the engine to dense if not. Computes the features but no decomposition. Otherwise does
 * nothing. */
kn_status kn_engine_try_rank(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at);

/* Makes root decide for all MPI ranks, from here on, whether the low rank suffices: changes this
 * rank to dense if root has changed; *turned tells whether it did so now. Collective. */
kn_status kn_engine_sync_rank(kn_ctx *ctx, kn_engine *e, bool *turned);

/* Broadcasts root's result of an evaluation to all MPI ranks: c, d, the cell (components with
 * equal group noise) of each component, s2 and the inside parameters (iso noise: only the inside
 * parameters). Each rank keeps its own decomposition. Collective. */
kn_status kn_engine_broadcast(kn_ctx *ctx, kn_engine *e);

/* Changes a low-rank engine to dense: computes the pair statistics and allocates N x N
 * decompositions; the caller has set spec.rank to 0. KN_ERR_MEMORY as for kn_engine_new. */
kn_status kn_engine_make_dense(kn_ctx *ctx, kn_engine *e);

/* Builds the latent form *out of the last evaluated point: c, d, gamma (group noise over noise)
 * and the cells that components use. Moves *X and parts of the engine, which can only be cleared
 * afterwards. */
kn_status kn_engine_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

/* Computes the log likelihood *lml at the weights and shapes `at` of R0 (covariance between
 * participants), maximised over all other parameters, and unless g is NULL its derivatives with
 * respect to (eta, ln shapes) [cov/simplex_weights.h]. Leaves c, d (iso: also the inside
 * parameters) at their maximum. */
kn_status kn_engine_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                           double *g);

/* Step 1 of kn_engine_nested: decomposes R0 (covariance between participants) at the point and
 * computes A = U'Z. A dense engine that is already decomposed there reuses its decomposition. */
kn_status kn_engine_decompose(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at);
/* Step 2 of kn_engine_nested, after kn_engine_decompose: maximises the log likelihood over c, d
 * and gamma (group noise over noise), or over the inside parameters (iso noise); *lml is the
 * maximum. */
kn_status kn_engine_maximise(kn_ctx *ctx, kn_engine *e, double *lml);
/* Step 3 of kn_engine_nested, after kn_engine_maximise at the same point: g = derivatives of the
 * maximum with respect to (eta, ln shapes) of R0. */
kn_status kn_engine_gradient(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *g);

/* Evaluates kn_engine_nested without gradient on all MPI ranks at root's point, which is
 * broadcast into *at, and gives all ranks root's decision on the rank and root's c, d and inside
 * parameters. Collective. */
kn_status kn_engine_evaluate_at(kn_ctx *ctx, kn_engine *e, kn_cov_point *at, double *lml);

/* Evaluates structured noise at parameters r0 of R0 (n_theta of e->cov): *lml is the log
 * likelihood maximised over c, d and gamma (group noise over noise), which stay in the engine.
 * Folds use it with the R0 of the fit. */
kn_status kn_engine_at(kn_ctx *ctx, kn_engine *e, const double *r0, double *lml);

/* Evaluates the likelihood with iso noise (one variance for all responses) at all parameters
 * theta = [task, sample, noise], in the order of METHOD 1a: *lml and, unless g is NULL, its
 * gradient, without any inner maximisation. */
kn_status kn_engine_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g);

/* Low rank: proportion of the trace of R0 that may be omitted, during the search and at its end. */
extern const double kn_rank_tolerance_search, kn_rank_tolerance;

/* Predicts in plan r the memory of an engine for s->N participants, s->P coordinates and rank
 * s->M, which stays in the plan; an evaluation (with gradient if `gradient`) only raises the
 * peak. tasks: the task statistics of iso noise are given. */
void kn_engine_need(kn_mem_plan *r, const kn_problem_size *s, bool gradient, bool tasks);
/* Predicts in plan r the memory of the core of a dense engine for s->N participants (pair
 * statistics and decompositions), which stays in the plan; nothing for low rank. */
void kn_engine_core_need(kn_mem_plan *r, const kn_problem_size *s);

/* ---- engine inner ----
 *
 * Inner search of iso noise: maximises over the inside parameters (C, iso, s2) at a fixed,
 * decomposed R0 [METHOD 3, 3b]
 *
 * L-BFGS from the last maximum; without one, or if the engine is `thorough`, from KN_INSIDE_STARTS
 * cold starts. One step is one evaluation of gp/likelihood/iso_noise.h and reuses U. */

enum { KN_INSIDE_STARTS = 3 };
/* Writes cold start number `which` < KN_INSIDE_STARTS of the inner search to inside (n_inside):
 * the variance per component is split between signal and noise in different proportions. With
 * the exact likelihood the noise comes from the energy outside the basis. */
void kn_engine_inside_start(const kn_engine *e, int which, double *inside);

/* Inner search of iso noise (one variance for all responses): maximises the likelihood over the
 * inside parameters (task covariance C, iso term, noise s2) at the decomposed R0. Leaves
 * e->inside and the state of e->iso at the maximum, which is the next warm start; *lml is the
 * value there. [METHOD 3, 3b] */
kn_status kn_engine_maximise_inside(kn_ctx *ctx, kn_engine *e, double *lml);

/* Copies signal and noise variances from the iso state to the engine: c_p, d_p = c_p iso + s2,
 * and s2. */
void kn_engine_copy_iso(kn_engine *e);

#endif
