/* Where new people are from: a site of training, one that the model was adapted to, or one that it
 * has never seen                                                                    [METHOD 8e] */
#ifndef KN_COMMANDS_SCORE_SITE_LOOKUP_H
#define KN_COMMANDS_SCORE_SITE_LOOKUP_H

#include "data/sample.h"
#include "model/model.h"

typedef struct kn_site_lookup {
    ptrdiff_t n;
    int *site;    /* n  of training; -1: none of these. NULL: the model has no batch */
    int *adapted; /* n  that the model was adapted to; -1: none of these */
    bool *alone;  /* n  what the model says without batch is said of them: they are at a site that
                   * it was adapted to, or at one that nobody knows */
    ptrdiff_t n_adapted, n_unknown;
} kn_site_lookup;

/* Refuses people of unknown sites unless {unseen=prior}, and that where the model has one site
 * only. unknown_ok: whoever asks does not mind. */
kn_status kn_site_lookup_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                             const kn_data *data, const kn_sample *people, bool unknown_ok,
                             kn_site_lookup *out);
/* That refusal alone, of people who are not all scored here. */
kn_status kn_site_lookup_check(kn_ctx *ctx, const kn_settings *s, const kn_model *model,
                               const kn_data *data, const kn_sample *people);
void kn_site_lookup_clear(kn_site_lookup *a); /* {0} is fine */

/* The M levels of a row of the covariate table, as texts; free each with kn_free. False where one
 * is missing. */
kn_status kn_site_lookup_levels(kn_ctx *ctx, const kn_model *model, const kn_data *data,
                                ptrdiff_t covariate_row, char **level, bool *whole);

/* Of M levels, NULL: missing: "Leeds", or of two columns "Leeds 3T". */
void kn_site_lookup_name(char *const *level, ptrdiff_t M, char *out, size_t size);

/* A warning for each number of which the controls of a site cover less of the range of those who
 * are scored there. */
#define KN_SITE_COVERED 0.5
void kn_site_lookup_tell_ranges(kn_ctx *ctx, const kn_site_lookup *a, const kn_model *m,
                                const kn_sample *p);

/* What a prediction without batch becomes for person i, response j, standardised. */
typedef struct kn_site_shift {
    double offset, var; /* added to mean and variance */
    double scale;       /* times the noise */
} kn_site_shift;
kn_site_shift kn_site_lookup_effect(const kn_site_lookup *a, const kn_model *m, ptrdiff_t i,
                                    ptrdiff_t j);

#endif
