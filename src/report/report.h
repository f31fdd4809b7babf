/* This file defines kn_report: everything that the page states, as numbers and text.
 * report/compute fills it from the input, report/json prints it, report/page and report/figures
 * draw it. Drawing computes no statistic, and computing writes no mark-up.
 *
 * Texts are stored exactly as they are in the files and may be hostile; report/markup/html.h
 * escapes them on output. All memory is in the report's arena. NaN means not known. Responses
 * and participants are numbered from 0. */
#ifndef KN_REPORT_REPORT_H
#define KN_REPORT_REPORT_H

#include <stdint.h>

#include "base/memory/alloc.h"
#include "io/formats/surface_mesh.h"
#include "kronorm.h"
#include "stats/flag.h"

/* ---- 1. summary ---- */

typedef struct kn_report_note { /* one sentence of the summary */
    /* Machine-readable code: "calibration", "shift", "shape", "gain", "extrapolation",
     * "training", "few", "wiggly", "abnormal", "size", "strip" ... */
    const char *code;
    const char *title; /* heading, "z-scores are shifted."; "" if the sentence suffices */
    const char *words; /* the sentence: "The mean z of ... is +0.06 (95% CI ...)." */
} kn_report_note;

typedef struct kn_report_notes {
    ptrdiff_t n, capacity;
    kn_report_note *note;
} kn_report_notes;

/* ---- 2. cohort ---- */

enum { KN_REPORT_BARS = 20 };

typedef struct kn_report_column { /* a covariate */
    const char *name;
    bool numeric, batch;
    double edge[KN_REPORT_BARS + 1]; /* numeric: bar edges, common to training and scored */
    ptrdiff_t levels;                /* categorical: number of levels */
    const char *const *level;
    double *training, *scored; /* counts of participants, BARS or levels of them; NULL: not known */
    ptrdiff_t training_missing, scored_missing;
} kn_report_column;

typedef struct kn_report_cohort {
    ptrdiff_t n;
    kn_report_column *column;
    const char *matched_by; /* NULL: not known */
    ptrdiff_t n_excluded;
    const char *const *excluded_id;
    const char *const *excluded_reason;
} kn_report_cohort;

/* ---- 3. model and calibration ---- */

typedef struct kn_report_model { /* all zero if known is false, as for a cv folder */
    bool known;
    const char *method, *noise, *likelihood; /* NULL: fixed by the method */
    const char *title;                       /* name of the method: "S-MTGPR" */
    /* The method in words: "scalable multi-task Gaussian process regression, .." */
    const char *means;
    ptrdiff_t components;
    ptrdiff_t curve_n; /* points of the search for the number of components */
    double *curve_components, *curve_msll, *curve_se;
    ptrdiff_t P;
    double *proportion; /* P  share of signal per component: c mean(r) over signal plus noise */
    ptrdiff_t terms;
    const char *const *term; /* "linear", "curved", "smooth", "sex" */
    double *weight;          /* terms  share of the signal per term */
    double length;           /* length of the smooth term, in length_units; NaN: none */
    const char *length_units;
    ptrdiff_t words; /* number of lines that `info` prints about the model */
    const char *const *word;
    int folds;
    double cv_z2, cv_msll, cv_coverage95, cv_gain, cv_R2;
    bool nothing_predicted; /* no number of components beat the trivial model */
    double gev[3];          /* shape, location, scale; NaN: none */
    double smallest_p;
} kn_report_model;

enum { KN_REPORT_ZBINS = 320, KN_REPORT_PIT = 20, KN_REPORT_QQ = 61, KN_REPORT_COVERAGES = 4 };
#define KN_REPORT_ZMAX 8.0 /* the bins cover -ZMAX .. ZMAX; z beyond are in the outer bins */
extern const double kn_report_coverage[KN_REPORT_COVERAGES]; /* .5 .9 .95 .99 */

typedef struct kn_report_zhist { /* histogram of the z-scores of each participant */
    ptrdiff_t n;                 /* 0: not known */
    uint32_t *count;             /* n x ZBINS, row-major */
    /* n x PIT    histogram of Phi(z), from z itself and not from the bins */
    uint32_t *pit;
    uint32_t *inside;     /* n x COVERAGES  number of |z| at most the normal quantile */
    double *sum, *sum2;   /* n  exact sums of z and z^2 */
    ptrdiff_t *responses; /* n  number of responses with a z-score */
} kn_report_zhist;

