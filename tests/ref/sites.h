/* The slow, obvious version of norm/sites/site_prior.c and norm/sites/adapt_site.c: every sum over
 * cells written out, correlations pair by pair. */
#ifndef KN_REF_SITES_H
#define KN_REF_SITES_H

#include <stdbool.h>

#include "base/matrix.h"

typedef struct ref_prior {
    ptrdiff_t T;
    int S;
    bool between;
    double S1, kurt, T_eff_offset, T_eff_scale, v_a, v_b;
    double *mu, *tau2, *w, *w_scale;
} ref_prior;

/* e, es: N x T residuals, as they are and scaled; NaN: missing. site: N, -1: none. */
ref_prior ref_sites(kn_mat e, kn_mat es, const int *site, int S);
void ref_sites_free(ref_prior *p);

typedef struct ref_adapted {
    double kappa, factor;
    double *offset, *offset_var, *scale;
} ref_adapted;

ref_adapted ref_adapt(const ref_prior *p, kn_mat r, kn_mat rs);
void ref_adapted_free(ref_adapted *a);

#endif
