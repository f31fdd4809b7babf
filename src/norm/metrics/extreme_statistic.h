/* The extreme-value statistic of a z map: the trimmed mean of its largest |z| [METHOD 8].
 *
 *     T = number of finite z,  k = max(1, floor(fraction T + 0.5)),  d = floor(k / 20)
 *     m = mean of the k largest |z| without the d largest and the d smallest of them
 *
 * Missing z are ignored; m is NaN if every z is missing. */
#ifndef KN_NORM_METRICS_EXTREME_STATISTIC_H
#define KN_NORM_METRICS_EXTREME_STATISTIC_H

#include "base/matrix.h"
#include "base/memory/plan.h"

#define KN_TOP_FRACTION 0.05

ptrdiff_t kn_extreme_count(ptrdiff_t T, double fraction); /* k */

/* m of one participant: T values, `stride` elements apart; work holds T doubles. O(T), by
 * selection. */
double kn_extreme(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);
double kn_extreme_f(const float *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);

/* The same of the k largest z with their signs: n finite values, which are reordered. */
double kn_extreme_signed(double *z, ptrdiff_t n, double fraction);

/* m of each of `rows` participants: rows of T floats, contiguous. Rows run in parallel. */
kn_status kn_extreme_rows(kn_ctx *ctx, const float *z, ptrdiff_t rows, ptrdiff_t T, double fraction,
                          double *m);

/* Statistic of all participants from blocks of responses, without the N x T map: each
 * participant keeps at most 2 k candidates, reduced to about the k largest whenever the store is
 * full. O(N T) time, 16 N k bytes. The result does not depend on how the T responses are cut
 * into blocks, nor on which rank saw which block. */
typedef struct kn_extreme_stream {
    ptrdiff_t rows, k; /* k for T finite values: no participant needs more */
    double fraction;
    kn_mat best;             /* 2k x rows: the candidates of participant i in column i */
    ptrdiff_t *n_candidates; /* rows: number of candidates in use */
    ptrdiff_t *finite;       /* rows: number of finite z so far */
    double *bar;             /* rows: smaller values cannot be among the k largest */
} kn_extreme_stream;

/* Start a stream; KN_ERR_ARGUMENT if fraction is not in (0, 1]. */
kn_status kn_extreme_stream_init(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t T, double fraction,
                                 kn_extreme_stream *stream);
void kn_extreme_stream_clear(kn_extreme_stream *stream);
/* Add a block z, rows x count; not finite: missing. Rows run in parallel. */
void kn_extreme_stream_add(kn_ctx *ctx, kn_extreme_stream *stream, kn_mat z);
/* Combine the candidates of all ranks, on every rank: 8 N k bytes from each. Collective. */
kn_status kn_extreme_stream_join(kn_ctx *ctx, kn_extreme_stream *stream);
/* m (rows); the stream can only be cleared after this. */
void kn_extreme_stream_result(kn_extreme_stream *stream, double *m);

/* Memory plan; _join_need and _rows_need are temporary. */
void kn_extreme_stream_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction);
void kn_extreme_join_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T,
                          double fraction);                                          /* passes */
void kn_extreme_rows_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, int threads); /* passes */

#endif
