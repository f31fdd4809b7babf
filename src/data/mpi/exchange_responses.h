/* Reads responses on several MPI ranks: each rank holds the values of all participants for the
 * responses assigned to it (data/mpi/partition_responses.h).
 *
 * Arrays are read in this layout. Images are one file per participant: rank r of R reads
 * participants n r/R .. n (r+1)/R - 1, 16 at a time, and an all-to-all exchange gives each rank
 * its responses.
 *
 *     sent by a rank: 4 n T/R (1 - 1/R) bytes       at a time: 16 participants of each rank */
#ifndef KN_DATA_MPI_EXCHANGE_RESPONSES_H
#define KN_DATA_MPI_EXCHANGE_RESPONSES_H

#include "data/mpi/partition_responses.h"
#include "data/responses/read.h"

/* Returns the responses of this rank among T, all in use. */
kn_range kn_responses_own(const kn_ctx *ctx, ptrdiff_t T);

/* Checks that the ranks have opened the same images (paths and geometry) or an array of the same
 * shape. Fails if not. Collective. */
kn_status kn_provenance_responses_equal(kn_ctx *ctx, const kn_data *d);

/* Renumbers p->Y, which holds the columns `own` of T, so that columns keep their global numbers.
 * Columns outside `own` must not be accessed. Sets p->own. */
void kn_responses_number(kn_sample *p, kn_range own, ptrdiff_t T);

/* Reads T voxels of each image in r into this rank's part of the storage that kn_response_room
 * made. `first`: row-wise storage in memory; NULL: the scratch file. Collective. */
kn_status kn_read_images_together(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                                  ptrdiff_t T, float *first, kn_sample *p);

/* Returns the bytes of the exchange buffers, for the memory plan. */
double kn_read_together_need(const kn_ctx *ctx, ptrdiff_t T);

/* The inverse exchange: from Y (n x T, this rank's columns of p) to all columns of the
 * participants assigned to this rank, into storage that kn_response_room made in `to`. Rows of
 * to->Y keep their global numbers. Collective. */
kn_status kn_redistribute_by_participant(kn_ctx *ctx, const kn_sample *p, kn_view Y, kn_sample *to);

/* Logical or of yes[n] over all ranks. Collective. */
kn_status kn_allreduce_any(kn_ctx *ctx, bool *yes, ptrdiff_t n);

#endif
