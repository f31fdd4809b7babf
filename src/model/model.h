/* A model: the fitted process in standardised units, the scaling that leads there, and a record
 * of how it was made. Immutable once it leaves the library. */
#ifndef KN_MODEL_MODEL_H
#define KN_MODEL_MODEL_H

#include "design/scale.h"
#include "gp/gp.h"

struct kn_model {
    kn_fit_info info;
    kn_xscale x;
    kn_scaling y;
    kn_gp gp;
    uint64_t seed; /* of the folds */
    int folds;
};

/* Maps in the caller's numbering and units. */
struct kn_maps {
    const kn_model *model;
    kn_gp_maps maps;
};

#endif
