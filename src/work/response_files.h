/* The values of responses, of whatever kind of file, for the rows in use. */
#ifndef KN_WORK_RESPONSE_FILES_H
#define KN_WORK_RESPONSE_FILES_H

#include "data/select.h"
#include "work/dataset.h"
#include "work/place.h"

typedef struct kn_response_rows {
    ptrdiff_t n;
    const ptrdiff_t *row; /* n rows of the responses' file, ascending */
} kn_response_rows;

/* What the reader needs to know of the job, to find out whether there is room. */
typedef struct kn_room {
    kn_allowance allowance;
    kn_need_shape shape; /* all but N, T, F, M and what depends on the files */
    ptrdiff_t rank;      /* of R, as kn_fit_options has it */
    const char *scratch; /* a folder */
} kn_room;

/* Fill d->Y and d->space from what d has open. */
kn_status kn_read_table(kn_ctx *ctx, const kn_room *room, const kn_selection *selection,
                        const kn_response_rows *r, kn_dataset *d);
kn_status kn_read_array(kn_ctx *ctx, const kn_room *room, const kn_response_rows *r, kn_dataset *d);
kn_status kn_read_images(kn_ctx *ctx, const kn_room *room, const kn_inputs *in,
                         const kn_model *model, const kn_response_rows *r, kn_dataset *d);

#endif
