/* The interface of a method: the table kn_method, one instance per method. Options and input of a
 * fit are in fit_problem.h.
 *
 * Everything that differs between methods is a field or a function of kn_method, so no other
 * code tests which method a model has. A new method is one folder in methods/, a declaration in
 * methods/methods.h and one line in method.c. */
#ifndef KN_GP_METHOD_H
#define KN_GP_METHOD_H

#include "base/array_visitor.h"
#include "base/memory/plan.h"
#include "gp/gp.h"

/* Arguments of the operations, defined by the headers of the stages that make them. */
typedef struct kn_responses kn_responses;         /* data/responses/responses.h */
typedef struct kn_fit_problem kn_fit_problem;     /* gp/fit_problem.h */
typedef struct kn_cv_problem kn_cv_problem;       /* gp/fit_problem.h */
typedef struct kn_predict_input kn_predict_input; /* gp/predict/gp_maps.h */
typedef struct kn_gp_maps kn_gp_maps;             /* gp/predict/gp_maps.h */
typedef struct kn_map_density kn_map_density;     /* gp/predict/map_density.h */

/* Input of kn_method.deidentify, which de-identifies a model [gp/deidentify.h]. */
typedef struct kn_deidentification {
    kn_mat points; /* n x F  standardised; candidates for the synthetic points */
    double cut;    /* directions with r < cut d_p/c_p for every component p are dropped; 0: none */
    double leverage;      /* largest leverage of a participant [gp/limit_leverage.h]; from 1: any */
    ptrdiff_t limit;      /* out: number of directions kept, maximum over the cells */
    double before, after; /* out: largest leverage without noise and with it */
    ptrdiff_t blurred;    /* out: rows and groups that got noise, maximum over the cells */
} kn_deidentification;

/* Predicts in plan r the memory of a method, implemented in the files of the method
 * [base/memory/plan.h]. */
