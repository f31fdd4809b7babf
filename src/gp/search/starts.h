/* Default starts of a nested search [METHOD 3b]
 *
 * One or two terms: a grid of weights by lengths, 5 x 5 evaluations; the best two cells are
 * starts. Additive sums: equal weights, and for each term a start where it has most of the
 * variance. With enough rows all this runs on a subsample (subsample.h), where an ascent costs
 * less than one evaluation on all rows. */
#ifndef KN_GP_SEARCH_STARTS_H
#define KN_GP_SEARCH_STARTS_H

#include "gp/search/space.h"

/* Sets at[*n], *n = 1 or 2, to the best two cells of the grid; if there are enough rows, after an
 * ascent in the subsample, and as one start if both ascents end at the same place. Adds evaluation
 * counts to found. Collective. */
kn_status kn_starts_grid(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                         kn_cov_point at[2], int *n, kn_search_result *found);

/* Sets *small if the starts of an additive sum are to be searched in a subsample: more than 150
 * rows for a dense R0, more than 5000 for low rank. May change the engine to dense. Collective. */
kn_status kn_starts_small(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at, bool *small);

/* Additive sum: ascents in a subsample from *at and from each term; *at becomes the best point.
 * Adds evaluation counts to found. Collective. */
kn_status kn_starts_additive(kn_ctx *ctx, const kn_search_space *s, const kn_search_options *o,
                             kn_cov_point *at, kn_search_result *found);

/* Ascents from points where one term in turn has 3/4 of the variance, at median lengths, because
 * the weights of an additive sum have local maxima. The best replaces *found. Collective. */
kn_status kn_starts_terms(kn_ctx *ctx, kn_search_space *s, kn_limits *limits, const char *stage,
                          kn_search_result *found);

#endif
