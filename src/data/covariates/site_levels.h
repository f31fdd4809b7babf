/* Sites: the combinations of levels of the categories that are batches         [METHOD 8e]
 *
 * New people may be at a site that training did not have. Two columns such as centre and scanner
 * make one site of each pair of their levels. */
#ifndef KN_DATA_COVARIATES_SITE_LEVELS_H
#define KN_DATA_COVARIATES_SITE_LEVELS_H

#include <jansson.h>

#include "data/covariates/design.h"

typedef struct kn_site_levels {
    ptrdiff_t M;       /* batch categories; 0: there are none */
    ptrdiff_t *column; /* M  raw columns of them, ascending */
    ptrdiff_t S;       /* sites of training */
    int *code;         /* S x M  row by row, ascending */
    ptrdiff_t *people; /* S */
} kn_site_levels;

/* From training rows. A row with a missing code is at no site. */
kn_status kn_site_levels_new(kn_ctx *ctx, const kn_design *d, kn_view raw, kn_site_levels *out);
void kn_site_levels_clear(kn_site_levels *b); /* {0} is fine */

/* site[i] = the site of training that row i is at, or -1. */
void kn_site_levels_sites(const kn_site_levels *b, kn_view raw, int *site);

/* Is one of the levels of a row one that training did not have? */
bool kn_site_levels_is_new(const kn_site_levels *b, const kn_design *d, kn_view raw, ptrdiff_t i);

json_t *kn_site_levels_to_json(const kn_site_levels *b); /* NULL: out of memory */
/* Believes nothing; the columns come from the design. */
kn_status kn_site_levels_from_json(kn_ctx *ctx, const char *name, const json_t *json,
                                   const kn_design *d, kn_site_levels *out);

#endif
