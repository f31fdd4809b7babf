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

/* Number of values in the extreme-value statistic of T values: fraction T rounded, at least 1 and
 * at most T. */
ptrdiff_t kn_extreme_count(ptrdiff_t T, double fraction);

/* Extreme-value statistic of one map: the trimmed mean of its largest |z|. z: T values, `stride`
 * elements apart; not finite: missing. work: T doubles, overwritten. O(T), by selection. NaN if
 * every z is missing. */
double kn_extreme(const double *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);

/* kn_extreme() for z in single precision. */
double kn_extreme_f(const float *z, ptrdiff_t stride, ptrdiff_t T, double fraction, double *work);

/* Trimmed mean of the k largest of n finite z with their signs. z is reordered; NaN if n = 0. */
double kn_extreme_signed(double *z, ptrdiff_t n, double fraction);

/* Extreme-value statistic m[i] of each of `rows` maps (z: rows x T floats, row-major). Maps run in
 * parallel, with T doubles of work per thread. KN_ERR_MEMORY. */
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

/* Start an empty stream for the extreme-value statistic of `rows` participants over T responses.
 * KN_ERR_ARGUMENT if fraction is not in (0, 1]. Release it with kn_extreme_stream_clear(). */
kn_status kn_extreme_stream_init(kn_ctx *ctx, ptrdiff_t rows, ptrdiff_t T, double fraction,
                                 kn_extreme_stream *stream);
void kn_extreme_stream_clear(kn_extreme_stream *stream);

/* Add a block of responses, z (rows x count; not finite: missing), to the candidates of each
 * participant. Rows run in parallel. */
void kn_extreme_stream_add(kn_ctx *ctx, kn_extreme_stream *stream, kn_mat z);

/* Combine the candidates that the MPI ranks have found in their own responses, on every rank; each
 * sends 8 N k bytes. Collective. */
kn_status kn_extreme_stream_join(kn_ctx *ctx, kn_extreme_stream *stream);

/* m[i] = extreme-value statistic of each participant, from all blocks that were added; NaN without
 * a value. The stream can only be cleared after this. */
void kn_extreme_stream_result(kn_extreme_stream *stream, double *m);

/* Add to the memory plan r what a stream for `rows` participants and T responses keeps
 * allocated. */
void kn_extreme_stream_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction);

/* Add to the memory plan r what kn_extreme_stream_join() allocates temporarily. */
void kn_extreme_join_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, double fraction);

/* Add to the memory plan r what kn_extreme_rows() allocates temporarily. */
void kn_extreme_rows_need(kn_mem_plan *r, ptrdiff_t rows, ptrdiff_t T, int threads);

#endif
