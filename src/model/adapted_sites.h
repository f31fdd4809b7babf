/* Sites that a model was adapted to: offset of each response, its variance, and noise scale,
 * estimated from healthy controls of the site [METHOD 8e], with their section of the model file.
 *
 *     z1 = (y - m_j(x without batch) - offset_j) / sqrt(ys2_nb + scale_j noise_j e^eta + var_j)
 *
 * Of the controls only their number and the rounded range of their covariates are kept. */
#ifndef KN_MODEL_ADAPTED_SITES_H
#define KN_MODEL_ADAPTED_SITES_H

#include <jansson.h>

#include "data/covariates/site_levels.h"
#include "io/safetensors/safetensors.h"

typedef struct kn_adapted_site {
    ptrdiff_t controls;
    double kappa;  /* how unusual its offset is among sites; 1: typical */
    double factor; /* factor of the noise variance that all responses share */
    double effect; /* size of its offset among sites, by the median response; 1: typical */
} kn_adapted_site;

typedef struct kn_adapted {
    ptrdiff_t n, M, T;     /* sites, batch categories, responses in use */
    char **level;          /* n x M levels, row-major */
    kn_adapted_site *site; /* n */
    double *low, *high;    /* n x C: range of numeric covariates, rounded outward; NaN: category */
    ptrdiff_t C;           /* number of covariates */
    kn_mat offset, offset_var, scale; /* T x n, standardised units */
} kn_adapted;

/* Free the arrays; {0} is allowed. */
void kn_adapted_clear(kn_adapted *a);

/* Allocate n sites with M > 0 batch categories, T responses and C covariates. */
kn_status kn_adapted_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t M, ptrdiff_t T, ptrdiff_t C,
                         kn_adapted *out);

/* Index of the site with these M levels; -1: none. */
ptrdiff_t kn_adapted_find(const kn_adapted *a, char *const *level);

/* Record "adapted" of the model file; NULL: out of memory. */
json_t *kn_adapted_to_json(const kn_adapted *a);
/* Add the arrays to a model file; nothing if n = 0. */
kn_status kn_adapted_add(kn_ctx *ctx, const kn_adapted *a, kn_st_writer *w);

/* What the section must agree with: design, batch, and number of responses in use. */
typedef struct kn_adapted_for {
    const kn_design *d;
    const kn_site_levels *b;
    ptrdiff_t T;
} kn_adapted_for;
/* Read and validate the section; KN_ERR_FORMAT if it is inconsistent. Without the section, out
 * is empty. */
kn_status kn_adapted_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_adapted_for of,
                          kn_adapted *out);

/* Round the range of numeric covariate c outward to twentieths of the training range, so that it
 * shows no participant's own value; NaN if the training range is empty. */
void kn_adapted_round(const kn_design *d, ptrdiff_t c, double *low, double *high);

#endif
