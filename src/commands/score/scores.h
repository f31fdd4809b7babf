/* kn_scores, the results of score and predict: statistics and p-values per participant, metrics per
 * response, and a summary of both [METHOD 8, 8b]. score.c fills it minibatch by minibatch with the
 * kn_scores_add_* calls, then calls kn_scores_finish. */
#ifndef KN_COMMANDS_SCORE_SCORES_H
#define KN_COMMANDS_SCORE_SCORES_H

#include <jansson.h>

#include "base/memory/plan.h"
#include "commands/score/new_participants.h"
#include "data/sample.h"
#include "gp/predict/map_density.h"
#include "io/file/atomic_writer.h"
#include "model/model.h"
#include "norm/calibration/calibration_check.h"
#include "norm/metrics/metrics.h"
#include "stats/two_sample_tests.h"

enum { KN_N_MAPS = 5, KN_N_STATISTICS = 9 };
extern const char *const kn_map_name[KN_N_MAPS]; /* z, yhat, ys2_model, fdr, ys2 */
/* Metrics that are also written as maps if the responses are images. */
typedef struct kn_metric_map {
    const char *file, *metric;
} kn_metric_map;
enum { KN_N_METRIC_MAPS = 3 };
extern const kn_metric_map kn_metric_maps[KN_N_METRIC_MAPS];
extern const char
    *const kn_statistic_name[KN_N_STATISTICS]; /* statistics that AUC is computed for */

struct kn_scores {
    ptrdiff_t n, T;
    bool scored;             /* false: predictions without responses */
    char **id;               /* n */
    float *map[KN_N_MAPS];   /* n x T row-major; NULL: not kept in memory */
    double *noise;           /* T: noise variance, original units */
    double *noise_group;     /* the same for members of a known group; NULL: there are none */
    ptrdiff_t n_files;       /* number of files written */
    bool tabulate;           /* metrics.tsv is written */
    int *implausible_reason; /* n: kn_implausible, 0: plausible; NULL: predictions */
    json_t *summary;
    char *json; /* summary as text */

    /* Columns of abnormality.tsv, n values each. Filled per minibatch, except the p-values
     * and percentiles, which kn_scores_finish computes. */
    double *in_training, *extreme_z, *extreme_z_p, *deviance, *deviance_p, *deviance_noise,
        *deviance_noise_p, *extrapolation, *extrapolation_pct;
    double *mean_z, *mean_z_p, *n_low, *n_low_p, *n_high, *n_high_p, *extreme_z_low,
        *extreme_z_high, *n_low_fdr, *n_high_fdr, *n_responses;
    double *p_note; /* kn_tail_p_note of extreme_z_p, or KN_TAIL_P_MISSING of any p */
    double *site_adapted, *unseen_level, *implausible, *flagged, *label;
    kn_mat metrics; /* T x KN_N_METRICS */

    /* Working state; kn_scores_finalise frees it. */
    const kn_model *model;
    const kn_space *space; /* borrowed */
    const kn_settings *s;
    ptrdiff_t *cv_row;    /* n: row of the reference sample whose held-out z is used; -1: new z */
    ptrdiff_t *training;  /* n: index in the training sample; -1: a new participant */
    bool labelled;        /* {cases} was given */
    bool *abnormal, *use; /* n: labelled as abnormal; used for metrics and calibration */
    bool *measured;       /* n: used for metrics: a new prediction, not a stored z */
    bool *normals;        /* n: reference rows of {reference=COLUMN=VALUE}; NULL: the model's */
    bool loo;             /* reference distribution from leave-one-out: optimistic */
    /* reference over the responses of participants who lack some; NULL: not needed yet */
    struct kn_restricted_reference *restricted;
    double *counted; /* 3 x n of the reference: counts below and above {threshold}, and mean z;
                        NULL: the stored burdens apply */
    /* Per response in use, standardised: mean and variance of the trivial model, and share of R's
     * iso term in the model variance. */
    double *mean0, *var0, *iso;
    kn_metric_tally *sums; /* sums for the metrics, one per response in use */
    /* n: log loss minus that of the trivial model, and gain over the null model, summed over
     * responses, and number of cells; NULL: not needed. */
    double *own_loss, *own_gain, *own_cells;
    kn_calibrator calibrator;
    kn_tally *tally;         /* n: counts of z per participant, for the calibrator */
    uint64_t *hash;          /* n: hash of the responses, by kn_values_hash; NULL: not made */
    int *changed;            /* n: KN_CHANGED_... if the id is of training but the data differ */
    ptrdiff_t *zero, n_zero; /* responses in use that are 0 in every participant so far, although
                                not near 0 in training */
    double *joint;           /* n: ln density of the whole map minus that of the null model [8j] */
    ptrdiff_t height;        /* rows of a minibatch, including padding */
    double noise_sum;        /* noise sum of extrapolation in the current minibatch */
    double *beyond; /* n: added to the extrapolation of the maps; without components the whole
                       extrapolation */
    const kn_participant_status *relation; /* borrowed */
    double *noise_known; /* noise variance for members of a known group, standardised; NULL: none */
    kn_auc auc[KN_N_STATISTICS];
    bool has_auc[KN_N_STATISTICS];
    bool has_gev;
    kn_gev gev;
    ptrdiff_t n_in_training, n_abnormal, n_extrapolated;
    ptrdiff_t n_changed; /* training ids with other data than in training */
    ptrdiff_t n_implausible;
    ptrdiff_t n_empty; /* participants without a finite z */
    double smallest_p; /* smallest extreme_z_p that a new participant can get; NaN: no reference */
    double min_unseen; /* lower bound of p at unknown sites; 0: there are none */
    double flag_rate;  /* expected proportion of flagged healthy participants */
    double fdr_proportion; /* share of the reference sample with any finding after FDR */
    bool seen_as_new;      /* training participants had to be scored as new */
    double joint_density;  /* mean of joint over the measured participants */
    double mean_metrics[KN_N_METRICS], calibration[KN_N_CALIBRATION];
    double began;
};