/* Calibration over normal participants; bands are over participants */
typedef struct kn_report_calibration {
    ptrdiff_t n;                                           /* participants; 0: none */
    double mean, mean_low, mean_high, z2, z2_low, z2_high; /* 95 % intervals */
    double coverage[KN_REPORT_COVERAGES];
    double q[KN_REPORT_QQ]; /* theoretical quantiles */
    /* Detrended QQ (worm) plot: observed quantile minus q, and its simultaneous 95 % band about
     * the observed curve. */
    double worm[KN_REPORT_QQ], worm_low[KN_REPORT_QQ], worm_high[KN_REPORT_QQ];
    /* Density of the PIT per twentieth, 1 if normal; simultaneous band about 1; NaN: no band. */
    double pit[KN_REPORT_PIT], pit_low, pit_high;
    double pit_se[KN_REPORT_PIT];
    /* Density in the outer tenths of the PIT, and half-width of their band. */
    double tenth[2], tenth_half[2];
    ptrdiff_t rows; /* number of maps; a participant may have several */
} kn_report_calibration;

typedef struct kn_report_responses {
    ptrdiff_t T;
    const char *const *name;
    double *R2, *MSLL, *gain, *z2; /* T  NULL: not known */
    /* true: of the training sample, cross-validated; false: of the scored participants */
    bool R2_of_training;
    const char
        *z2_of; /* sample of z2: "the participants scored", "training sample, cross-validated" */
    double z2_low, z2_high;  /* limits of chi^2_n/n */
    double z2_inside;        /* share of responses within them */
    ptrdiff_t n_best, *best; /* responses with R2 above 0, best first */
    double mean_R2, mean_MSLL, mean_gain;
} kn_report_responses;

/* ---- 4. centile curves ---- */

enum { KN_REPORT_CENTILES = 5, KN_REPORT_GRID = 60, KN_REPORT_SHOWN = 6 };
extern const double kn_report_centile[KN_REPORT_CENTILES]; /* 5 25 50 75 95 */

/* Centile curves of one response for one combination of levels, in original units. */
typedef struct kn_report_curve {
    const char *label, *level; /* "sex=F,site=mean"; "F", "" for a single curve */
    double *x;                 /* GRID */
    double *value[KN_REPORT_CENTILES];
    double *low[KN_REPORT_CENTILES], *high[KN_REPORT_CENTILES]; /* NULL: no band */
} kn_report_curve;

typedef struct kn_report_points {
    ptrdiff_t n;
    double *x, *value, *z; /* original units; NaN: not drawn */
    int *curve;            /* index of the curve of each point; -1: none */
} kn_report_points;

typedef struct kn_report_shown { /* a response whose curves are shown */
    ptrdiff_t response;
    ptrdiff_t curves;
    kn_report_curve *curve;
    kn_report_points training, scored; /* all participants in table order; n = 0: not known */
} kn_report_shown;

typedef struct kn_report_curves {
    const char *over; /* covariate; NULL: there are no curves */
    ptrdiff_t n;
    kn_report_shown *shown;
} kn_report_curves;

/* ---- 5. participants ---- */

typedef struct kn_report_participant {
    const char *id;
    ptrdiff_t rank; /* position in participants.order; 0 is the most abnormal */
    bool card;      /* has a card */
    bool training;  /* is in the training sample: z-scores are cross-validated */
    int label;      /* 1 labelled, 0 not labelled, -1: no labels given */
    const char *const
        *covariate; /* cohort.n texts as in scored_participants.tsv; NULL for change */
    double extreme_z, extreme_z_p, deviance, deviance_p, deviance_noise_p, extrapolation_pct;
    /* Burden: number of responses beyond the threshold */
    double mean_z2, mean_z2_p; /* change only: mean squared z */
    double mean_z, mean_z_p, n_low, n_low_p, n_high, n_high_p;
    double n_low_fdr, n_high_fdr; /* responses significant after FDR */
    double responses;             /* number of responses with a z-score */
    double proportion;            /* share of responses beyond the threshold */
    const char *note;             /* p_note; may be NULL */
    /* extreme_z_p is beyond what the fitted GEV distribution resolves: printed as "< p" */
    bool p_is_bound;
    /* extreme_z_p is the smallest possible value, and that value is attained: printed as "≤ p" */
    bool p_is_attained;
    double flag_p; /* KN_FLAG_COLUMN or KN_FLAG_CHANGE_COLUMN; NaN for training */
    /* Smallest p-value that is attained: 1/(n + 1) by rank, 1/(S + 1) at an unknown site; NaN: not
     * known */
    double smallest_rank_p;
    bool unseen, implausible, adapted;
    bool site_unknown;           /* site not in training, and the model was not adapted to it */
    double extrapolation;        /* the ratio from which extrapolation_pct is derived */
    const char *visit1, *visit2; /* change only */
    double interval;
    bool reference; /* change only: member of the stable reference sample */
} kn_report_participant;

