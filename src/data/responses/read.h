/* The values of responses, of whatever kind they are, for the rows in use. */
#ifndef KN_DATA_RESPONSES_READ_H
#define KN_DATA_RESPONSES_READ_H

#include "data/sample.h"
#include "data/table/select_columns.h"

typedef struct kn_response_rows {
    ptrdiff_t n;
    const ptrdiff_t *row; /* n rows of the responses' file, ascending */
    ptrdiff_t least;      /* images in which a voxel must have a value, without a mask; 0: all */
    bool whole;           /* every rank gets all responses, not its own only */
    bool by_people;       /* of held data: a rank gets all responses, of its own people only */
} kn_response_rows;

/* Fill p->Y and p->space from what d has open, or was given. `space` of a model, or NULL. Of
 * files a rank gets its own responses (data/mpi/exchange_responses.h), where r->whole says so all.
 * Collective.
 */
kn_status kn_read_table(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_selection *selection, const kn_response_rows *r, kn_sample *p);
kn_status kn_read_array(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                        const kn_response_rows *r, kn_sample *p);
kn_status kn_read_images(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                         const kn_space *space, const kn_response_rows *r, kn_sample *p);
kn_status kn_read_view(kn_ctx *ctx, const kn_memory_policy *room, const kn_data *d,
                       const kn_space *space, const kn_response_rows *r, kn_sample *p);

/* Room for n x T values as p->Y, in memory or in a scratch file, as the room says: row by row, or
 * column by column where `columns` asks for it or a fit will read from a file. */
kn_status kn_response_room(kn_ctx *ctx, const kn_memory_policy *room, const kn_response_shape *s,
                           bool columns, kn_sample *p);

#endif
