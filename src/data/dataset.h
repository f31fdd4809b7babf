/* An opened input: named covariates, ids and responses, from memory or from files. Covariates are
 * a table of texts either way, and `match` pairs its rows with rows of the responses. Values of
 * responses in files are read later, by sample.h, when the memory plan is known. The public
 * functions kn_data_... are in dataset.c and dataset_read.c; kn_data_read is collective. */
#ifndef KN_DATA_DATASET_H
#define KN_DATA_DATASET_H

#include "base/context.h"
#include "base/options/options.h"
#include "data/response_space.h"
#include "data/table/match_ids.h"
#include "io/image/image_set.h"
#include "io/npy/npy.h"
#include "io/table/table.h"

typedef enum kn_left { /* why a row is not used */
                       KN_LEFT_NOT,
                       KN_LEFT_BY_WHERE,
                       KN_LEFT_BY_SESSION, /* another visit of the same participant is used */
                       KN_LEFT_WITH_ROW,   /* a row of responses whose covariates row is not used */
                       KN_LEFT_BY_FOLD,    /* not in this fold (preloaded.h) */
                       KN_LEFT_BY_TABLE,   /* not in each of several joined tables */
} kn_left;

enum { KN_RESPONSE_FILES = 64 }; /* tables that can be joined */

struct kn_data {
    ptrdiff_t n; /* rows of the covariates */
    /* Data in memory, as given by kn_data_numbers and the like, until kn_data_finalise makes the
     * table. */
    kn_table_column *column;
    ptrdiff_t n_columns, capacity;
    char **ids;
    bool in_memory;
    kn_table *covariates;
    ptrdiff_t id_col, response_id_col; /* -1: none */
    char **session_id; /* n, made of participant and session; NULL: ids are in id_col */
    kn_match match;
    char *where, *session; /* options that the match was made with; NULL: without */
    char **list_file;      /* n_list_files: files of `in @FILE` in {where}, which are inputs too */
    ptrdiff_t n_list_files;
    int policy;    /* {match} that it was made with; 0: the default, all */
    kn_left *left; /* n; and the same for each row of responses in a separate file */
    kn_left *response_left;
    /* The responses are one of these, or none. */
    kn_table *responses; /* may be the table of the covariates */
    kn_images *images;
    kn_npy_file array;
    kn_view view;
    char **view_name; /* view.cols, or NULL */
    char *covariates_path, *responses_path, *mask;
    char **response_file; /* n_response_files: the tables that responses_path names */
    ptrdiff_t n_response_files;
    bool from_folder;     /* they are .stats files of a SUBJECTS_DIR */
    const char *label;    /* borrowed; the column of --cases, never a covariate; NULL: none */
    kn_warnings warnings; /* warnings of kn_data_read */
    /* A subset of preloaded data (preloaded.h): everything but match, left and warnings is
     * borrowed. NULL: an input of its own. */
    struct kn_preloaded *preloaded;
    /* Borrowed. A fit from files uses these responses and ignores the mask and {targets}. NULL:
     * those of the input. */
    const kn_space *space;
};

/* Makes the table and the match of data in memory. Data from files have them already; the match is
 * made anew only if {where} or {session} are given and differ from those at reading. Options that
 * are not given, and {match=all}, keep the values that they had at reading. A subset of preloaded
 * data is not changed. */
kn_status kn_data_finalise(kn_ctx *ctx, const kn_settings *s, kn_data *data);

/* Decides which rows of the covariates are used, by {where} and {session}, and pairs them with rows
 * of the responses, by {match}; sets data->match, left and response_left. KN_ERR_DATA if ids,
 * sessions or rows do not fit together. */
kn_status kn_data_match(kn_ctx *ctx, const kn_settings *s, kn_data *data);

/* Returns the id in a row of the covariates, the same text for all visits of a participant; NULL if
 * there is no id column. Borrowed. */
const char *kn_data_participant(const kn_data *data, ptrdiff_t covariate_row);

/* Returns whether the data have responses, in memory, in a file or preloaded. */
bool kn_data_has_responses(const kn_data *data);
/* Returns the path of the file of the responses, or "responses" for data in memory; for messages.
 * Borrowed. */
const char *kn_data_responses_name(const kn_data *data);

/* Lists every input file of the data, and `other` (NULL: none), none of which an output may
 * overwrite. *files (*n texts) is freed with kn_free; its texts are borrowed. */
kn_status kn_data_files(kn_ctx *ctx, const kn_data *data, const char *other, const char ***files,
                        ptrdiff_t *n);

#endif
