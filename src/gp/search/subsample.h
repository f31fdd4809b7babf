/* A likelihood of a random subset of rows, where a search finds its starts [METHOD 3b]
 *
 * n = max(150, N/3), at most 400: its evaluation is dense and costs (n/N)^3 of one on all N rows,
 * 1/27 for n = N/3; more than 400 rows do not improve the starts. */
#ifndef KN_GP_SEARCH_SUBSAMPLE_H
#define KN_GP_SEARCH_SUBSAMPLE_H

#include "gp/likelihood/engine.h"

enum { KN_SUBSAMPLE_LEAST = 150 }; /* for N up to this there is no subsample */

/* n for N rows, before whole groups are completed. */
ptrdiff_t kn_subsample_size(ptrdiff_t N);

/* Creates a dense engine on seeded rows of e. Groups are taken whole, so the last one may exceed
 * n. Z (owned by the caller, must outlive out): the coordinates of the rows. */
kn_status kn_subsample(kn_ctx *ctx, const kn_engine *e, uint64_t seed, kn_mat *Z, kn_engine *out);

/* Memory plan of the subsample of s->N participants, kept. */
void kn_subsample_need(kn_mem_plan *r, const kn_problem_size *s);

#endif
