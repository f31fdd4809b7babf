/* Whole-map deviances of the reference sample: of z, and of z by noise alone [METHOD 8b, 8j]
 *
 * zz' of both comes from the first block loop over the cross-validated maps, together with all
 * other sums over responses; the second loop is for the deviances only. Where z is kept, or the
 * memory budget allows it, the z of the deviances are cached, and the second loop need not
 * recompute mean and variance. A method with its own density of whole maps (own_deviance) has
 * its deviances from the first loop; zz' then only serves the table-order test. With missing
 * cells both are fitted to the cached z. See norm/deviance/fit.h for the cost. */
#ifndef KN_NORM_REFERENCE_DEVIANCE_H
#define KN_NORM_REFERENCE_DEVIANCE_H

#include "gp/predict/map_density.h"
#include "norm/deviance/fit.h"
#include "norm/reference/reference.h"
#include "norm/reference/zmap_visitors.h"

/* State that the block loops share. */
typedef struct kn_reference_walk {
    kn_reference *r;
    kn_z_builder z;
    kn_z_cache keeper;
    /* fitters of z and of z by noise alone; NULL: no deviance. With `own` only the first, for
     * zz' */
    kn_deviance_fitter *deviance[2];
    bool own;                  /* the method has its own deviance */
    kn_map_density_walk law;   /* density of whole maps under the method's own model */
    bool noiseless;            /* some z by noise alone are not finite */
    kn_exclusion_groups apart; /* participants that are left out together */
    kn_learner *learner;
    kn_calibration_transform layer; /* stands in for job->layer if that is NULL */
} kn_reference_walk;

/* Allocate the fitters and the cache, before the first loop. Collective. */
kn_status kn_reference_new_deviances(kn_ctx *ctx, const kn_reference_job *job,
                                     kn_reference_walk *w);

/* Visitor of the first loop; it runs after the visitor that makes z. */
kn_visitor kn_reference_deviances_visitor(kn_reference_walk *w);
/* Free the fitters and what they have produced: the reference has no deviance. */
void kn_reference_drop_deviances(kn_reference_walk *w);

/* After the first loop: run the second loop, fit both deviances and test the table order. A
 * deviance that these data do not allow is left out with a warning. Collective. */
kn_status kn_reference_deviances(kn_ctx *ctx, const kn_reference_job *job, kn_reference_walk *w);

#endif
