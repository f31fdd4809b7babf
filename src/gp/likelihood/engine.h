/* One likelihood, ready to be evaluated: samples, coordinates and work space, allocated once.
 * The engine evaluates at R0's weights and shapes, everything else maximised inside
 * [METHOD 3b, nested], or, for iso noise, at all parameters given [joint]. */
#ifndef KN_GP_LIKELIHOOD_ENGINE_H
#define KN_GP_LIKELIHOOD_ENGINE_H

#include "base/memory/plan.h"
#include "cov/simplex_weights.h"
#include "gp/latent.h"
#include "gp/likelihood/iso.h"
#include "gp/optimise/optimise.h"
#include "gp/spec.h"

/* What engines over the same samples and groups have in common where R0 is dense, handed from one
 * to the next: statistics of pairs, and the decompositions of the last point. */
typedef struct kn_engine_core {
    kn_pairs pairs;
    int n_cells;
    kn_decomp R0[KN_GAMMAS]; /* U NULL: none */
    bool stands;             /* they are those of R0[0].theta */
} kn_engine_core;
void kn_engine_core_clear(kn_engine_core *core);

typedef struct kn_engine {
    kn_spec spec;
    kn_cov cov; /* of R0: the sample covariance without iso */
    ptrdiff_t N, T, P;
    kn_mat Z;         /* view, N x P */
    double E;         /* energy outside the basis */
    bool complement;  /* it is modelled: P < T and E is more than rounding [METHOD 2] */
    kn_mat X;         /* view, N x F; none when made from pairs */
    kn_groups groups; /* samples that share noise (structured only); {0}: none */
    kn_pairs pairs;   /* dense only */
    kn_lowrank low;   /* low rank only */
    /* A cell for each gamma that is tried, one without groups: its decomposition, and
     * A = U'Z   m x P of all components. */
    int n_cells;
    kn_latent_cell cell[KN_GAMMAS];
    int *in;            /* P  the cell that is best for each component */
    kn_mat A2, M, V, H; /* work */
    double *c, *d, *lml, *w;
    double *try_c, *try_d, *try_lml; /* P  of the cell at hand */
    double *rest;                    /* P  energy of each component outside U */
    double s2;                       /* of the complement */
    kn_iso iso;                      /* iso noise only */
    double inside[KN_THETA];         /* its best inside parameters so far: the next warm start */
    bool warm;                       /* inside holds a start */
    double inside_tolerance;         /* nats */
    bool thorough;                   /* try the cold starts besides the warm one */
    bool follows;                    /* another rank says whether a low rank suffices */
    bool stands; /* dense: the cells hold the decompositions at cell[0].R0.theta */
    int evals, inner_evals;
    int decompositions; /* evaluations that decomposed R0: all but those where the engine stood */
    bool lockstep;      /* rank 0 evaluates for all ranks, see lockstep.h */
} kn_engine;

/* What a likelihood is of. X (N x F, none where pairs are given) and Z (N x P) must outlive the
 * engine; pairs and groups are taken over. */
typedef struct kn_engine_data {
    kn_mat X, Z;
    kn_pairs *pairs;       /* NULL: of X */
    kn_groups *groups;     /* NULL: none */
    ptrdiff_t T;           /* responses */
    double E, total;       /* energy outside the basis, and of all */
    ptrdiff_t N_ref;       /* the sample size that task features are scaled to, so that folds see
                            * the same C [METHOD 5b]; 0: N */
    const kn_pairs *tasks; /* as in kn_iso_new */
    kn_engine_core *core;  /* NULL, or of an engine over these X and groups: what it has is taken
                            * over where this one is dense */
} kn_engine_data;

/* Dense where spec.rank is 0 or pairs are given, else of low rank. */
kn_status kn_engine_new(kn_ctx *ctx, const kn_spec *spec, const kn_engine_data *data,
                        kn_engine *out);
void kn_engine_clear(kn_engine *e);

/* What a dense engine leaves to the next; of low rank nothing. Before it is cleared. */
void kn_engine_donate(kn_engine *e, kn_engine_core *core);

/* Is a low rank that may be given up enough at these weights and shapes? Else the engine is dense
 * from here on. Nothing is decomposed. */
kn_status kn_engine_try_rank(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at);

/* All ranks have the engine of one search. From here on the first says whether a low rank suffices;
 * the others turn to the dense matrix when it has, and *turned says that they just did. Collective.
 */
kn_status kn_engine_sync_rank(kn_ctx *ctx, kn_engine *e, bool *turned);

/* What the first rank's engine came to (c, d and their cells, s2, the inside parameters) on all of
 * them; each keeps its own decomposition. Collective. */
kn_status kn_engine_share(kn_ctx *ctx, kn_engine *e);

/* From low rank to dense, once spec.rank is 0. */
kn_status kn_engine_make_dense(kn_ctx *ctx, kn_engine *e);

/* The fitted components from where the engine stands; takes over X and parts of the engine. */
kn_status kn_engine_latent(kn_ctx *ctx, kn_mat *X, kn_engine *e, kn_latent *out);

/* LML at weights and shapes, and its derivatives with respect to (eta, ln shapes)
 * [cov/simplex_weights.h]. Leaves c, d (and for iso the inside parameters) at their maximum. g may
 * be NULL. */
kn_status kn_engine_nested(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *lml,
                           double *g);

/* The three parts of kn_engine_nested, to be called in this order at one point. A dense engine that
 * stands at the point keeps its decomposition, and `decompositions` does not grow. */
kn_status kn_engine_decompose(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at); /* and A = U'Z */
kn_status kn_engine_maximise(kn_ctx *ctx, kn_engine *e, double *lml); /* c, d, inside parameters */
kn_status kn_engine_gradient(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, double *g);

/* kn_engine_nested on all ranks, without gradient, at the point of the first rank (which *at
 * becomes) and then with its numbers: kn_engine_sync_rank, kn_engine_share. Collective. */
kn_status kn_engine_evaluate_at(kn_ctx *ctx, kn_engine *e, kn_cov_point *at, double *lml);

/* Structured noise at R0's own parameters, as a fold holds them. */
kn_status kn_engine_at(kn_ctx *ctx, kn_engine *e, const double *r0, double *lml);

/* iso: LML and gradient at theta = [task, sample, noise], the order of METHOD 1a. */
kn_status kn_engine_joint(kn_ctx *ctx, kn_engine *e, const double *theta, double *lml, double *g);

/* Low rank: how much of R0's trace may be left out; search with the first, finish with the other.
 */
extern const double kn_rank_tolerance_search, kn_rank_tolerance;

/* Over s->N samples and s->P coordinates, of rank s->M; an evaluation passes, with its gradient.
 * `tasks`: those of iso noise are given. */
void kn_engine_need(kn_mem_plan *r, const kn_problem_size *s, bool gradient, bool tasks);
/* What it leaves; of low rank nothing. */
void kn_engine_core_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
