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
#include "gp/predict/prediction_blocks.h"
#include "model/adapted_sites.h"
#include "norm/change/reference.h"
#include "norm/reference/reference.h"
#include "norm/sites/prior.h"

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
    kn_calibration_transform layer;
    kn_reference reference;
    kn_sites sites;           /* site prior; T = 0: none */
    kn_encoding recipe;       /* n = 0: covariates came as a matrix of numbers */
    kn_space space;           /* kind KN_SPACE_NONE: responses came as a matrix of numbers */
    kn_group_rule group_rule; /* how groups of repeated measures were found ... */
    /* ... and by which column; "": ids; NULL: new participants have no groups */
    char *group_column;
    char **group_name; /* name of each group; NULL: no groups, or de-identified */
    char **ids;        /* n_samples training ids; NULL: none, or de-identified */
    /* options given to the fit, a JSON object of texts, owned (free); NULL: not known */
    char *options;
    bool timed;     /* info.seconds_... are known; they are not in the model file */
    bool shareable; /* de-identified: contains no training participant [METHOD 8h] */
    /* Missing responses [METHOD 0b]; NULL: none were missing. */
    double *missing_share; /* x.F, see kn_missing_record_shares() */
    /* n_levels x T: 1 if no training participant of the level has the response. The levels of
     * all categories follow each other, each category with one more for new levels. */
    uint8_t *empty_level;
    ptrdiff_t n_levels;
    /* info.curve[].components as doubles, for kn_model_array() */
    double curve_components[KN_MAX_CURVE];
    /* reference for change between visits; law.T = 0: none */
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

/* Set derived fields (curve_components) once info is complete; every function that creates a
 * model calls it. */
void kn_model_finalise(kn_model *model);

/* Size of the model in memory, in bytes (approximate). */
double kn_model_bytes(const kn_model *m);

#endif
