/* All that the page says, as numbers and words. report/compute*.c fills it from the material,
 * report/json/json.c prints it, report/page*.c and report/figure*.c draw it: drawing computes no
 * statistic, and computing writes no mark-up.
 *
 * Texts are as the files have them, hostile ones included; report/markup/html.h is where they
 * become harmless. Everything is in the report's arena. NaN: not known. Responses and people are
 * numbered from 0. */
#ifndef KN_REPORT_REPORT_H
#define KN_REPORT_REPORT_H

#include <stdint.h>

#include "base/memory/arena.h"
#include "io/formats/surface_mesh.h"
#include "kronorm.h"

/* ---- 1. summary ---------------------------------------------------------------------------- */

typedef struct kn_report_note { /* a sentence of the summary */
    const char *code;  /* "calibration", "shift", "shape", "msll", "extrapolation", "training",
                        * "few", "wiggly", "abnormal", "size", "strip" ...: for machines */
    const char *title; /* "These people are shifted."; "" where a sentence is enough */
    const char *words; /* "Their mean z is +0.06 (95 % interval ...)." */
} kn_report_note;

typedef struct kn_report_notes {
    ptrdiff_t n, capacity;
    kn_report_note *note;
} kn_report_notes;

/* ---- 2. cohort ----------------------------------------------------------------------------- */

enum { KN_REPORT_BARS = 20 };

typedef struct kn_report_column { /* a covariate */
    const char *name;
    bool numeric, batch;
    double edge[KN_REPORT_BARS + 1]; /* numeric: of the bars, over training and scored together */
    ptrdiff_t levels;                /* category */
    const char *const *level;
    double *training, *scored; /* BARS or levels: people; NULL: nobody is known */
    ptrdiff_t training_missing, scored_missing;
} kn_report_column;

typedef struct kn_report_cohort {
    ptrdiff_t n;
    kn_report_column *column;
    const char *matched_by; /* NULL: not known */
    ptrdiff_t n_dropped;
    const char *const *dropped_id;
    const char *const *dropped_why;
} kn_report_cohort;

/* ---- 3. model and calibration -------------------------------------------------------------- */

typedef struct kn_report_model { /* nothing of it where there is none: a folder of cv */
    bool known;
    const char *method, *noise, *likelihood; /* NULL: it has its own */
    const char *title;                       /* of the method: "S-MTGPR" */
    const char *means; /* and what it is: "scalable multi-task Gaussian process regression, .." */
    ptrdiff_t components;
    ptrdiff_t curve_n; /* of the search for the number of components */
    double *curve_components, *curve_msll, *curve_se;
    ptrdiff_t P;
    double *share; /* P  of each component: signal c mean(r) over signal and noise */
    ptrdiff_t terms;
    const char *const *term; /* "linear", "curved", "smooth", "sex" */
    double *weight;          /* terms  shares of the signal */
    double length;           /* of the smooth term, in units of length_units; NaN: none */
    const char *length_units;
    ptrdiff_t words; /* what `info` says of it, a line each */
    const char *const *word;
    int folds;
    double cv_z2, cv_msll, cv_coverage95;
    double gev[3]; /* shape, location, scale; NaN: none */
    double smallest_p;
} kn_report_model;

enum { KN_REPORT_ZBINS = 320, KN_REPORT_PIT = 20, KN_REPORT_QQ = 61, KN_REPORT_COVERAGES = 4 };
#define KN_REPORT_ZMAX 8.0 /* the bins cover -ZMAX .. ZMAX; what is beyond is in the outermost */
extern const double kn_report_coverage[KN_REPORT_COVERAGES]; /* .5 .9 .95 .99 */

typedef struct kn_report_zhist { /* z of each person, counted */
    ptrdiff_t n;                 /* 0: not known */
    uint32_t *count;             /* n x ZBINS, a person after the other */
    uint32_t *pit;               /* n x PIT    by Phi(z), from z and not from the bins */
    uint32_t *inside;            /* n x COVERAGES  |z| at most the normal quantile */
    double *sum, *sum2;          /* n  of z and z^2, exactly */
    ptrdiff_t *responses;        /* n  with a z */
} kn_report_zhist;

