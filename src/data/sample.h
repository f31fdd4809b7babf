/* The people of some data that one call uses: their covariates as numbers, and the values of their
 * responses, in memory or in a file. */
#ifndef KN_DATA_SAMPLE_H
#define KN_DATA_SAMPLE_H

#include "data/covariates/encoding.h"
#include "data/dataset.h"
#include "data/mpi/partition_responses.h"
#include "data/shared_noise_groups.h"
#include "data/table/job_part.h"
#include "io/file/scratch_file.h"

/* What is known of the responses before their values are read. */
typedef struct kn_response_shape {
    ptrdiff_t n, T, F;   /* people, responses, columns of X */
    int value;           /* bytes of one as it will be held */
    int terms;           /* that the additive sum may have; 0: not known */
    ptrdiff_t groups;    /* of people that share noise */
    ptrdiff_t sites;     /* at most, where categories are batches */
    ptrdiff_t elsewhere; /* responses whose values other ranks hold */
    double held;         /* bytes that stay with the input files, such as the text of a table */
    double reading;      /* bytes of work while they are read */
    double there;        /* bytes of all this that are in memory already */
} kn_response_shape;

/* Bytes that the caller holds all the while, of n people and T responses. */
typedef struct kn_caller_bytes {
    double fixed, person, response; /* in all, of each person, of each response */
    double cell, cells_most; /* of each person's response, and at most so many of all cells */
} kn_caller_bytes;

/* Where the values may go: whoever knows the work that follows says. */
typedef struct kn_memory_policy {
    /* *in_file: they fit only in a file; a status: not even then. at_least: T is a lower bound. */
    kn_status (*place)(const struct kn_memory_policy *self, kn_ctx *ctx,
                       const kn_response_shape *shape, bool at_least, bool *in_file);
    double bytes;        /* that all of the work may hold */
    const char *scratch; /* a folder */
    kn_caller_bytes beside;
    bool by_rows; /* people pass one after the other, not responses */
} kn_memory_policy;

typedef struct kn_sample {
    ptrdiff_t n;
    ptrdiff_t *covariate_row; /* n: row of the covariate table of each */
    const char **id;          /* n texts, lent by the data; NULL: there are none */
    kn_encoding recipe;       /* as learned; empty when a model's was applied */
    kn_mat X;                 /* n x F, not standardised */
    kn_grouping grouping;     /* rows that share noise; of training with codes */
    char **group_text;        /* n: group of a new person, NULL: none; NULL: not known */
    kn_view Y;            /* n x T; data NULL when no responses were asked for. Among ranks: with
                           * this rank's columns (data/mpi/partition_responses.h), or all; or with its rows */
    bool dealt;           /* by columns: others are on other ranks; known to all of them */
    kn_range own;         /* columns of Y that are here */
    kn_space space;       /* of the responses */
    ptrdiff_t n_other;    /* people of the list who are in other parts ... */
    ptrdiff_t *other_row; /* ... and their rows of the covariate table; NULL: there are none */
    ptrdiff_t n_without;  /* people left out of training because they have no response */
    /* what keeps Y alive, when it is not the caller's own */
    void *values;
    kn_scratch scratch;
} kn_sample;

/* The training sample: encoding, groups and response space are learned from the data. Refused before
 * values are read where memory and scratch space do not suffice. Collective. */
kn_status kn_sample_train(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *room, kn_sample *out);
/* For a model that has these; space NULL: no responses are wanted. */
typedef struct kn_sample_spec {
    const kn_encoding *recipe;
    const kn_space *space;
    const char *group_column; /* as kn_grouping has it; NULL: groups are not asked for */
    /* With {part}: whether covariates of everybody are fit for it, those of other parts too, so
     * that all parts refuse what one would; NULL: nobody asks. */
    kn_status (*check)(kn_ctx *ctx, const void *self, const kn_sample *everybody);
    const void *self;
    bool by_people; /* of held data: a rank gets whole rows, of the people dealt to it */
} kn_sample_spec;

kn_status kn_sample_new(kn_ctx *ctx, kn_data *data, const kn_settings *s, kn_sample_spec known,
                        const kn_memory_policy *room, kn_sample *out);
void kn_sample_clear(kn_sample *p); /* {0} is fine */

/* rows[i] = cell of "COLUMN=VALUE" in the covariates is VALUE. Refuses a column that is not there,
 * and a value that nobody has, in other parts neither. `option` names it in the message. */
kn_status kn_sample_flag(kn_ctx *ctx, const kn_data *data, const kn_sample *p, const char *option,
                         const char *text, bool *rows);

#endif
