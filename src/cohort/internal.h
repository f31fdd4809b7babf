/* Data and steps of the simulated cohort, shared by the files that implement it; simulate.c calls
 * the steps in order. Everything is drawn from the seed, so that two runs give the same data. */
#ifndef KN_COHORT_INTERNAL_H
#define KN_COHORT_INTERNAL_H

#include "cohort/output_folder.h"
#include "cohort/simulate.h"
#include "io/formats/nifti_header.h"

enum { KN_COHORT_THREE = 3, KN_COHORT_COMPONENTS = 8, KN_COHORT_VISITS = 10, KN_COHORT_ID = 32 };
enum { KN_AGE_LINEAR, KN_AGE_QUADRATIC, KN_AGE_LATE, KN_SEX, KN_THREE_SITES };
enum { KN_COHORT_EFFECTS = KN_THREE_SITES + KN_COHORT_THREE };

/* Rows of kn_cohort.maps; the offsets of {sites} come last. */
enum { KN_MAP_MEAN = KN_COHORT_EFFECTS + KN_COHORT_COMPONENTS, KN_MAP_SD, KN_MAP_SITES };

/* Random streams of the seed: each use has its own, so that an option changes nothing else. */
enum {
    KN_STREAM_SUBJECTS = 1,
    KN_STREAM_LISTS,
    KN_STREAM_LESION,
    KN_STREAM_SITES,
    KN_STREAM_VISITS,
    KN_STREAM_FIELDS = 100,
    KN_STREAM_OFFSETS = 200,
    KN_STREAM_NOISE = 1000
};

/* A covariate effect: E_k = mean + spread times a field. */
typedef struct kn_cohort_effect {
    const char *name;
    double mean, spread; /* in residual sd per unit of the coefficient */
} kn_cohort_effect;
extern const kn_cohort_effect kn_cohort_effects[KN_COHORT_EFFECTS];

/* Share of the residual variance in smooth components. */
extern const double KN_COHORT_SMOOTH;
extern const double KN_COHORT_CORRELATION; /* between the residuals of two visits */
/* Half-range of the strengths, relative to their mean. */
extern const double KN_COHORT_LESION_SPREAD;
extern const double KN_COHORT_LESION_RADIUS, KN_COHORT_LESION_CORE; /* mm; fraction of the radius */
extern const double KN_COHORT_NOISE_LENGTH;                         /* mm */
extern const double KN_COHORT_SD, KN_COHORT_SD_SPREAD;
extern const double KN_COHORT_OFFSET;   /* sd of site offsets, in residual sd */
extern const double KN_COHORT_LN_NOISE; /* sd of ln of the sites' noise variance */

typedef enum kn_cohort_list {
    KN_COHORT_ALL,
    KN_COHORT_TRAIN,
    KN_COHORT_TEST,
    KN_COHORT_ADAPT, /* controls of the new site, for adaptation */
    KN_COHORT_NEW,   /* further participants of the new site */
    KN_COHORT_FOLLOW /* all visits of the participants of TEST */
} kn_cohort_list;

typedef struct kn_cohort_site {     /* a site of {sites}; the last is the new one */
    double age_min, age_max, noise; /* noise: factor of the residual variance */
} kn_cohort_site;

typedef struct kn_cohort_participant {
    /* Lesion: s_i at the first visit; decline: its increase per year. */
    double age, lesion, decline;
    double years[KN_COHORT_VISITS]; /* since the first visit */
    int sex, site;
    bool patient;
    kn_cohort_list part; /* TRAIN, TEST, ADAPT or NEW */
} kn_cohort_participant;

/* The whole cohort: plan, grid, maps and results. */
typedef struct kn_cohort {
    const kn_cohort_options *o;
    kn_folder *folder;
    ptrdiff_t n; /* participants */
    int digits;  /* number of digits in an id */
    kn_cohort_participant *participants;
    int sites; /* including the new one; 0: the three default sites */
    kn_cohort_site *site;
    kn_nifti_header grid;
    ptrdiff_t *index, voxels;
    /* (KN_MAP_SITES + sites) x voxels: effects, components, mean, sd, site offsets. */
    double *maps;
    double *lesion;
    ptrdiff_t *region;   /* region of each voxel, from 0; NULL: no {regions} */
    double *region_mean; /* n x visits x regions */
    kn_cohort_summary summary;
} kn_cohort;

/* ---- participants.c ---- */
/* Draws the participants, their sites, visits and lesion strengths. */
kn_status kn_cohort_draw_participants(kn_ctx *ctx, kn_cohort *c);
/* Returns the number of visits of a participant; 1 without {visits}, and outside the test list. */
int kn_cohort_visits(const kn_cohort *c, const kn_cohort_participant *p);
/* Returns the age in years at a visit. */
double kn_cohort_age(const kn_cohort_participant *p, int visit);
/* Computes the coefficients c_ik of a participant at a visit: age (linear, quadratic, late
 * decline), sex and site; the formula is in simulate.h. */
void kn_cohort_coefficients(const kn_cohort *c, const kn_cohort_participant *p, int visit,
                            double out[KN_COHORT_EFFECTS]);
/* Writes the id of participant i, "sub-0001". */
void kn_cohort_id(const kn_cohort *c, ptrdiff_t i, char id[KN_COHORT_ID]);
/* Writes the name of a site: "A", or with {sites} "site-1". */
void kn_cohort_site_name(const kn_cohort *c, int site, char name[KN_COHORT_ID]);

/* ---- effect_maps.c ---- */
/* Creates grid, mask, lesion, effect maps and regions of c, and computes the true R2. */
kn_status kn_cohort_make_maps(kn_ctx *ctx, kn_cohort *c);

/* ---- images_and_regions.c ---- */
/* Writes an image per participant and visit, and computes the regional means. */
kn_status kn_cohort_write_images(kn_ctx *ctx, kn_cohort *c);

/* ---- write_tables.c ---- */
/* Writes the participants' tables, lists of images and tables of regions. */
kn_status kn_cohort_write_tables(kn_ctx *ctx, const kn_cohort *c);

/* ---- write_truth.c ---- */
/* Writes DIR/truth. */
kn_status kn_cohort_write_truth(kn_ctx *ctx, const kn_cohort *c);

#endif
