/* Implements deidentify.h. Options that name files or participants leave the record. */
#include "model/deidentify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/options.h"
#include "cov/synthetic_points.h"
#include "model/file/file.h"
#include "norm/reference/deidentify.h"

/* Round the ranges of all numeric covariates outward, in place: of the design, of the adapted sites
 * and of the noise scale. The ends of an exact range are values of two participants. */
static void round_ranges(kn_model *m)
{
    for (ptrdiff_t c = 0; c < m->x.C; c++) {
        kn_design_column *k = &m->x.column[c];
        if (k->levels == 0 && !k->constant)
            kn_round_outward(&k->min, &k->max);
    }
    for (ptrdiff_t i = 0; i < m->adapted.n * m->adapted.C;
         i++) /* relative to the training range, rounded above */
        if (isfinite(m->adapted.low[i]))
            kn_adapted_round(&m->x, i % m->adapted.C, &m->adapted.low[i], &m->adapted.high[i]);
    for (ptrdiff_t f = 0; f < m->calibration.columns.F; f++) {
        kn_noise_scale_column *k = &m->calibration.columns.column[f];
        if (k->kind == KN_SCALE_LINE || k->kind == KN_SCALE_SQUARE)
            kn_round_outward(&k->low, &k->high);
    }
}

kn_status kn_model_deidentify_change(kn_ctx *ctx, kn_model *m)
{
    if (m->change.distribution.T == 0)
        return KN_OK;
    if (isfinite(m->change.interval[0]))
        kn_round_outward(&m->change.interval[0], &m->change.interval[1]);
    return kn_change_reference_deidentify(ctx, &m->change);
}

/* True if the fit option of this name may stay in a de-identified model. Options with free text may
 * not, since they can name paths, ids or rows; unknown options may not either. */
static bool is_public_option(const char *key)
{
    for (int i = 0; i < KN_OPTION_ROWS; i++)
        if (strcmp(kn_option_rows[i].key, key) == 0 && (kn_option_rows[i].kept & KN_KEPT_MODEL))
            return kn_option_rows[i].type != KN_ROW_TEXT;
    return false;
}

/* Remove from m->options (JSON text) every option that is_public_option() refuses. Nothing if the
 * model has no options. KN_ERR_MEMORY if the new text cannot be made. */
static kn_status filter_options(kn_ctx *ctx, kn_model *m)
{
    const char *key;
    json_t *value, *given = m->options ? json_loads(m->options, 0, NULL) : NULL;
    json_t *kept = json_object();
    if (!m->options)
        goto out;
    json_object_foreach(given, key, value) if (is_public_option(key))
        json_object_set(kept, key, value);
    free(m->options);
    m->options = json_dumps(kept, JSON_COMPACT);
    json_decref(given);
    if (!m->options) {
        json_decref(kept);
        return kn_fail(ctx, KN_ERR_MEMORY, "out of memory for the options");
    }
out:
    json_decref(kept);
    return KN_OK;
}

kn_status kn_model_deidentify(kn_ctx *ctx, const kn_model *model, kn_model **out)
{
    kn_status status;
    void *bytes = NULL;
    ptrdiff_t n = 0;
    kn_model *m = NULL;
    kn_model same = *model; /* copied through the bytes of its file, which is a deep copy */
    *out = NULL;
    same.ids = NULL;
    same.row_order = NULL;
    same.group_name = NULL;
    same.group_rule = KN_GROUP_NONE;
    same.group_column = NULL;
    same.fit = NULL;
    KN_TRY(kn_model_write_bytes(ctx, &same, &bytes, &n));
    KN_TRY(kn_model_parse(ctx, "the model", bytes, n, &m));
    m->deidentified = true;
    m->hash = 0;
    round_ranges(m);
    KN_TRY(kn_reference_deidentify(ctx, &m->reference));
    KN_TRY(kn_model_deidentify_change(ctx, m));
    KN_TRY(filter_options(ctx, m));
    *out = m;
    m = NULL;
out:
    kn_free(bytes);
    kn_model_free(m);
    return status;
}
