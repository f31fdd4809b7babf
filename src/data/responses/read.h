/* Reads the values of the responses for the rows in use, one function per kind of input. Called by
 * sample.c. */
#ifndef KN_DATA_RESPONSES_READ_H
#define KN_DATA_RESPONSES_READ_H

#include "data/sample.h"
#include "data/table/select_columns.h"

typedef struct kn_response_rows {
    ptrdiff_t n;
    const ptrdiff_t *row; /* n rows of the responses' file, ascending */
    ptrdiff_t least;      /* images in which a voxel must be finite, without a mask; 0: all */
    bool whole;           /* every rank reads all responses, not only its own */
    bool by_people;       /* preloaded data: a rank gets all responses of its own participants */
} kn_response_rows;

/* The four readers set p->Y (n x T, original units) and p->space from the open files or the memory
 * of d. `space` is that of a model; NULL: a fit. From files a rank gets its own responses
 * (data/mpi/exchange_responses.h), with r->whole all. KN_ERR_SHAPE or KN_ERR_DATA if the responses
 * are not those of the space; KN_ERR_MEMORY if they do not fit.
 *
 * kn_read_table reads the columns `selection` of a table; values are double, stored by columns.
 * Collective. */
kn_status kn_read_table(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_selection *selection, const kn_response_rows *r, kn_sample *p);
/* Reads a .npy array in its own type and order. Collective. */
kn_status kn_read_array(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_response_rows *r, kn_sample *p);
/* Reads images as float32. Without space and mask computes the default mask (auto_mask.h).
 * Collective. */
kn_status kn_read_images(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                         const kn_space *space, const kn_response_rows *r, kn_sample *p);
/* Borrows the caller's matrix if all of it is used in its order, otherwise copies it. Collective.
 */
kn_status kn_read_view(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                       const kn_space *space, const kn_response_rows *r, kn_sample *p);

/* Allocates storage for n x T values as p->Y, in memory or in a scratch file, as room->place
 * decides: row by row, or column by column if `columns` is set or a fit will read from the file. */
kn_status kn_response_room(kn_ctx *ctx, const kn_memory_policy *room, const kn_response_shape *s,
                           bool columns, kn_sample *p);

#endif
