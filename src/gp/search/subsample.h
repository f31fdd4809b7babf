/* A likelihood of fewer people, in which a search finds its starts                   [METHOD 3b]
 *
 * n = max(150, N/3), at most 400: an evaluation there is dense and costs (n/N)^3 of one of all N, a
 * 27th, and beyond 400 rows they tell no more. */
#ifndef KN_GP_SEARCH_SUBSAMPLE_H
#define KN_GP_SEARCH_SUBSAMPLE_H

#include "gp/likelihood/engine.h"

enum { KN_SUBSAMPLE_LEAST = 150 }; /* with so many there is none */

ptrdiff_t kn_subsample_size(ptrdiff_t N);

/* A dense engine on seeded rows of e's; groups come whole, and the last of them may make it a few
 * more. Z: their coordinates, which must outlive it. */
kn_status kn_subsample(kn_ctx *ctx, const kn_engine *e, uint64_t seed, kn_mat *Z, kn_engine *out);

/* What it holds, over s->N samples. */
void kn_subsample_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
