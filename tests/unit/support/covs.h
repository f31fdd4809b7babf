/* Covariances as tests like to write them. */
#ifndef KN_COVS_H
#define KN_COVS_H

#include "gp/likelihood/engine.h"
#include "support/test.h"

/* "linear+se" over F columns; "" is none at all */
static inline kn_cov cov_of(const char *text, ptrdiff_t F)
{
    kn_cov cov = {0};
    kn_ctx *c = kn_ctx_new();
    if (text[0])
        assert_ok(c, kn_cov_parse(c, text, F, &cov));
    kn_ctx_free(c);
    return cov;
}

/* The same by bits. */
static inline kn_cov cov_of_bits(unsigned bits, ptrdiff_t F)
{
    return cov_of(bits ? KERNELS[bits] : "", F);
}

/* theta of (1-rho) XX'/F + rho SE(length) */
static inline void theta_at_rho(const kn_cov *cov, double rho, double length, double *theta)
{
    kn_cov_point at = kn_cov_at_rho(cov, rho, length);
    kn_cov_theta(cov, &at, theta);
}

static inline kn_status nested_at(kn_ctx *ctx, kn_engine *e, double rho, double length, double *lml,
                                  double *g)
{
    kn_cov_point at = kn_cov_at_rho(&e->cov, rho, length);
    return kn_engine_nested(ctx, e, &at, lml, g);
}

/* An engine over the rows of X, or over pairs, which are taken over. */
static inline kn_status engine_over(kn_ctx *ctx, const kn_spec *spec, kn_mat X, kn_mat Z,
                                    ptrdiff_t T, double E, double total, kn_engine *out)
{
    kn_engine_data data = {.X = X, .Z = Z, .T = T, .E = E, .total = total};
    return kn_engine_new(ctx, spec, &data, out);
}

static inline kn_status engine_of(kn_ctx *ctx, const kn_spec *spec, kn_pairs *pairs, kn_mat Z,
                                  ptrdiff_t T, double E, double total, kn_engine *out)
{
    kn_engine_data data = {.pairs = pairs, .Z = Z, .T = T, .E = E, .total = total};
    return kn_engine_new(ctx, spec, &data, out);
}

#endif