typedef struct kn_report_extreme { /* one of the most extreme responses of a participant */
    ptrdiff_t response;
    double z, centile; /* centile in percent */
} kn_report_extreme;

/* Connected responses with |z| above KN_REPORT_CLUSTER, of one sign */
typedef struct kn_report_cluster {
    ptrdiff_t peak, size; /* response of the peak; number of voxels or vertices */
    double mm[3], z, ml;  /* ml: volume; NaN on surfaces */
    const char *region;   /* NULL: not known */
} kn_report_cluster;

#define KN_REPORT_CLUSTER 3.0
enum {
    KN_REPORT_CLUSTERS = 8,
    KN_REPORT_EXTREMES = 10,
    KN_REPORT_THUMBS = 60,
    KN_REPORT_TABLE = 1000
};
#define KN_REPORT_ZSTEP 0.1 /* z per int8 step in the maps of the page */
enum { KN_REPORT_NO_Z = -128 };

typedef struct kn_report_card {
    ptrdiff_t participant;
    const char *words; /* one or two sentences: covariates, and what is abnormal */
    ptrdiff_t extremes, clusters;
    /* Total number found, and those of a single voxel or vertex */
    ptrdiff_t clusters_found, clusters_single;
    kn_report_extreme extreme[KN_REPORT_EXTREMES];
    kn_report_cluster cluster[KN_REPORT_CLUSTERS];
    const int8_t *z; /* T, in units of ZSTEP; NO_Z: missing */
} kn_report_card;

typedef struct kn_report_participants {
    ptrdiff_t n;
    kn_report_participant *participant;
    ptrdiff_t *order; /* n  participants, most abnormal first */
    ptrdiff_t N;
    double *training;          /* N  statistic of the training participants; NULL: not kept */
    double *training_deviance; /* N; NULL */
    double line[2];   /* value of the statistic at p = .05 and .001; NaN: no p is that small */
    double threshold; /* |z| threshold of the burden: 1.96 */
    bool training_in_sample;  /* training participants were scored by the model fitted to them */
    const char *reference;    /* the reference sample in words: "the reference sample" */
    ptrdiff_t reference_n;    /* size of the reference sample; 0: not known */
    bool reference_in_folder; /* the reference sample is part of the folder ... */
    const char *reference_selector; /* ... selected by "group=control"; NULL */
    bool p_is_fitted;  /* extreme_z_p is the tail of a fitted distribution, not a rank */
    double smallest_p; /* smallest possible p-value of the statistic; NaN: not known */
    /* Binomial 95 % range of the number of flagged participants. */
    double flagged_expected_low, flagged_expected_high;
    double cases_expected_low, cases_expected_high; /* the same among as many as the cases */
    kn_flag_counts flag;          /* participants that are no cases (stats/flag.h) ... */
    kn_flag_counts cases_flagged; /* ... and cases */
    kn_flag_counts extreme[2];    /* the same for extreme_z_p: others [0], cases [1] */
    ptrdiff_t n_cards;
    kn_report_card *card;
    ptrdiff_t n_thumbs;     /* maps of the most abnormal participants, most abnormal first */
    ptrdiff_t *thumb;       /* n_thumbs  participant of each */
    const int8_t **thumb_z; /* n_thumbs maps of T values, as kn_report_card.z */
} kn_report_participants;

/* ---- 6. group, 7. change ---- */

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
    kn_report_roc *roc; /* extreme-value statistic, whole-map deviance */
    /* Expected share of responses beyond the threshold: 2 (1 - Phi) */
    double proportion_expected;
    double proportion_p;         /* Mann-Whitney test of the participants' shares */
    bool proportion_exact;       /* proportion_p is exact, not by the normal approximation */
    double proportion_median[2]; /* labelled, others */
    /* T  share of participants beyond the threshold; NULL: none */
    double *overlap, *overlap_others;
    /* T values for labelled [0] and others [1]: number of z-scores, sum of z and of z^2, filled
     * by compute/maps.c; NULL: none */
    double *count[2], *sum[2], *sum2[2];
    /* T  Welch's t, labelled minus others, and its Benjamini-Hochberg q; NULL */
    double *t, *q;
    ptrdiff_t significant;   /* number of responses with q <= .05 */
    ptrdiff_t n_best, *best; /* responses by descending |t| */
} kn_report_group;

typedef struct kn_report_change {
    bool known;
    const char *reference; /* selects the reference sample: "group=control" */
    ptrdiff_t pairs, participants, reference_participants;
    double gamma; /* regression to the mean */
    const char *interval_units;
    const char *formula;                /* "difference", "conditional"; NULL: not known */
    double interval_low, interval_high; /* range in the reference sample */
    double smallest_p;
    ptrdiff_t one_visit, different_sites, far_intervals; /* excluded participants; pairs */
    ptrdiff_t with_p, found; /* pairs outside the reference sample; those with p <= .05 */
    double expected;         /* expected number in stable participants; NaN: not known */
} kn_report_change;

