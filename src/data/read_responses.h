/* Reads the values of the responses for the rows in use, one function per kind of input. Called by
 * sample.c. */
#ifndef KN_DATA_READ_RESPONSES_H
#define KN_DATA_READ_RESPONSES_H

#include "data/sample.h"
#include "data/table/select_columns.h"

typedef struct kn_response_rows {
    ptrdiff_t n;
    const ptrdiff_t *row; /* n rows of the responses' file, ascending */
    ptrdiff_t lowest;     /* images in which a voxel must be finite, without a mask; 0: all */
    bool whole;           /* every rank reads all responses, not only its own */
    bool by_participants; /* preloaded data: a rank gets all responses of its own participants */
    bool training;        /* images are checked [image_checks.h] */
} kn_response_rows;

/* Sets p->Y (n x T, original units) and p->space to the columns `selection` of the table of d, for
 * the rows r; values are double, stored by columns. Like the other three readers it gives a rank
 * its own responses (kn_response_range_of), with r->whole all. KN_ERR_DATA for a text or a name
 * that is too long; KN_ERR_MEMORY if the values do not fit. Collective. */
kn_status kn_read_table(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                        const kn_selection *selection, const kn_response_rows *r, kn_sample *p);
/* Sets p->Y (n x T, original units, type and order of the file) and p->space from the open .npy
 * array of d, for the rows r; a rank gets its own responses, with r->whole all. KN_ERR_IO or
 * KN_ERR_MEMORY if the values cannot be read or do not fit. Collective. */
kn_status kn_read_array(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                        const kn_response_rows *r, kn_sample *p);
/* Sets p->Y (n x T, float32, original units) and p->space from the images of d, for the rows r.
 * Without `space` (that of a model) and mask it computes the default mask: voxels that are finite
 * in all images in use, or in r->lowest of them, and not constant; with a single image the finite
 * ones. That is a pass over all images before the values are read.
 *
 * Images are one file per participant: rank r of R reads participants n r/R .. n (r+1)/R - 1, and
 * an all-to-all exchange gives each rank its responses (data/mpi/exchange_responses.h).
 * KN_ERR_SHAPE if the images are not those of the space; KN_ERR_MEMORY if values do not fit.
 * Collective. */
kn_status kn_read_images(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                         const kn_space *space, const kn_response_rows *r, kn_sample *p);
/* Sets p->Y and p->space from the caller's matrix in d, for the rows r: borrowed if all of it is
 * used in its order, otherwise a copy. Columns of a model (`space`) are found by name, else by
 * position; KN_ERR_DATA or KN_ERR_SHAPE if they do not fit. Collective. */
kn_status kn_read_view(kn_ctx *ctx, const kn_memory_policy *policy, const kn_data *d,
                       const kn_space *space, const kn_response_rows *r, kn_sample *p);

/* Allocates storage for n x T values as p->Y, in memory or in a scratch file, as
 * policy->choose_storage decides: row by row, or column by column if `columns` is set or a fit will
 * read from the file. */
kn_status kn_response_storage_new(kn_ctx *ctx, const kn_memory_policy *policy,
                                  const kn_response_shape *s, bool columns, kn_sample *p);

/* Copies values that are borrowed from the caller, so that they may be moved or changed; does
 * nothing if p owns them. */
kn_status kn_responses_own_copy(kn_ctx *ctx, const kn_memory_policy *policy, kn_sample *p);

/* Renumbers p->Y, which holds the columns `own` of T, so that columns keep their global numbers.
 * Columns outside `own` must not be accessed. Sets p->own. */
void kn_responses_number(kn_sample *p, kn_index_range own, ptrdiff_t T);

/* Fails if the ranks have opened different images (paths and geometry) or arrays of different
 * shapes. Collective. */
kn_status kn_provenance_responses_equal(kn_ctx *ctx, const kn_data *d);

/* Rejects participants without any finite response: such a file is broken, and nothing can be
 * learned from it. KN_ERR_DATA, with the name of the first such image or row of p->Y. Reads each
 * row only up to its first finite value. Collective. */
kn_status kn_blank_refuse(kn_ctx *ctx, const kn_data *d, const kn_response_rows *r,
                          const kn_sample *p);

#endif