typedef struct kn_method_need {
    void (*settle)(kn_problem_size *s); /* sets P and other sizes that the options leave open */
    /* Plans a fit. Keeps the model and, with folds, the cross-validated maps in the plan. */
    void (*fit)(kn_mem_plan *r, const kn_problem_size *s);
    /* maps plans the maps of n participants by a model of s->N training participants. block plans
     * the work space of one block of such maps; temporary except for what the maps keep. */
    void (*maps)(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
    void (*block)(kn_mem_plan *r, const kn_problem_size *s, kn_maps_kind kind, ptrdiff_t n);
} kn_method_need;

/* The paper that several methods implement. */
#define KN_KIA_MARQUAND_CITE "Kia & Marquand, 2018"
#define KN_KIA_MARQUAND                                                                            \
    "Kia SM, Marquand AF (2018). Normative modeling of neuroimaging data using scalable "          \
    "multi-task Gaussian processes. In: Medical Image Computing and Computer Assisted "            \
    "Intervention - MICCAI 2018, Lecture Notes in Computer Science 11072."

/* A method. All function pointers are required unless the comment says that NULL is allowed;
 * quantities are in standardised units. */
typedef struct kn_method {
    const char *name;         /* value of --method and name in model files */
    const char *title;        /* name in sentences */
    const char *words;        /* relative clause for a methods section: "..., which ..." */
    const char *cite, *paper; /* citation in the text and entry of the reference list */
    /* ---- properties ---- */
    bool components;            /* has P components, given or chosen by held-out loss */
    bool identity;              /* the basis represents the identity [METHOD 1c] */
    bool independent_responses; /* responses are independent: no basis, no components */
    bool low_rank;              /* R0 may have low rank */
    bool spreads;               /* a fit without missing cells is distributed over MPI ranks
                                   (data/responses/responses.h) */
    bool same_steps;     /* if distributed: the ranks search in lock-step [gp/search/lockstep.c] */
    bool held_out_once;  /* for N > KN_MANY one set is held out instead of folds */
    bool own_covariance; /* has its own covariance between participants instead of R0 */
    bool iso_term;       /* R may have an iso term in addition to the noise of the method */
    bool own_noise; /* has its own noise model and likelihood; the options for them do not apply */
    bool training_noise; /* without folds the fit sets gp->noise from the training sample */
    bool own_deviance; /* whole-map deviance is that of the model's map density, not of z-scores */
    /* ---- operations ---- */
    /* Returns an error for sizes N, T that the method does not support. NULL: all are supported. */
    kn_status (*admits)(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T);
    /* Fits problem into gp (owned by the caller) and records the fit in info. */
    kn_status (*fit)(kn_ctx *ctx, kn_fit_problem *problem, kn_gp *gp, kn_fit_info *info);
    /* predict: maps of new participants [METHOD 4]. loo: closed-form leave-one-out maps of the
     * training sample [METHOD 5]. cv: cross-validated maps [METHOD 5b]. The maps borrow gp. */
    kn_status (*predict)(kn_ctx *ctx, const kn_gp *gp, const kn_predict_input *input,
                         kn_gp_maps *out);
    kn_status (*loo)(kn_ctx *ctx, const kn_gp *gp, const kn_responses *Y, kn_gp_maps *out);
    kn_status (*cv)(kn_ctx *ctx, const kn_gp *gp, const kn_cv_problem *problem, kn_gp_maps *out);
    /* Mean and model variance of one block of the maps; arguments as for kn_gp_maps_from. */
    kn_status (*block)(kn_ctx *ctx, const kn_gp_maps *maps, ptrdiff_t first, kn_mat y, kn_mat mean,
                       kn_mat var);
    /* Covariance of the responses J for one participant with covariates x (1 x F): model and noise
     * are |J| x |J| [METHOD 1d]. */
    kn_status (*covariance)(kn_ctx *ctx, const kn_gp *gp, kn_mat x, const ptrdiff_t *J,
                            kn_mat model, kn_mat noise);
    /* Density of a whole map [gp/predict/map_density.h]. map_density: coordinates and variances of
     * the participants of one fold prediction. map_density_block: V (count x K) and scale (count)
     * of the responses from `first` on; y is the block of maps->Y as for kn_gp_maps_from. NULL:
     * responses are independent. */
    kn_status (*map_density)(kn_ctx *ctx, const kn_gp_maps *maps, int part, kn_map_density *out);
    kn_status (*map_density_block)(kn_ctx *ctx, const kn_gp_maps *maps, int part, ptrdiff_t first,
                                   kn_mat y, kn_mat V, double *scale);
    /* Sets gp->noise if the fit determines it and returns true; otherwise returns false and
     * gp/predict/noise.h estimates it. NULL: always estimated from held-out residuals
     * [METHOD 1d] */
    bool (*known_noise)(kn_gp *gp);
    /* noise (T): noise variance of members of a known group: gp->noise minus the group noise. */
    void (*group_noise)(const kn_gp *gp, double *noise);
    double (*group_noise_proportion)(const kn_gp *gp); /* group noise over total noise, 0 to 1 */
    /* De-identifies: `to` gets synthetic points in place of the training participants of `from`
     * [gp/deidentify.h]. NULL: not supported. */
    kn_status (*deidentify)(kn_ctx *ctx, const kn_gp *from, kn_deidentification *how, kn_gp *to);
    /* number of synthetic points of such a model, over all cells */
    ptrdiff_t (*points)(const kn_gp *gp);
    /* ---- storage ---- */
    kn_status (*arrays)(kn_gp *gp, kn_arrays *visitor); /* all arrays except X and noise */
    void (*clear)(kn_gp *gp);                           /* frees gp->own; NULL: there is none */
    double (*bytes)(const kn_gp *gp);                   /* size of the model in memory */
    /* Smallest number of participants for which a prediction is efficient. Depends on gp->T only,
     * so that a memory plan can call it. NULL: 1. */
    ptrdiff_t (*batch)(const kn_gp *gp);
    /* a line about the model for its summary; NULL: none */
    void (*describe)(const kn_gp *gp, char *line, size_t size);
    kn_method_need need;
    /* Adds the sizes that scoring needs and that only the arrays of the model determine; NULL:
     * none. */
    void (*shape)(const kn_gp *gp, kn_problem_size *s);
} kn_method;

/* Returns the number of methods in the table. */
int kn_method_count(void);
/* Returns method `number` in table order; NULL: out of range. */
const kn_method *kn_method_at(int number);
/* Returns the method with this --method name; NULL: unknown. */
const kn_method *kn_method_find(const char *name);
/* The method that implements `name` with this noise model: S-MTGPR has several implementations.
 * Model files are read with it. NULL: unknown name. */
const kn_method *kn_method_of(const char *name, kn_noise noise);

#endif
