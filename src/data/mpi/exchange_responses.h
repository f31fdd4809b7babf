/* Exchanges responses between two layouts over MPI ranks: whole rows of the participants of a rank
 * (kn_sample_range_of), as files hold them, and the columns of a rank for all participants
 * (kn_response_range_of), as fits need them.
 *
 * The exchange proceeds in steps of KN_EXCHANGE_ROWS participants of each rank.
 *
 *     sent by a rank: 4 n T/R (1 - 1/R) bytes       at a time: 16 participants of each rank */
#ifndef KN_DATA_MPI_EXCHANGE_RESPONSES_H
#define KN_DATA_MPI_EXCHANGE_RESPONSES_H

#include "data/responses/responses.h"

enum { KN_EXCHANGE_ROWS = 16 }; /* participants of a rank in one step */

typedef struct kn_row_exchange {
    ptrdiff_t n, T, element; /* participants, responses; bytes per value */
    kn_index_range own;      /* columns of this rank */
    int rank, ranks;
    char *whole;   /* KN_EXCHANGE_ROWS x T, rows of this rank's participants */
    char *rows;    /* KN_EXCHANGE_ROWS x T, the same as one parcel of columns per rank */
    char *columns; /* ranks x KN_EXCHANGE_ROWS x own: participants of each rank, columns of this
                      rank; those of rank q start at byte at[q] and have got[q] bytes */
    ptrdiff_t *sent, *got, *at; /* per rank: bytes sent, bytes received, and their offset */
} kn_row_exchange;

/* Allocates the buffers of an exchange of n x T values of `element` bytes, of which this rank holds
 * the columns `own`. The caller clears *out, after a failure too. */
kn_status kn_row_exchange_new(kn_ctx *ctx, ptrdiff_t n, ptrdiff_t T, ptrdiff_t element,
                              kn_index_range own, kn_row_exchange *out);
void kn_row_exchange_clear(kn_row_exchange *p); /* accepts {0} */

/* Returns the number of steps of the exchange, the same on all ranks. */
ptrdiff_t kn_row_exchange_steps(const kn_row_exchange *p);
/* Returns the participants whose rows a rank sends or receives in a step; none if it has fewer
 * steps. */
kn_index_range kn_row_exchange_rows(const kn_row_exchange *p, int rank, ptrdiff_t step);

/* Exchanges one step: p->whole, filled by the caller, to p->columns of all ranks. Collective. */
kn_status kn_rows_to_columns(kn_ctx *ctx, const kn_row_exchange *p, ptrdiff_t step);
/* Exchanges one step back: p->columns, filled by the caller rank after rank, to the rows `into`
 * (all T columns) of this rank's participants, which may be p->whole. Collective. */
kn_status kn_columns_to_rows(kn_ctx *ctx, const kn_row_exchange *p, ptrdiff_t step, char *into);

/* Returns the bytes of the buffers for float32 values, for the memory plan. */
double kn_row_exchange_need(const kn_ctx *ctx, ptrdiff_t T);

#endif
