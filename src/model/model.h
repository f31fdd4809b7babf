/* The fitted model: the Gaussian process in standardised units, the encoding and scaling that
 * lead there, the space of the responses, calibration, reference sample and a record of the fit.
 * It does not change once a public function has returned it. kn_model of kronorm.h is this
 * struct. */
#ifndef KN_MODEL_MODEL_H
#define KN_MODEL_MODEL_H

#include "data/covariates/design.h"
#include "data/covariates/encoding.h"
#include "data/covariates/site_levels.h"
#include "data/response_space.h"
#include "data/shared_noise_groups.h"
#include "gp/predict/gp_maps.h"
#include "model/adapted_sites.h"
#include "norm/change/reference.h"
#include "norm/reference/reference.h"
#include "norm/sites/site_prior.h"

struct kn_model {
    /* XXH64 of the file that it was read from; 0: not read from a file, or changed since */
    uint64_t hash;
    kn_fit_info info;     /* record of the fit; kn_info_to_json() prints it */
    kn_design x;          /* from covariates to the columns of the process's X */
    kn_site_levels batch; /* training sites; M = 0: no covariate is a batch */
    kn_adapted adapted;   /* sites that the model was adapted to */
    kn_scaling y;         /* mean and sd of each response, and which responses are in use */
    kn_gp gp;             /* standardised units */
    uint64_t seed;        /* seed of the folds */
    int folds;
    bool grouped; /* folds keep groups of repeated measures together */
    /* calibration; nu = 0: none, z = e/sqrt(v + noise) */
    kn_calibration_transform calibration;
    kn_null_calibration null; /* null model; noise NULL: none */
    kn_reference reference;
    kn_sites sites;           /* site prior; T = 0: none */
    kn_encoding encoding;     /* n = 0: covariates came as a matrix of numbers */
    kn_space space;           /* kind KN_SPACE_NONE: responses came as a matrix of numbers */
    kn_group_rule group_rule; /* how groups of repeated measures were found ... */
    /* ... and by which column; "": ids; NULL: new participants have no groups */
    char *group_column;
    char **group_name;    /* name of each group; NULL: no groups, or de-identified */
    ptrdiff_t *row_order; /* n_samples, order in which rows are assigned to folds
                           * [data/canonical_order.h]; NULL: by index, or de-identified */
    char **ids;           /* n_samples training ids; NULL: none, or de-identified */
    /* options given to the fit, a JSON object of texts, owned (free); NULL: not known */
    char *options;
    /* record of the run that made the model, a JSON object (commands/fit/fit_record.h), owned
     * (free); NULL: not known, or de-identified */
    char *fit;
    bool timed;        /* info.seconds_... are known; they are not in the model file */
    bool deidentified; /* de-identified: contains no training participant [METHOD 8h] */
    /* Missing responses [METHOD 0b]; NULL: none were missing. */
    double *missing_proportion; /* x.F, see kn_missing_record_proportions() */
    /* n_levels x T: 1 if no training participant of the level has the response. The levels of
     * all categories follow each other, each category with one more for new levels. */
    uint8_t *empty_level;
    ptrdiff_t n_levels;
    /* info.curve[].components as doubles, for kn_model_array() */
    double curve_components[KN_MAX_CURVE];
    /* reference for change between visits; distribution.T = 0: none */
    kn_change_reference change;
};

/* Predicted maps, with all responses in the caller's numbering and original units. */
struct kn_maps {
    const kn_model *model;
    kn_gp_maps maps;
};

/* Copy the record of the fit. */
static inline void kn_model_info(const kn_model *model, kn_fit_info *info)
{
    *info = model->info;
}

/* Set the fields that are derived from others (curve_components) once info is complete. Every
 * function that creates a model calls it. */
void kn_model_finalise(kn_model *model);

/* Approximate size of a model in memory, in bytes. */
double kn_model_bytes(const kn_model *m);

/* out = "MODEL.log.json", the log that a fit writes beside its model, with the timings. */
void kn_log_path(const char *model, char *out, size_t size);

/* ---- maps in original units ------------------------------------------------------------------
 *
 * Predicted maps in original units and in the caller's numbering of responses. */

/* Predictive mean and variance of responses first .. first + count - 1 (the caller's numbering),
 * each N* x count for the N* participants of maps, in original units. Either matrix may be
 * kn_mat_none(). Columns of responses that are not in the model are NaN. Can be cancelled. */
kn_status kn_model_maps_block(kn_ctx *ctx, const kn_maps *maps, ptrdiff_t first, ptrdiff_t count,
                              kn_mat mean, kn_mat variance);

/* Position, among the responses in use, of the first whose number in the caller's numbering is at
 * least j; n_kept if there is none. O(log T). */
ptrdiff_t kn_kept_from(const kn_scaling *s, ptrdiff_t j);

#endif
