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

/* Finds the sites of the training rows raw (N x C), the combinations of levels that occur, and
 * counts their participants; *out is owned (kn_site_levels_clear). A row with a missing code is at
 * no site. KN_ERR_ARGUMENT if there are too many site categories. */
kn_status kn_site_levels_new(kn_ctx *ctx, const kn_design *d, kn_view raw, kn_site_levels *out);
void kn_site_levels_clear(kn_site_levels *b); /* accepts {0} */

/* Sets site[i] to the index of the site of row i of raw (n x C), or -1 if a code is missing or the
 * training sample does not have the site. */
void kn_site_levels_sites(const kn_site_levels *b, kn_view raw, int *site);

/* Returns whether row i of raw has a level of a site category that the training sample does not
 * have. */
bool kn_site_levels_is_new(const kn_site_levels *b, const kn_design *d, kn_view raw, ptrdiff_t i);

/* Returns the sites as JSON of a model file. Owned by the caller; NULL: out of memory. */
json_t *kn_site_levels_to_json(const kn_site_levels *b);
/* Reads the sites from JSON of a model file; the site categories come from the design. *out is
 * owned (kn_site_levels_clear). `name` of the file is for messages. KN_ERR_FORMAT for anything
 * invalid. */
kn_status kn_site_levels_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                   const kn_design *d, kn_site_levels *out);

#endif
