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

/* Allocate *out for n adapted sites with M batch categories (M > 0), T responses and C covariates;
 * all values are 0. out is owned by the caller (kn_adapted_clear), and empty on failure
 * (KN_ERR_MEMORY). */
kn_status kn_adapted_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t M, ptrdiff_t T, ptrdiff_t C,
                         kn_adapted *out);

/* Index of the adapted site whose M levels equal level[0 .. M - 1] as texts; -1 if there is none.
 * O(n M). */
ptrdiff_t kn_adapted_find(const kn_adapted *a, char *const *level);

/* The adapted sites as a new JSON array, one object per site: levels, number of controls, effect,
 * noise factor and covariate ranges, but no arrays per response. Owned by the caller; NULL: out of
 * memory. */
json_t *kn_adapted_to_json(const kn_adapted *a);

/* Add the T x n arrays (offset, its variance, noise scale; standardised units) to a model file that
 * is being written; nothing if n = 0. */
kn_status kn_adapted_add(kn_ctx *ctx, const kn_adapted *a, kn_st_writer *w);

/* What the section must agree with: design, batch, and number of responses in use. */
typedef struct kn_adapted_for {
    const kn_design *d;
    const kn_site_levels *b;
    ptrdiff_t T;
} kn_adapted_for;

/* Read and validate the adapted sites from the JSON record and the arrays of f. KN_ERR_FORMAT if
 * they disagree with the sizes in `sizes` or a value is impossible. A file without them gives an
 * empty out. out is owned by the caller. */
kn_status kn_adapted_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_adapted_for sizes,
                          kn_adapted *out);

/* Round the range *low .. *high of numeric covariate c outward to multiples of 1/20 of its training
 * range, in place, so that it shows no participant's own value. Both become NaN if the covariate
 * was constant in the training sample. */
void kn_adapted_round(const kn_design *d, ptrdiff_t c, double *low, double *high);

#endif
