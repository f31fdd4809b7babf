/* The participants of one call: their encoded covariates, and the values of their responses, in
 * memory or in a file. kn_sample_train makes a training sample, kn_sample_new participants for a
 * model. */
#ifndef KN_DATA_SAMPLE_H
#define KN_DATA_SAMPLE_H

#include "data/covariates/encoding.h"
#include "data/dataset.h"
#include "data/mpi/partition_responses.h"
#include "data/shared_noise_groups.h"
#include "data/table/job_part.h"
#include "io/file/scratch_file.h"

/* Size of the problem before the responses are read, for the memory plan. */
typedef struct kn_response_shape {
    ptrdiff_t n, T, F;   /* participants, responses, columns of X */
    int value;           /* bytes of one value as stored */
    int terms;           /* terms that the additive sum may have; 0: not known */
    ptrdiff_t groups;    /* groups of repeated measures */
    ptrdiff_t sites;     /* upper bound of the number of sites; 0: no site category */
    ptrdiff_t elsewhere; /* responses that other ranks hold */
    double held; /* bytes that stay allocated with the input files, such as the text of a table */
    double reading; /* bytes of work space during reading */
    double there;   /* bytes of `held` and of the values that are allocated already */
} kn_response_shape;

/* Bytes that the caller holds during the call, as a function of n participants and T responses. */
typedef struct kn_caller_bytes {
    double fixed, person, response; /* constant, per participant, per response */
    double cell, cells_most;        /* per cell of Y, and at most for all cells */
} kn_caller_bytes;

/* Memory policy supplied by the command: RAM or scratch file. */
typedef struct kn_memory_policy {
    /* Decides where the values go. *in_file: they fit only in a scratch file; KN_ERR_MEMORY: not
     * even then. at_least: shape->T is a lower bound. */
    kn_status (*place)(const struct kn_memory_policy *self, kn_ctx *ctx,
                       const kn_response_shape *shape, bool at_least, bool *in_file);
    double bytes;        /* budget of the whole call */
    const char *scratch; /* folder of scratch files */
    kn_caller_bytes beside;
    bool by_rows; /* the call processes participants one after the other, not blocks of responses */
} kn_memory_policy;

typedef struct kn_sample {
    ptrdiff_t n;
    ptrdiff_t *covariate_row; /* n, row of each participant in the covariate table */
    const char **id;          /* n texts, borrowed from the data; NULL: no ids */
    kn_encoding recipe;       /* as learned; empty if a model's encoding was applied */
    kn_mat X;                 /* n x F encoded covariates, not standardised */
    kn_grouping grouping;     /* repeated measures of a training sample, with codes */
    char **group_text;        /* n, NULL entries: no group; NULL: not known */
    kn_view Y;    /* n x T, original units; data NULL: no responses requested. With MPI: this rank's
                     columns (data/mpi/partition_responses.h), all columns, or this rank's rows */
    bool dealt;   /* columns are distributed over ranks; the same on all ranks */
    kn_range own; /* columns of Y that this rank holds */
    kn_space space;       /* of the responses */
    ptrdiff_t n_other;    /* participants in other job parts */
    ptrdiff_t *other_row; /* and their rows of the covariate table; NULL: none */
    ptrdiff_t n_without;  /* participants excluded from training because they have no response */
    /* Storage of Y, unless it is borrowed; values or scratch. */
    void *values;
    kn_scratch scratch;
} kn_sample;

/* Makes the training sample: encoding, groups and response space are learned from the data.
 * KN_ERR_MEMORY before values are read if memory and scratch space do not suffice. Collective. */
kn_status kn_sample_train(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *room, kn_sample *out);
/* What a model expects of new participants; all borrowed. space NULL: no responses are read. */
typedef struct kn_sample_spec {
    const kn_encoding *recipe;
    const kn_space *space;
    const char *group_column; /* as in kn_grouping; NULL: groups are not read */
    /* With {part}: checks the covariates of the participants of all job parts, so that every part
     * fails if one would; NULL: no check. */
    kn_status (*check)(kn_ctx *ctx, const void *self, const kn_sample *everybody);
    const void *self;
    bool by_people; /* preloaded data: a rank gets whole rows of its participants */
} kn_sample_spec;

/* Makes the participants that a model is applied to, or the job part of them that {part} selects.
 * Collective. */
kn_status kn_sample_new(kn_ctx *ctx, kn_data *data, const kn_settings *s, kn_sample_spec known,
                        const kn_memory_policy *room, kn_sample *out);
void kn_sample_clear(kn_sample *p); /* accepts {0} */

/* Sets rows[i] (p->n) if "COLUMN=VALUE" in `text` holds for participant i. KN_ERR_DATA if there is
 * no such column, or no participant, in any job part, has the value. `option` is its name for
 * messages. */
kn_status kn_sample_flag(kn_ctx *ctx, const kn_data *data, const kn_sample *p, const char *option,
                         const char *text, bool *rows);

#endif
