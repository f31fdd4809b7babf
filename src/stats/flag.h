/* Which participants are flagged: the only definition, for score, cv, change and the report.
 *
 * A participant is flagged if the p-value of the whole-map deviance is at most 0.05, and a pair of
 * visits if that of the mean squared z of its change is. To flag by another p-value change the
 * constants: all texts are made from them. */
#ifndef KN_STATS_FLAG_H
#define KN_STATS_FLAG_H

#include <stdbool.h>
#include <stddef.h>

#define KN_FLAG_P             0.05
#define KN_FLAG_P_TEXT        "0.05"               /* the same as text; a test compares both */
#define KN_FLAG_COLUMN        "deviance_p"         /* in abnormality.tsv */
#define KN_FLAG_TITLE         "whole-map deviance" /* the statistic in words ... */
#define KN_FLAG_STATISTIC     "deviance"           /* its column, and in few words */
#define KN_FLAG_MEANS         "squared Mahalanobis distance" /* its explanation */
#define KN_FLAG_CHANGE_COLUMN "mean_z2_p" /* the same for pairs of visits, in change.tsv */
#define KN_FLAG_CHANGE_TITLE  "mean z² of the change"
#define KN_FLAG_CHANGE_MEANS  "mean squared z-score over all responses"

/* True if p <= KN_FLAG_P; false for NaN. */
bool kn_is_flagged(double p);

typedef struct kn_flag_row {
    double p;          /* value of KN_FLAG_COLUMN; NaN: none */
    bool is_case;      /* named by {cases} */
    bool in_training;  /* in the training sample, or in the reference sample of change */
    bool site_unknown; /* no training site and no adapted one: p has a lower bound */
} kn_flag_row;

typedef struct kn_flag_counts {
    ptrdiff_t n, flagged; /* participants that count; the flagged ones of them */
} kn_flag_counts;

/* Returns the flag of a participant, as the tables have it: 1 or 0 if the participant has a
 * p-value, is new to the model and from a known site (5 % of healthy ones are flagged), else
 * NaN. */
double kn_flag_of(const kn_flag_row *row);
/* Adds a participant whose flag is known to counts[is_case]: the printed counts are those of the
 * table. */
void kn_flag_count(const kn_flag_row *row, kn_flag_counts counts[2]);

/* Returns the expected proportion of flagged healthy participants if p is a rank among n
 * reference values: the largest multiple of 1/(n + 1) up to KN_FLAG_P; 0 below 19. */
double kn_flag_rate(double n);

#endif
