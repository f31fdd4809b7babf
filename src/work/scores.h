/* From z maps to tables: abnormality per sample, metrics per response, a summary of both
 * [METHOD 8, 8b]. */
#ifndef KN_WORK_SCORES_H
#define KN_WORK_SCORES_H

#include "norm/auc.h"
#include "norm/calibration.h"
#include "norm/metrics.h"
#include "work/dataset.h"

typedef struct kn_scores {
    const kn_model *model;
    ptrdiff_t n, T;
    const char *const *id;
    ptrdiff_t *cv_row;    /* n: the sample of the reference whose stored z this gets; -1: its own */
    ptrdiff_t *training;  /* n: which training sample this is; -1: a new one */
    bool *abnormal, *use; /* n: labelled; counts for metrics and calibration */
    bool *measured;       /* n: counts for metrics: a new prediction, not a stored z */
    bool *normals;        /* n: the reference by --reference COLUMN=VALUE; NULL: the model's */
    const char *reference; /* as --reference was given, or NULL */
    bool labelled;
    bool loo;   /* the statistic's law from leave-one-out: optimistic */
    bool plain; /* a training sample is scored as if it were new */
    /* of each response, NaN where it was left out of training: what the trivial model predicts, the
     * scale, and R's iso term in the model variance */
    double *mean0, *var0, *sd, *iso;
    kn_metric_sums *sums; /* T */
    kn_calibrator calibrator;
    double noise_sum; /* of extrapolation, in the batch under way */
    /* made batch by batch */
    double *statistic, *deviance, *deviance_p, *deviance_noise, *deviance_noise_p,
        *extrapolation; /* n each */
    /* made by _finish */
    double *probability, *p_upper, *extrapolation_pct; /* n each */
    kn_mat metrics;                                    /* T x KN_N_METRICS */
    kn_auc auc[3];                                     /* top, deviance, deviance_noise */
    bool has_auc[3];
    bool has_gev;
    kn_gev gev;
    ptrdiff_t n_changed; /* training ids whose responses are not those of training */
    ptrdiff_t n_empty;   /* samples without a finite z */
    bool seen_as_new;    /* training samples had to be scored as if they were new */
    double mean_metrics[KN_N_METRICS], calibration[KN_N_CALIBRATION];
    double began;
} kn_scores;

kn_status kn_scores_new(kn_ctx *ctx, const kn_apply_job *job, const kn_model *model,
                        const kn_dataset *d, const char *const *id, kn_scores *out);
void kn_scores_clear(kn_scores *s);

/* Samples pass in batches, from sample `row` on. First their blocks of responses, in order: all
 * rows x count, `first` the block's first response, noise of its responses. var is used up. */
kn_status kn_scores_block(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t first, kn_mat y,
                          kn_mat mean, kn_mat var, kn_mat z, const double *noise);

/* Then their whole maps. z, z_noise: rows x T floats, row by row; z_noise NULL: no deviance. */
kn_status kn_scores_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const float *z,
                         const float *z_noise);

/* After the last batch. */
kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s, kn_apply_result *result);

kn_status kn_scores_check(kn_ctx *ctx, const char *dir, const kn_write_options *options);
/* abnormality.tsv, metrics.tsv, summary.json */
kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options, const kn_apply_result *result);

#endif
