/* The trimmed top-fraction statistic of a z map [METHOD 8].
 *
 *     T = number of finite z,  k = max(1, floor(fraction T + 0.5)),  d = floor(k / 20)
 *     m = mean of the k largest |z| without the d largest and the d smallest of them
 *
 * Missing z are ignored; m is NaN when every z is missing. */
#ifndef KN_NORM_METRICS_EXTREME_STATISTIC_H
#define KN_NORM_METRICS_EXTREME_STATISTIC_H

#include "base/matrix.h"
#include "base/memory/plan.h"

#define KN_TOP_FRACTION 0.05

ptrdiff_t kn_extreme_count(ptrdiff_t T, double fraction); /* k */

/* One sample: T values, `stride` elements apart; work holds T doubles. O(T), by selection. */
double kn_extreme(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);
double kn_extreme_f(const float *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);

/* The same of the k largest z, with their signs: n finite values, which are rearranged. */
double kn_extreme_signed(double *z, ptrdiff_t n, double fraction);

/* m of each of some samples: rows of T floats, one after the other. Rows go in parallel. */
kn_status kn_extreme_rows(kn_ctx *ctx, const float *z, ptrdiff_t rows, ptrdiff_t T, double fraction,
                          double *m);

/* All samples from blocks of responses, without the N x T map: each sample keeps at most 2 k
 * candidates, cut to the k largest whenever the store is full. O(N T) time, 16 N k bytes. The
 * result does not depend on how the T responses are cut into blocks, nor on who saw which. */
typedef struct kn_extreme_stream {
    ptrdiff_t rows, k; /* k for T finite values: no sample needs more */
    double fraction;
    kn_mat best;       /* 2k x rows: the candidates of sample i in column i */
    ptrdiff_t *held;   /* rows: how many of them are in use */
    ptrdiff_t *finite; /* rows: finite z seen */
    double *bar;       /* rows: values below cannot be among the k largest */
} kn_extreme_stream;

kn_status kn_extreme_stream_init(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t T, double fraction,
                                 kn_extreme_stream *stream);
void kn_extreme_stream_clear(kn_extreme_stream *stream);
void kn_extreme_stream_add(kn_ctx *ctx, kn_extreme_stream *stream, kn_mat z); /* rows x count */
/* Every rank's becomes that of all: 8 N k bytes from each. Collective. */
kn_status kn_extreme_stream_join(kn_ctx *ctx, kn_extreme_stream *stream);
void kn_extreme_stream_result(kn_extreme_stream *stream, double *m); /* rows; ends the stream */

void kn_extreme_stream_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction);
void kn_extreme_join_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T,
                          double fraction);                                          /* passes */
void kn_extreme_rows_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, int threads); /* passes */

#endif
