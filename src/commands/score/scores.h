/* What a model says of some people: from z maps to abnormality per person, metrics per response and
 * a summary of both [METHOD 8, 8b]. */
#ifndef KN_COMMANDS_SCORE_SCORES_H
#define KN_COMMANDS_SCORE_SCORES_H

#include <jansson.h>

#include "base/memory/plan.h"
#include "commands/score/new_participants.h"
#include "data/sample.h"
#include "gp/predict/map_density.h"
#include "io/file/atomic_writer.h"
#include "model/model.h"
#include "norm/calibration/check.h"
#include "norm/metrics/accumulator.h"
#include "stats/auc.h"

enum { KN_N_MAPS = 5, KN_N_STATISTICS = 9 };
extern const char *const kn_map_name[KN_N_MAPS]; /* z, yhat, ys2_model, fdr, ys2 */
/* Metrics that are maps too, of images: they say where the model is good. */
typedef struct kn_metric_map {
    const char *file, *metric;
} kn_metric_map;
enum { KN_N_METRIC_MAPS = 3 };
extern const kn_metric_map kn_metric_maps[KN_N_METRIC_MAPS];
extern const char *const kn_statistic_name[KN_N_STATISTICS]; /* that AUC are of */

struct kn_scores {
    ptrdiff_t n, T;
    bool scored;             /* false: predicted, there were no responses */
    char **id;               /* n */
    float *map[KN_N_MAPS];   /* n x T row by row, those that were to be kept */
    double *noise;           /* T, original units */
    double *noise_group;     /* the same of members of a known group; NULL: nobody is */
    ptrdiff_t n_files;       /* written */
    bool tabulate;           /* metrics.tsv is written */
    int *implausible_reason; /* n  kn_implausible, 0: plausible; NULL: predicted */
    json_t *summary;
    char *json; /* the same as text */

    /* of each person, made batch by batch; p_upper, probability and the percentile at the end */
    double *in_training, *statistic, *probability, *p_upper, *deviance, *deviance_p,
        *deviance_noise, *deviance_noise_p, *extrapolation, *extrapolation_pct;
    double *mean_z, *mean_z_p, *negative, *negative_p, *positive, *positive_p, *top_negative,
        *top_positive, *fdr_negative, *fdr_positive, *n_responses;
    double *p_note; /* kn_tail_p_note of p_upper */
    double *site_adapted, *unseen_level, *implausible, *label;
    kn_mat metrics; /* T x KN_N_METRICS, of each response */

    /* while they are made */
    const kn_model *model;
    const kn_space *space; /* of the responses, lent */
    const kn_settings *s;
    ptrdiff_t *cv_row;    /* n: the sample of the reference whose stored z this gets; -1: its own */
    ptrdiff_t *training;  /* n: which training sample this is; -1: a new one */
    bool labelled;        /* somebody may be */
    bool *abnormal, *use; /* n: labelled; counts for metrics and calibration */
    bool *measured;       /* n: counts for metrics: a new prediction, not a stored z */
    bool *normals;        /* n: the reference by {reference=COLUMN=VALUE}; NULL: the model's */
    bool loo;             /* the statistic's law from leave-one-out: optimistic */
    double *counted;      /* 3 n of the reference: counts below and above another threshold than its
                           * own, and mean z; NULL: what it has is what is asked for */
    /* of each response in use, standardised: what the trivial model predicts, and R's iso term in
     * the model variance */
    double *mean0, *var0, *iso;
    kn_metric_tally *sums; /* of these */
    /* n  log loss less that of the trivial model over a person's responses, and their number; NULL:
     * not asked for */
    double *own_loss, *own_cells;
    kn_calibrator calibrator;
    kn_tally *tally;         /* n  z of each person, for it */
    uint64_t *hash;          /* n  of the responses of each, by kn_values_hash; NULL: not made */
    int *changed;            /* n  KN_CHANGED_... : a training id, but not its data */
    ptrdiff_t *zero, n_zero; /* responses in use that were 0 for everybody so far, but not in
                              * training */
    double *joint;           /* n  ln density of the whole map less that of the null model [8j] */
    ptrdiff_t height;        /* of a batch: people, and who fills it up */
    double noise_sum;        /* of extrapolation, in the batch under way */
    double *beyond; /* n  what extrapolation has more than the maps; where there are no components,
                     * the whole of it */
    const kn_participant_status *standing; /* lent */
    double *noise_known; /* of members of a known group, standardised; NULL: nobody is */
    kn_auc auc[KN_N_STATISTICS];
    bool has_auc[KN_N_STATISTICS];
    bool has_gev;
    kn_gev gev;
    ptrdiff_t n_in_training, n_abnormal, n_extrapolated;
    ptrdiff_t n_changed; /* training ids whose data are not those of training */
    ptrdiff_t n_implausible;
    ptrdiff_t n_empty;    /* people without a finite z */
    double smallest_p;    /* p_upper that somebody new can get; NaN: nobody to compare with */
    double least_unseen;  /* that p of people at unknown sites are held to; 0: there are none */
    double fdr_share;     /* of the model's reference: people with any finding after FDR */
    bool seen_as_new;     /* training samples had to be scored as if they were new */
    double joint_density; /* mean of joint over those who count for metrics */
    double mean_metrics[KN_N_METRICS], calibration[KN_N_CALIBRATION];
    double began;
};

