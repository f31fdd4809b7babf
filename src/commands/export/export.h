/* kn_export: a model to give away, without anybody in it                              [METHOD 8h]
 *
 * R0* U of the process is interpolated from synthetic points (cov/synthetic_points.h,
 * cov/interpolate.h), more of them until the error is within KN_EXPORT_ERROR or there are as many
 * as there may be. The error is that of every response's mean and predicted standard deviation, the
 * one process against the other, over the people of training and over KN_EXPORT_BETWEEN other
 * points. */
#ifndef KN_COMMANDS_EXPORT_EXPORT_H
#define KN_COMMANDS_EXPORT_EXPORT_H

#include "base/options/options.h"
#include "model/model.h"

#define KN_EXPORT_ERROR  0.01  /* in standard deviations of the response */
#define KN_EXPORT_CUT    1e-6  /* r/delta of directions that are left out ... */
#define KN_EXPORT_FINEST 1e-10 /* ... where the error allows it, else by 100 less, down to this */

enum {
    KN_EXPORT_BETWEEN = 1000,
    KN_EXPORT_LEVEL = 5, /* people of a level: fewer are said */
    KN_EXPORT_FEW = 20   /* people of a model: the same */
};

/* The model itself, in memory; free with kn_model_free. points: as the option. */
kn_status kn_export_model(kn_ctx *ctx, const kn_model *model, int points, kn_model **out,
                          kn_export_info *info);

#endif
