/* The methods: one row each, defined in the method's own file.
 *
 * Whatever differs from method to method is in its row, so that nothing else asks which method a
 * model is of. A new method is one file and its line in method.c. */
#ifndef KN_GP_METHOD_H
#define KN_GP_METHOD_H

#include "base/array_visitor.h"
#include "base/memory/plan.h"
#include "gp/cv/single_holdout.h"
#include "gp/predict/map_density.h"
#include "gp/predict/prediction_blocks.h"
#include "gp/search/search.h"

/* How a process is freed of its samples [share.h]. */
typedef struct kn_sharing {
    kn_mat points;  /* n x F  candidates for what stands for them */
    double cut;     /* directions with r below this share of every delta are left out */
    ptrdiff_t most; /* out: directions that are left, of the cell that has most of them */
} kn_sharing;

/* What tasks are, and how their processes are related, where a method leaves it open. */
typedef struct kn_tasks_options {
    kn_on on;
    kn_inducing inducing;
    kn_widths widths;
    int latent, points;      /* latent processes, inducing inputs of each */
    const bool *smooth;      /* of the raw covariates: those to smooth over; NULL: all numbers */
    const char *smooth_text; /* as it was given */
} kn_tasks_options;

typedef struct kn_gp_options {
    kn_search_options search;
    ptrdiff_t components; /* 0: auto */
    kn_view basis;        /* data NULL: principal components */
    bool axes_given;      /* its columns are the components, not the principal axes of its span */
    int folds;            /* of the reference; 0: none */
    const int *groups;    /* N, or NULL: who stays together in them */
    kn_gp_maps *cv;       /* NULL, or where the cross-validated maps go when they were made */
    bool plain;           /* STGPR: each response alone */
    int shrinkage;        /* MT-Kronsum, as the option is */
    const struct kn_design *design; /* that X came from */
    kn_tasks_options tasks;
    ptrdiff_t noise_rank; /* MTGPR: columns of H */
    bool ppca, iso_term;  /* MTGPR: gamma is free; R has an iso term */
} kn_gp_options;

/* What is to be fitted, and what has been found on the way. */
typedef struct kn_fit_problem {
    kn_mat X;       /* N x F standardised */
    kn_mat X_alone; /* the same as if people were of no batch; none: there is none */
    kn_responses Y; /* N x T */
    kn_spec spec;
    kn_groups groups; /* samples that share noise; {0}: none */
    const kn_gp_options *options;
    kn_gram gram;         /* of Y; G.data NULL: not made */
    kn_heldout held;      /* of many samples, instead; mean NULL: not made */
    ptrdiff_t pilot_rank; /* spec.rank as a search for R0 with a few components left it */
    const struct kn_completion *completion; /* of Y, lent; NULL: no cell is missing */
    kn_engine_core *core; /* of a search for R0 over all samples, for who goes on; NULL: not kept */
} kn_fit_problem;

void kn_fit_problem_clear(kn_fit_problem *p); /* gram and held */

/* Cross-validated maps of whom, by which folds. */
typedef struct kn_cv_problem {
    const kn_responses *Y;
    const kn_gram *gram; /* of Y; NULL: to be made where it is needed */
    int folds;
    const int *fold;                        /* N  0 .. folds-1 */
    const struct kn_completion *completion; /* by which each fold fills in its own; NULL: none */
    kn_mat X_alone;        /* N x F  of those held out, as if they were of no batch; or none */
    const kn_pairs *pairs; /* of all samples; NULL: to be made where they are needed */
} kn_cv_problem;