enum { KN_CHANGED_RESPONSES = 1, KN_CHANGED_COVARIATES = 2 };

/* Ids and noise; of what is scored everything that scoring takes, and then
 * commands/score/match_training.h says who is who. The settings are lent until _finish. */
kn_status kn_scores_new(kn_ctx *ctx, const kn_settings *s, const kn_model *model, bool scored,
                        const kn_sample *people, kn_scores **out);

/* People pass in batches, from person `row` on. First their blocks of responses, in order and in
 * standardised units: y, mean and var, then z as predicted and its losses, then z as told. */
void kn_scores_take_maps(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b);
void kn_scores_take_losses(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, const kn_block *b, kn_mat z,
                           kn_mat loss);
kn_status kn_scores_take_z(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, kn_mat z);

/* After the last block: the law of their maps [METHOD 8j]. */
void kn_scores_take_law(kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const kn_map_density_walk *w);

/* Then their whole maps, rows x T floats, row by row. Of predictions none is looked at. */
typedef struct kn_row_maps {
    const float *z, *z_noise; /* z_noise NULL: no deviance */
    float *fdr;               /* set: z where FDR leaves it, 0 elsewhere, NaN where it is missing;
                               * NULL: not asked for */
} kn_row_maps;
kn_status kn_scores_take_rows(kn_ctx *ctx, kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                              const kn_row_maps *maps);

/* How these people stand to the training; lent until _finish. */
kn_status kn_scores_set_status(kn_ctx *ctx, kn_scores *s, const kn_participant_status *standing);
/* Before the blocks of a batch: what kn_extrapolation_at_site says of these people. */
void kn_scores_extrapolation(kn_scores *s, ptrdiff_t row, ptrdiff_t rows, const double *extra);
/* The noise of response j, standardised, for person i: members of known groups have less. */
static inline double kn_scores_noise(const kn_scores *s, ptrdiff_t i, ptrdiff_t j)
{
    bool known = s->noise_known && s->standing->group[i] >= 0;
    return known ? s->noise_known[j] : s->model->gp.noise[j];
}

/* After the last batch: what is over all. The summary is commands/score/provenance.h's. */
kn_status kn_scores_finish(kn_ctx *ctx, kn_scores *s);
/* Steps of it that joined scores share (scores_join.h): AUC of those labelled, and what is said of
 * people far from training and of people without a value. */
kn_status kn_scores_detect(kn_ctx *ctx, kn_scores *s);
void kn_scores_tell_extrapolated(kn_ctx *ctx, kn_scores *s); /* and counts them */
void kn_scores_tell_empty(kn_ctx *ctx, kn_scores *s);        /* and counts them */
json_t *kn_scores_summary(const kn_scores *s);               /* its numbers; NULL: out of memory */
void kn_scores_finalise(kn_scores *s);                       /* nothing is left that was lent */

/* Columns of abnormality.tsv after the id, in order, and where each is; NULL beyond the last. */
const char *kn_scores_column(int k);
double **kn_scores_slot(kn_scores *s, int k);

/* A name, x,y,z of a voxel from 0, or a number from 1. */
void kn_response_name(const kn_space *space, ptrdiff_t j, char *out, size_t size);

/* How many have a p_upper below it is told. */
#define KN_P_REPORTED 0.05

/* Responses up to which metrics.tsv is written unasked. */
enum { KN_METRICS_UNASKED = 100000 };

kn_status kn_scores_check(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options);
/* abnormality.tsv, metrics.tsv, summary.json */
kn_status kn_scores_write(kn_ctx *ctx, const kn_scores *s, const char *dir,
                          const kn_write_options *options);

/* Of s->N samples in batches of so many; scoring a batch passes. */
void kn_scores_need(kn_mem_plan *r, const kn_problem_size *s, ptrdiff_t batch);

#endif
