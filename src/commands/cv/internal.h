/* What a run of kn_cv holds, and all of it that comes before the first fit. */
#ifndef KN_COMMANDS_CV_INTERNAL_H
#define KN_COMMANDS_CV_INTERNAL_H

#include "commands/cv/cv.h"
#include "commands/fit/basis_source.h"
#include "data/preloaded.h"

enum { KN_CV_PATH = 4096 };

typedef struct kn_cv_work {
    kn_data *data;
    const kn_options *given;
    kn_settings s;
    kn_options *fit, *score, *adapt;
    kn_basis_source basis; /* of all the fits */
    kn_preloaded *held;
    const kn_sample *all;
    kn_holdout holdout;
    const char **id; /* of the holdout, lent by the data */
    kn_strata site;
    kn_fold_fact *fold;
    bool *abnormal; /* of the holdout; NULL: nobody can be */
    bool *use;      /* rows of the covariates, of a part */
    unsigned write;
    kn_exclusions exclusions;
    kn_warnings warnings, of_fits;
    uint64_t values;
    kn_join *join, *adapted;
    ptrdiff_t *scored_row; /* of those who are scored by adapted models */
    bool *scored_abnormal;
    ptrdiff_t n_scored;
    char adapted_dir[KN_CV_PATH];
    char label[256]; /* the column of {label}; empty: none */
    const char **inputs;
    kn_write_options options;
    kn_created_files made;
    kn_uncommitted_files pending;
    kn_crossval files;
    kn_cv_info info;
} kn_cv_work;

void kn_cv_work_clear(kn_cv_work *w); /* {0} is fine */

/* Was the option given, and is it not the default alone? */
bool kn_cv_given(const kn_options *options, const char *key);

/* Options of a step: what was given to cv and is one of that command too, but for what is of
 * everybody: who is labelled, and where it all goes. */
kn_status kn_cv_hand_on(kn_ctx *ctx, const kn_options *from, const char *command, kn_options **out);

kn_status kn_cv_make_options(kn_ctx *ctx, kn_cv_work *w); /* of fit and score, and the maps */

/* Which covariates are numbers, categories and batches is settled by everybody: some of the people
 * may have two values where all have three, and their model would be of another kind. */
kn_status kn_cv_settle_kinds(kn_ctx *ctx, kn_cv_work *w);
bool kn_cv_is_batch(const kn_cv_work *w, const kn_covariate *c); /* of the fits */

/* Reads everybody, deals them, and sees that there is room and nothing in the way. Collective. */
kn_status kn_cv_prepare(kn_ctx *ctx, kn_cv_work *w);
/* Refuses a fold with people of a site or level that its model can say nothing of. After the ids.
 */
kn_status kn_cv_check_sites(kn_ctx *ctx, kn_cv_work *w);
/* w->id, as a match has them: of several sessions each its own. */
kn_status kn_cv_find_ids(kn_ctx *ctx, kn_cv_work *w);
/* The folders, and every file that will be in them. After the ids. */
kn_status kn_cv_check_outputs(kn_ctx *ctx, kn_cv_work *w);

#endif
