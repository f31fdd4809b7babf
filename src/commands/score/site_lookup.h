/* Sites of new participants: a training site, a site that the model was adapted to, or an unknown
 * site [METHOD 8e]. The lookup gives offset, variance and noise factor of the site for each
 * response. */
#ifndef KN_COMMANDS_SCORE_SITE_LOOKUP_H
#define KN_COMMANDS_SCORE_SITE_LOOKUP_H

#include "data/sample.h"
#include "model/model.h"

/* Sites of n participants. Owns its arrays. */
typedef struct kn_site_lookup {
    ptrdiff_t n;
    int *site;          /* n: training site; -1: other. NULL: the model has no batch effect */
    int *adapted;       /* n: adapted site; -1: other */
    bool *without_site; /* n: predicted without site effect: the site is adapted or unknown */
    ptrdiff_t n_adapted, n_unknown;
} kn_site_lookup;

/* Find the site of each participant. KN_ERR_DATA for unknown sites unless {unseen=prior}, and even
 * then if the model has one site only; unknown_ok: no such error. out is owned by the caller. */
kn_status kn_site_lookup_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                             const kn_data *data, const kn_sample *participants, bool unknown_ok,
                             kn_site_lookup *out);

/* Fail as kn_site_lookup_new() does for unknown sites, on a whole list of which this process scores
 * a part; no result, no warning. */
kn_status kn_site_lookup_check(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                               const kn_data *data, const kn_sample *participants);
void kn_site_lookup_clear(kn_site_lookup *a); /* accepts {0} */

/* Levels of the M batch columns in a row of the covariate table; each is owned by the caller
 * (kn_free), NULL if missing. *whole: none is missing. */
kn_status kn_site_lookup_levels(kn_ctx *ctx, const kn_model *model, const kn_data *data,
                                ptrdiff_t covariate_row, char **level, bool *whole);

/* Name of a site from its M levels (NULL: missing): "Leeds", or with two columns "Leeds 3T". */
void kn_site_lookup_name(char *const *level, ptrdiff_t M, char *out, size_t size);

#define KN_SITE_COVERED 0.5

/* Warn for each numeric covariate of which the controls of an adapted site cover less than
 * KN_SITE_COVERED of the range of the participants scored there. */
void kn_site_lookup_warn_ranges(kn_ctx *ctx, const kn_site_lookup *a, const kn_model *m,
                                const kn_sample *p);

/* Correction of a prediction without site effect for participant i and response j, standardised. */
typedef struct kn_site_shift {
    double offset, var; /* added to mean and model variance */
    double scale;       /* factor of the noise variance */
} kn_site_shift;

/* Correction of a prediction without site effect for participant i and response j, standardised
 * units; none at training sites. */
kn_site_shift kn_site_lookup_effect(const kn_site_lookup *a, const kn_model *m, ptrdiff_t i,
                                    ptrdiff_t j);

#endif
