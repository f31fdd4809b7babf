/* Results of kn_change: changes between visits compared with stable participants [METHOD 8g].
 * change.c computes them, write.c writes them. */
#ifndef KN_COMMANDS_CHANGE_CHANGE_H
#define KN_COMMANDS_CHANGE_CHANGE_H

#include "base/warnings.h"
#include "commands/change/visits.h"
#include "io/file/atomic_writer.h"
#include "norm/change/reference.h"

/* Everything that write.c needs; pointers are borrowed from the run. */
typedef struct kn_changes {
    const kn_options *options;
    const kn_settings *s;
    const kn_model *model;
    const kn_data *data;
    const kn_warnings *warnings;
    const kn_visits *visits;
    const kn_change_reference *reference;
    bool saved;   /* the reference is the one saved in the model */
    kn_mat value; /* pairs x KN_CHANGE_VALUES */
    double *n;    /* pairs: number of finite z */
    kn_change_info *info;
} kn_changes;

/* P-value of pair i; a member of the reference is compared with the other members. */
double kn_changes_p(const kn_changes *c, ptrdiff_t i, kn_change_value which);

/* Checks before the computation that all files can be written; the folder exists. */
kn_status kn_changes_check(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);
/* Writes change.tsv, reference.json, with {save} the model, and last summary.json; adds to
 * c->info->files. */
kn_status kn_changes_write(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);

#endif
