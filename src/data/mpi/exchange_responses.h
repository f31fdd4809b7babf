/* Responses that ranks read together: each holds all people's values of the responses dealt to it
 * (data/mpi/partition_responses.h), the others are elsewhere.
 *
 * Arrays are read so from their file. Images are files of people: rank r of R reads people n r/R ..
 * n (r+1)/R - 1, some at a time, and of each time every rank gets what is its own.
 *
 *     sent by a rank: 4 n T/R (1 - 1/R) bytes       at a time: 16 people of each rank */
#ifndef KN_DATA_MPI_EXCHANGE_RESPONSES_H
#define KN_DATA_MPI_EXCHANGE_RESPONSES_H

#include "data/mpi/partition_responses.h"
#include "data/responses/read.h"

/* Of T responses. */
kn_range kn_responses_own(const kn_ctx *ctx, ptrdiff_t T);

/* Arrays and images are opened by each rank. Fails where one has others of the same name, of which
 * ranks would be at odds over their number, or mix them. Collective. */
kn_status kn_provenance_responses_equal(kn_ctx *ctx, const kn_data *d);

/* p->Y, which has the columns `own` of T, is numbered as if it had all. A column that is elsewhere
 * must not be asked for. */
void kn_responses_number(kn_sample *p, kn_range own, ptrdiff_t T);

/* The images of the rows in use, T voxels of each, into what kn_response_room made for this rank's
 * own. `first`: where they stand row by row; NULL: in the scratch file. Collective. */
kn_status kn_read_images_together(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                                  ptrdiff_t T, float *first, kn_sample *p);

double kn_read_together_need(const kn_ctx *ctx, ptrdiff_t T); /* bytes on the way, beside it */

/* From p->Y, n x T in this rank's columns, the whole rows of the people dealt to it, into what
 * kn_response_room made for them as `to`: by what is read together, the other way round. to->Y is
 * numbered as if it had all people. Collective. */
kn_status kn_redistribute_by_participant(kn_ctx *ctx, const kn_sample *p, kn_view Y, kn_sample *to);

/* yes[n] = of any rank. Collective. */
kn_status kn_allreduce_any(kn_ctx *ctx, bool *yes, ptrdiff_t n);

#endif
