/* The readings of a range finder: what it takes from the responses, strip by strip [basis_range.h]
 */
#ifndef KN_GP_BASIS_RANGE_FINDER_PASSES_H
#define KN_GP_BASIS_RANGE_FINDER_PASSES_H

#include "base/memory/plan.h"
#include "gp/basis/range_finder.h"

typedef struct kn_readings {
    kn_responses Y;
    bool centre;
    ptrdiff_t n, T, k;
    ptrdiff_t P;    /* components that are asked for: k without the surplus */
    ptrdiff_t cut;  /* blocks are strips of at most 128 MB */
    double energy;  /* at least |A|^2 */
    int limbs;      /* of sums of float32 products */
    bool single;    /* the last reading is in float32 */
    kn_mat Q, M;    /* n x k */
    kn_fmat Q32;    /* n x k */
    kn_fmat W;      /* width x k */
    ptrdiff_t done; /* responses read so far, of all readings */
    ptrdiff_t total;
    kn_range_info info;
} kn_readings;

/* Y, centre, n, T, k and total are set. */
kn_status kn_readings_new(kn_ctx *ctx, kn_readings *w);
void kn_readings_clear(kn_readings *w);

/* The readings are collective. M = [sketch, A random], in float32 */
kn_status kn_reading_sketch(kn_ctx *ctx, const kn_range_options *o, kn_readings *w);
/* M = A (A'Q), in float32 */
kn_status kn_reading_power(kn_ctx *ctx, kn_readings *w);
/* W = A'Q (T x k) into b->B and M = A W, both in double; |A|^2 into b->total; the mean. */
kn_status kn_reading_last(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean);

/* The same, products in float32 and sums in double. */
kn_status kn_reading_last_single(kn_ctx *ctx, kn_readings *w, kn_basis *b, double *mean);

/* n samples, k columns: leaves the work space and B; the readings themselves pass. */
void kn_readings_need(kn_mem_plan *r, ptrdiff_t n, ptrdiff_t T, ptrdiff_t k);

#endif
