/* State of an MT-Kronsum model besides its components, its arrays in the model file, and the memory
 * plan of a fit [METHOD 1g]. */
#ifndef KN_GP_METHODS_KRONSUM_STATE_H
#define KN_GP_METHODS_KRONSUM_STATE_H

#include "gp/method.h"

typedef struct kn_kronsum_own { /* gp->own: what folds need from the fit */
    double nu;                  /* shrinkage */
    ptrdiff_t P;                /* components of the structured model */
    kn_limits limits;           /* evaluations; and the deadline while the fit runs */
    double kept[3];             /* as written to the file; must outlive the array visitor */
} kn_kronsum_own;

/* Implements kn_method.arrays. */
kn_status kn_kronsum_arrays(kn_gp *gp, kn_arrays *a);
/* Implements kn_method.clear. */
void kn_kronsum_own_clear(kn_gp *gp);
/* Implements kn_method.bytes. */
double kn_kronsum_bytes(const kn_gp *gp);
/* Implements kn_method.group_noise: S_jj of (1 + tau) S_jj, because Q has all directions. */
void kn_kronsum_group_noise(const kn_gp *gp, double *noise);
/* Implements kn_method.say. */
void kn_kronsum_say(const kn_gp *gp, char *line, size_t size);
/* Implement kn_method.need. */
void kn_kronsum_finalise(kn_problem_size *s);
void kn_kronsum_need_fit(kn_mem_plan *r, const kn_problem_size *s);

#endif
