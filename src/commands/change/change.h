/* Change between visits: pairs of them against people who are stable [METHOD 8g]. */
#ifndef KN_COMMANDS_CHANGE_CHANGE_H
#define KN_COMMANDS_CHANGE_CHANGE_H

#include "base/warnings.h"
#include "commands/change/visits.h"
#include "io/file/atomic_writer.h"
#include "norm/change/reference.h"

/* What is written. */
typedef struct kn_changes {
    const kn_options *options;
    const kn_settings *s;
    const kn_model *model;
    const kn_data *data;
    const kn_warnings *warnings;
    const kn_visits *visits;
    const kn_change_reference *reference;
    bool saved;   /* the reference is the model's own */
    kn_mat value; /* pairs x KN_CHANGE_VALUES */
    double *n;    /* pairs  finite z */
    kn_change_info *info;
} kn_changes;

/* Of pair i; a member of the reference is compared with the others. */
double kn_changes_p(const kn_changes *c, ptrdiff_t i, kn_change_value which);

/* What _write would refuse, asked before the work; the folder is there. */
kn_status kn_changes_check(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);
/* change.tsv, reference.json, and with {save} the model; summary.json is the last. */
kn_status kn_changes_write(kn_ctx *ctx, const kn_changes *c, const kn_write_options *options);

#endif
