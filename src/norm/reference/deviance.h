/* The joint deviances of the reference: of z, and of z by noise alone          [METHOD 8b, 8j]
 *
 * zz' of both comes from the first walk over the cross-validated maps, with everything else that is
 * a sum over responses; the second walk is theirs alone. Where z is kept, or memory allows, the z
 * of these are kept for as long, and the second walk need not make mean and variance again. A
 * method with a law of its own has its deviances from the first walk, and zz' only says who
 * resembles whom. Where cells are missing both are fitted to the z that are kept. See
 * norm/deviance/fit.h for the cost. */
#ifndef KN_NORM_REFERENCE_DEVIANCE_H
#define KN_NORM_REFERENCE_DEVIANCE_H

#include "gp/predict/map_density.h"
#include "norm/deviance/fit.h"
#include "norm/reference/reference.h"
#include "norm/reference/zmap_visitors.h"

/* What the walks over the maps share. */
typedef struct kn_reference_walk {
    kn_reference *r;
    kn_z_builder z;
    kn_z_cache keeper;
    kn_deviance_fitter *deviance[2]; /* of z and of z by noise alone; NULL: not to be had. Of a
                                      * method with a law of its own the first, for zz' */
    bool own;
    kn_map_density_walk law;
    bool noiseless; /* some z by noise alone are undefined */
    kn_exclusion_groups apart;
    kn_learner *learner;
    kn_calibration_transform layer; /* where nobody asks for one: none */
} kn_reference_walk;

/* Room for them, before the first walk. Collective. */
kn_status kn_reference_new_deviances(kn_ctx *ctx, const kn_reference_job *job,
                                     kn_reference_walk *w);

/* Of the first walk, after z's. */
kn_visitor kn_reference_deviances_visitor(kn_reference_walk *w);
void kn_reference_drop_deviances(kn_reference_walk *w);

/* After the first walk: the second, both deviances, and whether neighbours in the table resemble
 * each other. What these data cannot give is left out with a warning. Collective. */
kn_status kn_reference_deviances(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w);

#endif
