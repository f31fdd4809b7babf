/* Sites that a model was adapted to: what healthy people of each were further away than people of
 * training, how well that is known, and how much wider they spread          [METHOD 8e]
 *
 *     z1 = (y - m_j(x without batch) - offset_j) / sqrt(ys2_nb + scale_j noise_j e^eta + var_j)
 *
 * Nothing of these people is kept but how many they were, and in round numbers their range. */
#ifndef KN_MODEL_ADAPTED_SITES_H
#define KN_MODEL_ADAPTED_SITES_H

#include <jansson.h>

#include "data/covariates/site_levels.h"
#include "io/safetensors/safetensors.h"

typedef struct kn_adapted_site {
    ptrdiff_t controls;
    double kappa;  /* how unusual its offset is among sites, 1: like others */
    double factor; /* common to all responses, of the noise variance */
} kn_adapted_site;

typedef struct kn_adapted {
    ptrdiff_t n, M, T; /* sites, batch categories, responses in use */
    char **level;      /* n x M  texts, row by row */
    kn_adapted_site *site;
    double *low, *high;               /* n x C  of numeric covariates, outward; NaN of categories */
    ptrdiff_t C;                      /* covariates */
    kn_mat offset, offset_var, scale; /* T x n */
} kn_adapted;

void kn_adapted_clear(kn_adapted *a); /* {0} is fine */

/* Room for n sites; M > 0 of the batch, C covariates. */
kn_status kn_adapted_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t M, ptrdiff_t T, ptrdiff_t C,
                         kn_adapted *out);

/* The site with these M levels; -1: none. */
ptrdiff_t kn_adapted_find(const kn_adapted *a, char *const *level);

json_t *kn_adapted_to_json(const kn_adapted *a); /* NULL: out of memory */
kn_status kn_adapted_add(kn_ctx *ctx, const kn_adapted *a, kn_st_writer *w);

/* Believes nothing. T responses in use, d and b of the model. */
typedef struct kn_adapted_for {
    const kn_design *d;
    const kn_site_levels *b;
    ptrdiff_t T;
} kn_adapted_for;
kn_status kn_adapted_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, kn_adapted_for of,
                          kn_adapted *out);

/* In twentieths of the range of number c, outward: nobody's own numbers. NaN where it has none. */
void kn_adapted_round(const kn_design *d, ptrdiff_t c, double *low, double *high);

#endif