/* ---- location of the responses ---- */

typedef enum kn_report_space_kind {
    KN_REPORT_TABLE_SPACE = 0,
    KN_REPORT_VOLUME = 1,
    KN_REPORT_SURFACE =
        2 /* meshes are given: responses are vertices, or regions by vertex labels */
} kn_report_space_kind;

typedef struct kn_report_mesh {
    int side; /* 0 left, 1 right */
    kn_surface surface;
    ptrdiff_t *response; /* response of each vertex; -1: none */
    float *sulc;         /* sulcal depth of each vertex; NULL: not given */
    /* Label of each vertex in words, "left insula"; NULL: no labels, or the vertex has none. */
    const char **region;
} kn_report_mesh;

typedef struct kn_report_region { /* a response that is an atlas region */
    int side;                     /* 0 left, 1 right, -1: neither */
    const char *name;             /* region without side and measure; NULL: not recognised */
    const char *full;             /* in words: "superior temporal gyrus"; NULL: use name */
    const char *lobe;             /* NULL: not known */
    const char *measure;          /* "thickness"; NULL: not in the name */
} kn_report_region;

typedef struct kn_report_space {
    kn_report_space_kind kind;
    ptrdiff_t dim[3];          /* volume */
    double affine[3][4];       /* voxel to mm */
    ptrdiff_t *voxel;          /* T  index, x fastest */
    const uint8_t *background; /* grey values, dim[0] x dim[1] x dim[2]; NULL: none */
    int meshes;
    kn_report_mesh mesh[2];
    const char *atlas; /* "Destrieux", "Desikan-Killiany", "Schaefer"; NULL: not recognised */
    kn_report_region *region; /* T; NULL: responses are not regions */
    ptrdiff_t unmatched;      /* responses that match no label of the surface */
    /* The measure shown on surfaces if the table has several; NULL: names contain none. */
    const char *measure;
    const char *surface_note; /* what is not drawn, and why; NULL */
} kn_report_space;

/* ---- 8. methods, 9. reproduce ---- */

typedef struct kn_report_fact { /* a row of "reproduce": "model", "xxh64:28192758c5b520c3" */
    const char *name, *value;
} kn_report_fact;

typedef struct kn_report_methods {
    ptrdiff_t paragraphs; /* methods text to paste, CC0 */
    const char *const *paragraph;
    const char *results; /* results paragraph, to paste below; NULL: none */
    ptrdiff_t references;
    const char *const *reference;
    ptrdiff_t facts; /* how to reproduce this page */
    kn_report_fact *fact;
} kn_report_methods;

typedef enum kn_report_kind { /* same values as kn_report_input_kind */
                              KN_REPORT_MODEL = 0,
                              KN_REPORT_SCORE = 1,
                              KN_REPORT_CV = 2,
                              KN_REPORT_CHANGE = 3
} kn_report_kind;

struct kn_report {
    kn_arena arena;
    kn_report_kind kind;
    const char *title; /* {title}, or derived from the content */
    /* First sentence of the page: "48 participants were scored on 3560 voxels against ...". */
    const char *sentence;
    bool anonymized;   /* ids were replaced by participant-1 ... */
    const char *alias; /* prefix of the replaced ids: "participant-"; NULL: not stripped */
    kn_report_notes warnings, good, notes; /* notes: facts that need no action */
    const char *unit;                      /* unit of the responses, "mm"; NULL: not known */
    const char *names;                     /* names of levels, category_level_names.h; NULL: none */
    kn_report_cohort cohort;
    kn_report_model model;
    kn_report_zhist zhist, zhist_training;
    kn_report_calibration calibration[2]; /* training (cross-validated); scored and not labelled */
    kn_report_responses responses;
    kn_report_curves curves;
    kn_report_participants participants;
    kn_report_group group;
    kn_report_change change;
    kn_report_space space;
    kn_report_methods words;
    char *json; /* created on demand; owned, freed with kn_free */
};

/* Returns "voxels", "vertices", "regions" or "responses"; the singular if n is 1. */
const char *kn_report_nouns(const kn_report *r, ptrdiff_t n);
/* Returns the statistic that flags, in words (stats/flag.h). */
const char *kn_report_flag_title(const kn_report *r);
/* Returns the name of the group of cases: "group=patient", or "cases" if it is not known. */
const char *kn_report_cases(const kn_report *r);

#endif
