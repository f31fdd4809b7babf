/* Where a nested search starts when nobody says where                                [METHOD 3b]
 *
 * One or two terms: a grid of weights by lengths, 5 x 5 evaluations, whose best two are climbed
 * from. An additive sum: from equal weights, and from where each term in turn holds most of the
 * variance. Where there are rows to spare all this happens in a subsample (search_subsample.h): a
 * climb there costs less than one evaluation here. */
#ifndef KN_GP_SEARCH_STARTS_H
#define KN_GP_SEARCH_STARTS_H

#include "gp/search/space.h"

/* The best two cells of the grid, climbed in a subsample first where there are rows to spare; two
 * that meet are one. Collective. */
kn_status kn_starts_grid(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                         kn_cov_point at[2], int *n, kn_search_result *found);

/* Would all rows cost much? Then the starts of an additive sum are for a subsample. Collective. */
kn_status kn_starts_small(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, bool *small);

/* The additive sum in a subsample: from *at, and from each term; *at is the best. Collective. */
kn_status kn_starts_additive(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                             kn_cov_point *at, kn_search_result *found);

/* Weights of an additive sum have local maxima: climbs from where each term in turn holds most of
 * the variance, at median lengths. Collective. */
kn_status kn_starts_terms(kn_ctx *ctx, kn_search_space *s, kn_limits *limits, const char *stage,
                          kn_search_result *found);

#endif