typedef struct kn_report_calibration { /* of some normal people; bands are over people */
    ptrdiff_t n;                       /* 0: nobody */
    double mean, mean_low, mean_high, z2, z2_low, z2_high; /* 95 % intervals */
    double coverage[KN_REPORT_COVERAGES];
    double q[KN_REPORT_QQ]; /* theoretical quantiles */
    double worm[KN_REPORT_QQ], worm_low[KN_REPORT_QQ],
        worm_high[KN_REPORT_QQ];                  /* observed - q, and
                                                   * its simultaneous 95 % band about what was observed */
    double pit[KN_REPORT_PIT], pit_low, pit_high; /* density of each twentieth, 1 is normal; the
                                                   * band simultaneous, about 1; NaN: no band */
    double pit_se[KN_REPORT_PIT];
    double tenth[2], tenth_half[2]; /* the outer tenths of PIT, and half of their band */
    ptrdiff_t rows;                 /* maps; n are people, who may have several */
} kn_report_calibration;

typedef struct kn_report_responses {
    ptrdiff_t T;
    const char *const *name;
    double *R2, *MSLL, *z2;  /* T  NULL: not known */
    bool R2_of_model;        /* 1 - noise/variance in training; else of people not seen */
    const char *z2_of;       /* "the people scored", "training, cross-validated" */
    double z2_low, z2_high;  /* limits of chi^2_n/n */
    double z2_inside;        /* share of responses within them */
    ptrdiff_t n_best, *best; /* the best predicted, the first first */
    double mean_R2, mean_MSLL;
} kn_report_responses;

/* ---- 4. centile curves --------------------------------------------------------------------- */

enum { KN_REPORT_CENTILES = 5, KN_REPORT_GRID = 60, KN_REPORT_SHOWN = 6 };
extern const double kn_report_centile[KN_REPORT_CENTILES]; /* 5 25 50 75 95 */

typedef struct kn_report_curve {
    const char *label, *level; /* "sex=F,site=mean"; "F", "" for a single curve */
    double *x;                 /* GRID */
    double *value[KN_REPORT_CENTILES];
    double *low[KN_REPORT_CENTILES], *high[KN_REPORT_CENTILES]; /* NULL: no band */
} kn_report_curve;

typedef struct kn_report_points {
    ptrdiff_t n;
    double *x, *value, *z; /* NaN: he is not drawn */
    int *curve;            /* of which curve; -1: none */
} kn_report_points;

typedef struct kn_report_shown { /* a response with curves */
    ptrdiff_t response;
    ptrdiff_t curves;
    kn_report_curve *curve;
    kn_report_points training, scored; /* of everybody, in the order of people; n = 0: not known */
} kn_report_shown;

typedef struct kn_report_curves {
    const char *over; /* covariate; NULL: there are no curves */
    ptrdiff_t n;
    kn_report_shown *shown;
} kn_report_curves;

/* ---- 5. people ----------------------------------------------------------------------------- */

typedef struct kn_report_person {
    const char *id;
    ptrdiff_t rank;               /* in people.order: 0 is the most abnormal */
    bool card;                    /* has one */
    bool training;                /* is among training: his z are cross-validated */
    int label;                    /* 1 labelled, 0 not, -1: nobody is */
    const char *const *covariate; /* cohort.n texts, as people.tsv has them; change: NULL */
    double statistic, p, deviance, deviance_p, deviance_noise_p, extrapolation_pct;
    double mean_z, mean_z_p, negative, negative_p, positive, positive_p; /* burden: counts beyond */
    double fdr_negative, fdr_positive; /* responses that stand out after FDR */
    double responses;                  /* with a z */
    double share;                      /* of responses beyond the threshold */
    const char *note;                  /* p_note; NULL */
    bool p_is_bound;                   /* p is the smallest that there can be: "< p" */
    bool unseen, implausible, adapted;
    bool site_unknown; /* of a site that training did not have, and the model was not adapted to it
                        */
    double extrapolation;        /* the ratio behind extrapolation_pct */
    const char *visit1, *visit2; /* change only */
    double interval;
    bool reference; /* change only: one of the stable people with whom others are compared */
} kn_report_person;

