/* The participants of one call: their encoded covariates, and the values of their responses, in
 * memory or in a file. kn_sample_train makes a training sample, kn_sample_new participants for a
 * model. */
#ifndef KN_DATA_SAMPLE_H
#define KN_DATA_SAMPLE_H

#include "base/context.h"
#include "data/covariates/encoding.h"
#include "data/dataset.h"
#include "data/outliers.h"
#include "data/responses/responses.h"
#include "data/shared_noise_groups.h"
#include "io/file/scratch_file.h"

/* Size of the problem before the responses are read, for the memory plan. */
typedef struct kn_response_shape {
    ptrdiff_t n, T, F;   /* participants, responses, columns of X */
    int value;           /* bytes of one value as stored */
    int terms;           /* terms that the additive sum may have; 0: not known */
    ptrdiff_t groups;    /* groups of repeated measures */
    ptrdiff_t block;     /* columns of the largest category, if it is held as levels; else 0 */
    ptrdiff_t sites;     /* upper bound of the number of sites; 0: no site category */
    ptrdiff_t elsewhere; /* responses that other ranks hold */
    double resident;     /* bytes that stay allocated with the input, such as the text of a table */
    double reading;      /* bytes of work space during reading */
    double allocated;    /* bytes of `resident` and of the values that are allocated already */
} kn_response_shape;

/* Bytes that the caller holds during the call, as a function of n participants and T responses. */
typedef struct kn_caller_bytes {
    double fixed, participant, response; /* constant, per participant, per response */
    double cell, cells_max;              /* per cell of Y, and at most for all cells */
} kn_caller_bytes;

/* Memory policy supplied by the command: RAM or scratch file. */
typedef struct kn_memory_policy {
    /* Decides where the values go. *in_file: they fit only in a scratch file; KN_ERR_MEMORY: not
     * even then. at_least: shape->T is a lower bound. */
    kn_status (*choose_storage)(const struct kn_memory_policy *self, kn_ctx *ctx,
                                const kn_response_shape *shape, bool at_least, bool *in_file);
    double bytes;        /* budget of the whole call */
    const char *scratch; /* folder of scratch files */
    kn_caller_bytes caller;
    bool by_rows; /* the call processes participants one after the other, not blocks of responses */
} kn_memory_policy;

typedef struct kn_sample {
    ptrdiff_t n;
    ptrdiff_t *covariate_row; /* n, row of each participant in the covariate table */
    const char **id;          /* n texts, borrowed from the data; NULL: no ids */
    kn_encoding encoding;     /* as learned; empty if a model's encoding was applied */
    kn_mat X;                 /* n x F encoded covariates, not standardised */
    kn_grouping grouping;     /* repeated measures of a training sample, with codes */
    ptrdiff_t *order;         /* n, canonical order of a training sample [canonical_order.h] */
    char **group_text;        /* n, NULL entries: no group; NULL: not known */
    kn_view Y; /* n x T, original units; data NULL: no responses requested. With MPI: this rank's
                  columns (data/responses/responses.h), all columns, or this rank's rows */
    bool distributed;     /* columns are distributed over ranks; the same on all ranks */
    kn_index_range own;   /* columns of Y that this rank holds */
    kn_space space;       /* of the responses */
    ptrdiff_t n_other;    /* participants in other job parts */
    ptrdiff_t *other_row; /* and their rows of the covariate table; NULL: none */
    ptrdiff_t n_without;  /* participants excluded from training because they have no response */
    ptrdiff_t n_outlying; /* or because too many of their responses are outlying */
    ptrdiff_t *outlying_row, outlying_capacity; /* and their rows of the covariate table */
    kn_outliers outliers; /* cells that are treated as missing, of all ranks: NaN or filled in Y */
    /* Storage of Y, unless it is borrowed; values or scratch. */
    void *values;
    kn_scratch scratch;
} kn_sample;

/* Makes the training sample: encoding, groups and response space are learned from the data, and
 * outlying cells are treated as s->outliers says. KN_ERR_MEMORY before values are read if memory
 * and scratch space do not suffice. Collective. */
kn_status kn_sample_train(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *policy, kn_sample *out);
/* The same for participants of whom some will be training samples, as the folds of a
 * cross-validation: outlying cells stay as they are. Collective. */
kn_status kn_sample_train_all(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                              const kn_memory_policy *policy, kn_sample *out);
/* What a model expects of new participants; all borrowed. space NULL: no responses are read. */
typedef struct kn_sample_spec {
    const kn_encoding *encoding;
    const kn_space *space;
    const char *group_column; /* as in kn_grouping; NULL: groups are not read */
    /* With {part}: checks the covariates of the participants of all job parts, so that every part
     * fails if one would; NULL: no check. */
    kn_status (*check)(kn_ctx *ctx, const void *self, const kn_sample *everybody);
    const void *self;
    bool by_participants; /* preloaded data: a rank gets whole rows of its participants */
} kn_sample_spec;

/* Makes *out (kn_sample_clear) of the participants that a model is applied to, or of the job part
 * of them that {part} selects. KN_ERR_DATA or KN_ERR_SHAPE if covariates or responses do not fit
 * the model; KN_ERR_MEMORY if values do not fit. Collective. */
kn_status kn_sample_new(kn_ctx *ctx, kn_data *data, const kn_settings *s, kn_sample_spec known,
                        const kn_memory_policy *policy, kn_sample *out);
/* Frees the rows, covariates and responses that the sample owns; {0} is allowed. */
void kn_sample_clear(kn_sample *p);

/* Sets rows[i], i < p->n, to whether participant i has VALUE in COLUMN, for `text` "COLUMN=VALUE"
 * of an option. KN_ERR_DATA if there is no such column, or no participant, in any job part, has the
 * value. */
kn_status kn_sample_flag(kn_ctx *ctx, const kn_data *data, const kn_sample *p, const char *option,
                         const char *text, bool *rows);

/* ---- job parts -------------------------------------------------------------------------------
 *
 * Selects job part i of n of a list of participants: the i-th and every n-th after it (--part
 * i/n). */

typedef struct kn_job_part {
    ptrdiff_t i, n; /* i from 1; n 0: no parts, all participants */
} kn_job_part;

enum { KN_JOB_PARTS_MAX = 100000 };

/* Parses {part}, such as 3/10; NULL: no parts. KN_ERR_ARGUMENT unless it is I/N with 1 <= I <= N <=
 * KN_JOB_PARTS_MAX. */
kn_status kn_job_part_parse(kn_ctx *ctx, const char *text, kn_job_part *out);

/* Returns how many of n_participants are in the job part; all of them if there are no parts. */
ptrdiff_t kn_job_part_size(kn_job_part p, ptrdiff_t n_participants);
/* Returns the index in the whole list of participant k of the part. */
static inline ptrdiff_t kn_job_part_participant(kn_job_part p, ptrdiff_t k)
{
    return p.n > 0 ? p.i - 1 + k * p.n : k;
}

#endif
