/* A simulated cohort with known truth, as the files that a study has.
 *
 *     DIR/participants.tsv                       participant_id age sex site group
 *     DIR/images/sub-0001.nii.gz ...  mask.nii.gz
 *     DIR/images.txt                             id<TAB>path, in an order of its own
 *     DIR/train_participants.tsv train_images.txt    80 % of the controls; no column group
 *     DIR/test_participants.tsv  test_images.txt     the other controls and all patients
 *     DIR/truth/truth.json  lesion.nii.gz  patients.tsv
 *
 * {sites}, {visits} and {regions} add, each moving nothing that the others make:
 *
 *     sites S    sites site-1 .. site-S in the place of A, B, C, and a further one that training
 * lacks: adapt_participants.tsv  adapt_images.txt     20 controls of site-(S+1); no column group
 *                new_participants.tsv    new_images.txt       20 more of its controls, and patients
 *                truth/sites.tsv  site_offsets.nii.gz         a row and a volume a site
 *     visits V   visits_participants.tsv  visits_images.txt   column session; the people of test_,
 * V times images/sub-0001_ses-1.nii.gz ...             ses-1 is images/sub-0001.nii.gz
 *                truth/visits.tsv                             patients' lesions at each visit
 *     regions R  regions.csv, train_regions.csv ...           region_01 ..; regions.nii.gz has the
 * labels
 *
 * At voxel v of subject i, with all fields smooth in space and of unit variance:
 *
 *     y = mean(v) + sd(v) (sum_k c_ik E_k(v) + e_i(v) - s_i L(v))
 *
 * c_ik: age (linear, quadratic, late decline), sex, site; E_k = mean_k + spread_k times a field.
 * e: variance 1, 0.3 of it from eight smooth components, the rest white. L: the lesion, 1 in its
 * core, 0 beyond its radius; s_i: in units of sd(v), 0 for controls. Patients differ from controls
 * in nothing else. With {sites} each has an offset of 0.6 times a field, and the variance of e
 * there is exp(0.25 times a normal number). Residuals of visits correlate 0.9, and s_i grows by the
 * decline. */
#ifndef KN_COHORT_COHORT_H
#define KN_COHORT_COHORT_H

#include <stdint.h>

#include "base/context.h"

typedef enum kn_cohort_size {
    KN_COHORT_SMALL = 0, /* 20 x 24 x 20 voxels of 8 mm, about 3,600 in the mask */
    KN_COHORT_2MM = 1    /* 91 x 109 x 91 of 2 mm, about 230,000 */
} kn_cohort_size;

typedef struct kn_cohort_options {
    ptrdiff_t samples;  /* normals, 120; at least 10 */
    ptrdiff_t patients; /* 20 */
    kn_cohort_size size;
    double lesion; /* mean over patients of s_i, 2 residual sd; 0: patients are normal */
    uint64_t seed; /* 1 */
    const char *dir;
    bool force;        /* dir may hold something; see sim/folder.h */
    ptrdiff_t sites;   /* 0: the three without a new one; 2 to 50, 10 normals each */
    ptrdiff_t visits;  /* 0: one; 2 to 10, about a year apart */
    ptrdiff_t regions; /* 0: no table; 2 to 1000 */
    double decline;    /* mean over patients of what s_i gains a year, 1 */
} kn_cohort_options;

void kn_cohort_options_init(kn_cohort_options *options);

typedef struct kn_cohort_summary {
    ptrdiff_t train, test;       /* subjects; test with the patients */
    ptrdiff_t voxels;            /* in the mask */
    ptrdiff_t lesion_voxels;     /* where the lesion has half its strength or more */
    double lesion_centre[3];     /* mm */
    double lesion_radius;        /* mm, beyond which there is none */
    ptrdiff_t adapt, new_people; /* at the new site */
    double r2; /* variance that the covariates explain in controls, mean over voxels */
} kn_cohort_summary;

/* The bytes depend on the options but dir and force, not on the number of threads. `out` may be
 * NULL. */
kn_status kn_sim_cohort(kn_ctx *ctx, const kn_cohort_options *options, kn_cohort_summary *out);

#endif
