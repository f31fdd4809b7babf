/* Sites of the training sample: the combinations of levels of the site categories   [METHOD 8e]
 *
 * Two columns such as centre and scanner define one site for each pair of their levels. New
 * participants may be at a site that the training sample does not have. */
#ifndef KN_DATA_COVARIATES_SITE_LEVELS_H
#define KN_DATA_COVARIATES_SITE_LEVELS_H

#include <jansson.h>

#include "data/covariates/design.h"

typedef struct kn_site_levels {
    ptrdiff_t M;               /* site categories; 0: none */
    ptrdiff_t *column;         /* M, their raw columns, ascending */
    ptrdiff_t S;               /* sites of the training sample */
    int *code;                 /* S x M codes, row by row, rows ascending */
    ptrdiff_t *n_participants; /* S, participants at each site */
} kn_site_levels;

/* Finds the sites of the training rows raw (N x C). A row with a missing code is at no site. */
kn_status kn_site_levels_new(kn_ctx *ctx, const kn_design *d, kn_view raw, kn_site_levels *out);
void kn_site_levels_clear(kn_site_levels *b); /* accepts {0} */

/* Sets site[i] to the site of row i, or -1 if the training sample does not have it. */
void kn_site_levels_sites(const kn_site_levels *b, kn_view raw, int *site);

/* Returns whether a level of row i is not in the training sample. */
bool kn_site_levels_is_new(const kn_site_levels *b, const kn_design *d, kn_view raw, ptrdiff_t i);

json_t *kn_site_levels_to_json(const kn_site_levels *b); /* NULL: out of memory */
/* Reads the sites from a model file and checks everything; the columns come from the design. */
kn_status kn_site_levels_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                   const kn_design *d, kn_site_levels *out);

#endif