typedef struct kn_report_top { /* a response that stands out in a person */
    ptrdiff_t response;
    double z, centile; /* percent */
} kn_report_top;

typedef struct kn_report_cluster { /* connected responses beyond KN_REPORT_CLUSTER, of one sign */
    ptrdiff_t peak, size;          /* response of the peak; voxels or vertices */
    double mm[3], z, ml;           /* ml: volume; NaN on surfaces */
    const char *region;            /* NULL: not known */
} kn_report_cluster;

#define KN_REPORT_CLUSTER 3.0
enum { KN_REPORT_CLUSTERS = 8, KN_REPORT_TOPS = 10, KN_REPORT_THUMBS = 60, KN_REPORT_TABLE = 1000 };
#define KN_REPORT_ZSTEP 0.1 /* of maps in the page */
enum { KN_REPORT_NO_Z = -128 };

typedef struct kn_report_card {
    ptrdiff_t person;
    const char *words; /* who he is and what stands out, in a sentence or two */
    ptrdiff_t tops, clusters;
    ptrdiff_t clusters_found, clusters_single; /* all in all, and those of one voxel or vertex */
    kn_report_top top[KN_REPORT_TOPS];
    kn_report_cluster cluster[KN_REPORT_CLUSTERS];
    const int8_t *z; /* T, in ZSTEP; NO_Z: missing */
} kn_report_card;

typedef struct kn_report_people {
    ptrdiff_t n;
    kn_report_person *person;
    ptrdiff_t *order; /* n  the most abnormal first */
    ptrdiff_t N;
    double *training;          /* N  statistic of training; NULL: not kept */
    double *training_deviance; /* N; NULL */
    double line[2];       /* of the statistic at p = .05 and .001; NaN: p cannot be that small */
    double threshold;     /* of burden: 1.96 */
    bool training_anew;   /* people of training were predicted by the model that has seen them */
    const char *compared; /* with whom, in words: "people like those of training" */
    ptrdiff_t compared_n; /* how many they are; 0: not known */
    bool compared_among_them;   /* they are people of the folder ... */
    const char *compared_named; /* ... "group=control"; NULL */
    double smallest_p;          /* the least that a p of the statistic can be; NaN: not known */
    double deviance_expected_low, deviance_expected_high; /* binomial 95 % range of people with
                                                           * deviance_p <= .05 */
    ptrdiff_t deviance_found, deviance_of;
    ptrdiff_t n_cards;
    kn_report_card *card;
    ptrdiff_t n_thumbs;     /* maps of the most abnormal, the first first */
    ptrdiff_t *thumb;       /* person */
    const int8_t **thumb_z; /* T each */
} kn_report_people;

/* ---- 6. group, 7. change ------------------------------------------------------------------- */

typedef struct kn_report_roc {
    const char *name; /* "deviance" */
    ptrdiff_t n;
    double *fpr, *tpr;
    double auc, low, high;
} kn_report_roc;

typedef struct kn_report_group {
    bool known;
    const char *label; /* "group=patient" */
    ptrdiff_t labelled, others;
    ptrdiff_t rocs;
    kn_report_roc *roc;               /* top statistic, deviance */
    double share_expected;            /* of responses beyond the threshold: 2 (1 - Phi) */
    double share_p;                   /* Mann-Whitney of people's shares */
    bool share_exact;                 /* its p is exact, not by a normal law */
    double share_median[2];           /* labelled, others */
    double *overlap, *overlap_others; /* T  share of people beyond the threshold; NULL: none */
    /* T, of labelled and of others: people with a z, sums of z and of z^2 (compute_maps.c); NULL */
    double *count[2], *sum[2], *sum2[2];
    double *t, *q;           /* T  Welch's t labelled less others, and Benjamini-Hochberg; NULL */
    ptrdiff_t significant;   /* q <= .05 */
    ptrdiff_t n_best, *best; /* responses by |t| */
} kn_report_group;