enum { KN_CHANGED_RESPONSES = 1, KN_CHANGED_COVARIATES = 2 };

/* Allocates scores for `participants`: ids and noise, and if `scored` all working state.
 * kn_match_training is called next. Settings and model are borrowed until kn_scores_finalise. */
kn_status kn_scores_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model, bool scored,
                        const kn_sample *participants, kn_scores **out);

/* Add mean and model variance of a block of a minibatch that begins at participant `row`,
 * standardised units. First of three calls per block. */
void kn_scores_add_predictions(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b);

/* Add the losses of the cells of a block; z as predicted. Second call per block. */
void kn_scores_add_losses(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b,
                          const kn_cell_losses *losses);

/* Add the final z of a block (rows x count), with the stored z of training participants. Third call
 * per block. KN_ERR_MEMORY. */
kn_status kn_scores_add_z(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_mat z);

/* Add the whole-map densities of the `rows` participants of the minibatch from `row` on, after its
 * last block [METHOD 8j]. */
void kn_scores_add_density(kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                           const kn_map_density_state *w);

/* Maps of a minibatch, rows x T floats each, row-major. */
typedef struct kn_row_maps {
    const float *z, *z_noise; /* z_noise: z by noise variance alone; NULL: no deviance */
    float *fdr; /* output: z where significant after FDR, 0 elsewhere, NaN where missing; NULL: not
                   wanted */
} kn_row_maps;

/* Compute statistics, burdens and deviances of participants row .. row + rows - 1 from their
 * complete maps (rows x T floats, row-major). For predictions only the extrapolation is finished,
 * and maps are not read. KN_ERR_MEMORY. */
kn_status kn_scores_add_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                             const kn_row_maps *maps);

/* Sets the relation of the participants to the training sample; borrowed until kn_scores_finish. */
kn_status kn_scores_set_status(kn_ctx *ctx, kn_scores *s, const kn_participant_status *relation);

/* Store extra (rows), the result of kn_extrapolation_at_site(). Call before the blocks of a
 * minibatch. */
void kn_scores_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const double *extra);
/* Noise variance of response j for participant i, standardised; members of known groups have
 * less. */
static inline double kn_scores_noise(const kn_scores *s, ptrdiff_t i, ptrdiff_t j)
{
    bool known = s->noise_known && s->relation->group[i] >= 0;
    return known ? s->noise_known[j] : s->model->gp.noise[j];
}

/* Compute what needs all participants (p-values, percentiles, metrics, calibration) after the last
 * minibatch, with its warnings. The summary is made afterwards by kn_summary_make(). */
kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s);

/* Compute the AUC of each statistic for labelled against other participants; warns if one of both
 * is missing. */
kn_status kn_scores_compute_auc(kn_ctx *ctx, kn_scores *s);

/* Count the participants beyond the 99th percentile of extrapolation, and warn if they are more
 * than 2 %, since 1 % is expected. */
void kn_scores_warn_extrapolated(kn_ctx *ctx, kn_scores *s);

/* Count the participants without a finite z, and warn of them. */
void kn_scores_warn_empty(kn_ctx *ctx, kn_scores *s);

/* The numbers of summary.json as a new JSON object; NULL: out of memory. */
json_t *kn_scores_summary(const kn_scores *s);

/* Free the working state and drop borrowed pointers; the results stay. */
void kn_scores_finalise(kn_scores *s);

/* Name of column k of abnormality.tsv after the id; NULL after the last. */
const char *kn_scores_column(int k);

/* Address in s of the array of column k (n values each); NULL after the last. */
double **kn_scores_slot(kn_scores *s, int k);

/* Largest number of responses for which metrics.tsv is written by default. */
enum { KN_METRICS_UNASKED = 100000 };

/* Checks before the computation that the files of kn_scores_write can be written to dir. */
kn_status kn_scores_check(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options);
/* Writes abnormality.tsv, metrics.tsv (if s->tabulate) and summary.json. dir exists. */
kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options);

/* Add to the memory plan r what scoring s->N participants allocates; the work of a minibatch of
 * `batch` is temporary. */
void kn_scores_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t batch);

#endif
