/* People: named covariates, ids and responses, from memory or from files. The same object either
 * way: covariates are a table of texts, and row i of the covariates belongs to row i of the
 * responses as `match` says. The values of responses in files are read by those who use them
 * (people.h), when it is known how much room there is. */
#ifndef KN_DATA_DATASET_H
#define KN_DATA_DATASET_H

#include "base/options/options.h"
#include "base/warnings.h"
#include "data/response_space.h"
#include "data/table/match_ids.h"
#include "io/image/image_set.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

typedef enum kn_left { /* why a row is not used, where that was asked for */
                       KN_LEFT_NOT,
                       KN_LEFT_BY_WHERE,
                       KN_LEFT_BY_SESSION, /* another one of the same person is used */
                       KN_LEFT_WITH_ROW,   /* a response: with its row of the covariates */
                       KN_LEFT_BY_FOLD,    /* not among these of the people (held.h) */
} kn_left;

struct kn_data {
    ptrdiff_t n; /* rows of the covariates */
    /* as given by kn_data_numbers and the others, until kn_data_finalise makes the table of them */
    kn_table_column *column;
    ptrdiff_t n_columns, room;
    char **ids;
    bool in_memory;
    kn_table *covariates;
    ptrdiff_t id_col, response_id_col; /* -1: none */
    char **session_id; /* n: ids made of person and session; NULL: ids are those of id_col */
    kn_match match;
    char *where, *session; /* the match was made with these; NULL: without */
    kn_left *left;         /* n; and of each row of responses in a file of their own */
    kn_left *response_left;
    /* the responses are one of these, or none */
    kn_table *responses; /* may be the covariates' own table */
    kn_images *images;
    kn_npy_file array;
    kn_view view;
    char **view_name; /* view.cols, or NULL */
    char *covariates_path, *responses_path, *mask;
    const char
        *label; /* lent: the column that says who is abnormal, and is no covariate; NULL: none */
    kn_warnings warnings; /* given while it was made */
    /* Some of the people of other data (held.h): the values are there, and all but the match, who
     * is left and the warnings is lent. NULL: data of their own. */
    struct kn_preloaded *held;
    /* Who learns from files learns from these responses of them, whatever the mask and {targets};
     * lent. NULL: those that the data have. */
    const kn_space *space;
};

/* The table and the match of data given in memory; of files they are there already, and are made
 * anew where rows are to be chosen in another way than they were read. */
kn_status kn_data_finalise(kn_ctx *ctx, const kn_settings *s, kn_data *data);

/* Which rows are used and belong together, by {where}, {session} and {match}. */
kn_status kn_data_match(kn_ctx *ctx, const kn_settings *s, kn_data *data);

/* Whose row of the covariates it is, several of one person alike; NULL: nobody says. */
const char *kn_data_person(const kn_data *data, ptrdiff_t covariate_row);

bool kn_data_has_responses(const kn_data *data);
const char *kn_data_responses_name(const kn_data *data); /* for messages */

/* Every file behind it, and `other` (NULL: none): what no output may replace. Free with kn_free;
 * the texts are lent. */
kn_status kn_data_files(kn_ctx *ctx, const kn_data *data, const char *other, const char ***files,
                        ptrdiff_t *n);

#endif