typedef struct kn_report_change {
    bool known;
    const char *reference; /* of whom: "group=control" */
    ptrdiff_t pairs, people, reference_people;
    double gamma; /* regression to the mean */
    const char *interval_units;
    const char *formula;                /* "difference", "conditional"; NULL: not known */
    double interval_low, interval_high; /* of the reference */
    double smallest_p;
    ptrdiff_t one_visit, different_sites, far_intervals; /* people left out; pairs */
    ptrdiff_t with_p, found; /* pairs that are not the reference's; of these p <= .05 */
    double expected;         /* of stable people; NaN: not known */
} kn_report_change;

/* ---- where responses are ------------------------------------------------------------------- */

typedef enum kn_report_space_kind {
    KN_REPORT_TABLE_SPACE = 0,
    KN_REPORT_VOLUME = 1,
    KN_REPORT_SURFACE = 2 /* meshes are given: of vertices, or of regions by labels */
} kn_report_space_kind;

typedef struct kn_report_mesh {
    int side; /* 0 left, 1 right */
    kn_surface surface;
    ptrdiff_t *response; /* a vertex: its response; -1: none */
    float *sulc;         /* a vertex; NULL: not given */
    const char *
        *region; /* a vertex: its label in words, "left insula"; NULL: no labels, or of none */
} kn_report_mesh;

typedef struct kn_report_region { /* a response of a table of regions */
    int side;                     /* 0 left, 1 right, -1: neither */
    const char *name;    /* of the region, without side and measure; NULL: not recognised */
    const char *full;    /* in words: "superior temporal gyrus"; NULL: name will do */
    const char *lobe;    /* NULL: not known */
    const char *measure; /* "thickness"; NULL: not said */
} kn_report_region;

typedef struct kn_report_space {
    kn_report_space_kind kind;
    ptrdiff_t dim[3];          /* volume */
    double affine[3][4];       /* voxel to mm */
    ptrdiff_t *voxel;          /* T  index, x fastest */
    const uint8_t *background; /* dim[0] x dim[1] x dim[2] grey; NULL: none */
    int meshes;
    kn_report_mesh mesh[2];
    const char *atlas; /* "Destrieux", "Desikan-Killiany", "Schaefer"; NULL: not recognised */
    kn_report_region *region; /* T; NULL */
    ptrdiff_t unmatched;      /* responses that no label of the surface has */
    const char
        *measure; /* of a table of several, the one that surfaces show; NULL: they say none */
    const char *surface_note; /* what is not drawn, and why; NULL */
} kn_report_space;

/* ---- 8. methods, 9. reproduce -------------------------------------------------------------- */

typedef struct kn_report_fact { /* "model", "xxh64:28192758c5b520c3" */
    const char *name, *value;
} kn_report_fact;

typedef struct kn_report_words {
    ptrdiff_t paragraphs; /* text to paste, CC0 */
    const char *const *paragraph;
    ptrdiff_t references;
    const char *const *reference;
    ptrdiff_t facts; /* how to make this page again */
    kn_report_fact *fact;
} kn_report_words;

typedef enum kn_report_kind { /* as kn_report_input_kind */
                              KN_REPORT_MODEL = 0,
                              KN_REPORT_SCORE = 1,
                              KN_REPORT_CV = 2,
                              KN_REPORT_CHANGE = 3
} kn_report_kind;

struct kn_report {
    kn_arena arena;
    kn_report_kind kind;
    const char *title; /* {title}, or made from what is shown */
    const char
        *sentence; /* the first of the page: "48 people scored on 3560 responses, against ..." */
    bool stripped; /* ids were replaced by person-1 ... */
    const char *alias; /* "person-": what their numbers stand behind; NULL: not stripped */
    kn_report_notes warnings, good;
    kn_report_cohort cohort;
    kn_report_model model;
    kn_report_zhist zhist, zhist_training;
    kn_report_calibration calibration[2]; /* training (cross-validated), scored and not labelled */
    kn_report_responses responses;
    kn_report_curves curves;
    kn_report_people people;
    kn_report_group group;
    kn_report_change change;
    kn_report_space space;
    kn_report_words words;
    char *json; /* made on demand; kn_free */
};

#endif
