/* A model: the fitted process in standardised units, the scaling that leads there, where covariates
 * and responses came from, what is normal, and a record of how it was made. Immutable once it
 * leaves the library. */
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
    uint64_t hash; /* XXH64 of that file; 0: from none, or changed since */
    kn_fit_info info;
    kn_design x;          /* from covariates to the columns of the process' X */
    kn_site_levels batch; /* sites of training; M = 0: no category is a batch */
    kn_adapted adapted;   /* further sites */
    kn_scaling y;
    kn_gp gp;
    uint64_t seed; /* of the folds */
    int folds;
    bool grouped; /* the folds kept groups of samples together */
    kn_calibration_transform
        layer; /* from residuals to z; nu = 0: as in 0.1, z = e/sqrt(v + noise) */
    kn_reference reference;
    kn_sites sites;           /* T = 0: nothing is known of sites */
    kn_encoding recipe;       /* n = 0: covariates were given as numbers */
    kn_space space;           /* T = 0: responses were given as numbers */
    kn_group_rule group_rule; /* how rows that share noise were found ... */
    char *group_column;       /* ... and by which column; "": ids; NULL: new people have none */
    char **group_name;        /* of each group; NULL: there are none, or they were stripped */
    char **ids;               /* n_samples training ids; NULL: none, or stripped */
    char *options;  /* those given to the fit, a JSON object of texts; NULL: none are known */
    bool timed;     /* info.seconds_... are known */
    bool shareable; /* nobody of training is in it [METHOD 8h] */
    /* of missing responses [METHOD 0b]; NULL: none was */
    double *missing_share; /* x.F  see kn_missing_record_shares */
    uint8_t *empty_level;  /* n_levels x T, levels of all categories one after the other, each with
                            * one for new levels: nobody of it has the response */
    ptrdiff_t n_levels;
    double curve_components[KN_MAX_CURVE]; /* info.curve[].components, as an array has them */
    kn_change_reference change; /* what changes are compared with; law.T = 0: nothing is kept */
};

/* Maps in the caller's numbering and units. */
struct kn_maps {
    const kn_model *model;
    kn_gp_maps maps;
};

static inline void kn_model_info(const kn_model *model, kn_fit_info *info)
{
    *info = model->info;
}

/* To be called once when all else is in place, by whoever makes a model. */
void kn_model_finalise(kn_model *model);

double kn_model_bytes(const kn_model *m); /* in memory */

#endif
