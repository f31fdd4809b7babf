/* Simulates data with known truth: the cohort itself, and the command `kronorm simulate`, which
 * also simulates the visual experiment of src/paper. Tests, the tutorial and the demo work on such
 * data. */
#ifndef KN_COHORT_SIMULATE_H
#define KN_COHORT_SIMULATE_H

#include <stdint.h>

#include "base/context.h"
#include "kronorm.h"

/* ---- the cohort ---- */

/* Simulates a cohort with known truth and writes it as the files of a study.
 *
 *     DIR/participants.tsv                       participant_id age sex site group
 *     DIR/images/sub-0001.nii.gz ...  mask.nii.gz
 *     DIR/images.txt                             id<TAB>path, in a shuffled order
 *     DIR/train_participants.tsv train_images.txt    80 % of the controls; no column group
 *     DIR/test_participants.tsv  test_images.txt     the other controls and all patients
 *     DIR/truth/truth.json  lesion.nii.gz  patients.tsv
 *
 * {sites}, {visits} and {regions} add files, and none changes what the others generate:
 *
 *     sites S: sites site-1 .. site-S instead of A, B, C, and site-(S+1), absent from training
 *         adapt_participants.tsv  adapt_images.txt     20 controls of site-(S+1); no column group
 *         new_participants.tsv    new_images.txt       20 more of its controls, and patients
 *         truth/sites.tsv  site_offsets.nii.gz         a row and a volume per site
 *     visits V: V visits of the participants of test_
 *         visits_participants.tsv  visits_images.txt   with a column session
 *         images/sub-0001_ses-1.nii.gz ...             ses-1 is images/sub-0001.nii.gz
 *         truth/visits.tsv                             patients' lesions at each visit
 *     regions R: regional means region_01 ..; labels in regions.nii.gz
 *         regions.csv, train_regions.csv ...
 *
 * At voxel v of participant i, with all fields smooth in space and of unit variance:
 *
 *     y = mean(v) + sd(v) (sum_k c_ik E_k(v) + e_i(v) - s_i L(v))
 *
 * c_ik: age (linear, quadratic, late decline), sex, site; E_k = mean_k + spread_k times a field.
 * e: variance 1, 0.3 of it from eight smooth components, the rest white. L: the lesion, 1 in its
 * core, 0 beyond its radius; s_i: in units of sd(v), 0 for controls. Patients differ from
 * controls in nothing else. With {sites} each site has an offset of 0.6 times a field, and the
 * variance of e there is exp(0.25 times a standard normal number). Residuals of two visits
 * correlate 0.9, and s_i grows by the decline per year. */

typedef enum kn_cohort_size {
    KN_COHORT_SMALL = 0, /* 20 x 24 x 20 voxels of 8 mm, about 3,600 in the mask */
    KN_COHORT_2MM = 1    /* 91 x 109 x 91 of 2 mm, about 230,000 */
} kn_cohort_size;

typedef struct kn_cohort_options {
    ptrdiff_t samples;  /* controls, 120; at least 10 */
    ptrdiff_t patients; /* 20 */
    kn_cohort_size size;
    double lesion; /* mean over patients of s_i, in residual sd, 2; 0: patients are normal */
    uint64_t seed; /* 1 */
    const char *dir;
    bool force;        /* dir may be non-empty; see cohort/output_folder.h */
    ptrdiff_t sites;   /* 0: three sites, none new; 2 to 50, with 10 controls each */
    ptrdiff_t visits;  /* 0: one visit; 2 to 10, about a year apart */
    ptrdiff_t regions; /* 0: no table of regions; 2 to 1000 */
    double decline;    /* mean over patients of the yearly increase of s_i, 1 */
} kn_cohort_options;

/* Sets the defaults, which are given with the fields above. */
void kn_cohort_options_init(kn_cohort_options *options);

typedef struct kn_cohort_summary {
    ptrdiff_t train, test;             /* participants; test includes the patients */
    ptrdiff_t voxels;                  /* in the mask */
    ptrdiff_t lesion_voxels;           /* voxels where the lesion has at least half its strength */
    double lesion_centre[3];           /* mm */
    double lesion_radius;              /* mm; no lesion beyond it */
    ptrdiff_t adapt, new_participants; /* participants at the new site */
    double r2; /* share of variance explained by the covariates in controls, mean over voxels */
} kn_cohort_summary;

/* Simulates and writes the cohort; either all files are written or none. The bytes depend on the
 * options except dir and force, not on the number of threads. `out` may be NULL. */
kn_status kn_sim_cohort(kn_ctx *ctx, const kn_cohort_options *options, kn_cohort_summary *out);

/* ---- the command ---- */

/* Checks the options of "simulate" without running it: KN_ERR_ARGUMENT for combinations that do not
 * fit together. */
kn_status kn_simulate_check(kn_ctx *ctx, const kn_options *options);
/* Runs the command with the options of "simulate"; checks them first. All files are written, or
 * none. */
kn_status kn_simulate(kn_ctx *ctx, const kn_options *options);

#endif
