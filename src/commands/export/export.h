/* kn_export: makes a de-identified model, without any value of one participant [METHOD 8h]
 *
 * R0* U of the process is interpolated from synthetic points (cov/synthetic_points.h,
 * cov/interpolate_covariance.h), with more points until the error is within KN_EXPORT_ERROR or the
 * maximum is reached. The error is that of the mean and predicted standard deviation of every
 * response between the two processes, over the training sample and over KN_EXPORT_BETWEEN other
 * points.
 *
 * Then the leverage of participants is bounded [gp/limit_leverage.h]: first by as few directions as
 * the error allows, then by noise, whose effect on the predictions is measured apart. */
#ifndef KN_COMMANDS_EXPORT_EXPORT_H
#define KN_COMMANDS_EXPORT_EXPORT_H

#include "base/options/options.h"
#include "model/model.h"

#define KN_EXPORT_ERROR  0.01  /* in standard deviations of the response */
#define KN_EXPORT_CUT    1e-6  /* directions with r/delta below this are omitted ... */
#define KN_EXPORT_COARSE 1e-2  /* coarsest cut that is tried to lower the leverage */
#define KN_EXPORT_FINEST 1e-10 /* ... if the error allows; else divided by 100, down to this */

enum {
    KN_EXPORT_BETWEEN = 1000,
    KN_EXPORT_LEVEL = 5, /* participants of a level: fewer cause a warning */
    KN_EXPORT_FEW = 20   /* participants of a model: the same */
};

/* Makes the de-identified model in memory; *out is owned by the caller (kn_model_free). points and
 * leverage: as the options. KN_ERR_DATA if the error stays too large, KN_ERR_ARGUMENT if the model
 * or method cannot be exported. */
kn_status kn_export_model(kn_ctx *ctx, const kn_model *model, int points, double leverage,
                          kn_model **out, kn_export_info *info);

#endif