/* The memory of a method, declared by its own files [base/memory/plan.h]. */
typedef struct kn_method_need {
    void (*settle)(kn_problem_size *s); /* P, and what else the options leave open */
    /* A fit: leaves the model and the cross-validated maps, where there are folds. */
    void (*fit)(kn_mem_plan *r, const kn_problem_size *s);
    /* Maps of n samples, predicted or leave-one-out, by a model of s->N; and the work of a block of
     * some maps, which passes but for what the maps keep of it. */
    void (*maps)(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
    void (*block)(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
} kn_method_need;

/* The paper that several rows come from. */
#define KN_KIA_MARQUAND_CITE "Kia & Marquand, 2018"
#define KN_KIA_MARQUAND                                                                            \
    "Kia SM, Marquand AF (2018). Normative modeling of neuroimaging data using scalable "          \
    "multi-task Gaussian processes. In: Medical Image Computing and Computer Assisted "            \
    "Intervention - MICCAI 2018, Lecture Notes in Computer Science 11072."

typedef struct kn_method {
    const char *name;         /* as an option and in model files */
    const char *title;        /* in sentences */
    const char *words;        /* what it is, in a methods section: "..., which ..." */
    const char *cite, *paper; /* whom to cite for it: in the text, in the list */
    /* ---- what it has ---- */
    bool components;     /* a number of components, given or chosen by held-out loss */
    bool identity;       /* its basis stands for the identity [METHOD 1c] */
    bool alone;          /* each response alone: neither basis nor components */
    bool low_rank;       /* R0 may be of low rank */
    bool spreads;        /* a fit of complete responses is spread over ranks
                            (data/mpi/partition_responses.h) */
    bool same_steps;     /* then all ranks search in lock-step, by one clock */
    bool held_out_once;  /* beyond KN_MANY samples one set is held out instead of folds */
    bool own_covariance; /* how samples relate is its own, and no R0 */
    bool iso_term;       /* R may have an iso term beside noise of the method's own */
    bool own_noise;      /* its noise and likelihood are its own: neither is chosen */
    bool training_noise; /* the fit leaves the noise of training in gp->noise */
    bool own_deviance;   /* the deviance of a map is that of its law, not one learned from z */
    /* ---- what it does ---- */
    /* Refuses sizes that it does not take; NULL: it takes all. */
    kn_status (*admits)(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T);
    kn_status (*fit)(kn_ctx *ctx, kn_fit_problem *problem, kn_gp *gp, kn_fit_info *info);
    kn_status (*predict)(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *who,
                         kn_gp_maps *out);
    kn_status (*loo)(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
    kn_status (*cv)(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);
    /* mean and variance of a block of its maps, as kn_gp_maps_from */
    kn_status (*block)(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y, kn_mat mean,
                       kn_mat var);
    kn_status (*covariance)(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                            kn_mat model, kn_mat noise);
    /* The law of a whole map [law.h]: of the samples of a part; and of a block of responses from
     * `first` on, y the block of maps->Y as for kn_gp_maps_from, V count x K and scale count. NULL:
     * responses are independent. */
    kn_status (*law)(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out);
    kn_status (*law_block)(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first, kn_mat y,
                           kn_mat V, double *scale);
    /* Sets gp->noise where the fit itself says it, or returns false: noise.h then makes it. NULL:
     * never, it is estimated from those held out                                     [METHOD 1d] */
    bool (*known_noise)(kn_gp *gp);
    /* noise (T) of those in a known group, from gp->noise and what groups have of it */
    void (*group_noise)(const kn_gp *gp, double *noise);
    double (*group_share)(const kn_gp *gp); /* what groups have of all noise */
    /* The process without its samples, from points that are none [share.h]; NULL: it cannot. */
    kn_status (*share)(kn_ctx *ctx, const kn_gp *from, kn_sharing *how, kn_gp *to);
    ptrdiff_t (*points)(const kn_gp *gp); /* that it then has, of all cells */
    /* ---- what it keeps ---- */
    kn_status (*arrays)(kn_gp *gp, kn_arrays *visitor); /* of a fitted process, X and noise apart */
    void (*clear)(kn_gp *gp);                           /* gp->own; NULL: it has none */
    double (*bytes)(const kn_gp *gp);                   /* in memory */
    /* Samples that a prediction should have, if there are so many, to be worth its while; by gp->T
     * alone, so that a rehearsal can ask too. */
    ptrdiff_t (*batch)(const kn_gp *gp);
    void (*say)(const kn_gp *gp, char *line, size_t size); /* of itself, to people; NULL: nothing */
    kn_method_need need;
    /* What a scoring by a model takes that its own arrays say; NULL: nothing */
    void (*shape)(const kn_gp *gp, kn_problem_size *s);
} kn_method;

int kn_method_count(void);
const kn_method *kn_method_at(int number);         /* in the order of the table; NULL: no such */
const kn_method *kn_method_find(const char *name); /* NULL: no such */
/* The row by which a method of that name has this noise: S-MTGPR has one for each that is a model
 * of its own. Models in files are of it too. */
const kn_method *kn_method_of(const char *name, kn_noise noise);

#endif
