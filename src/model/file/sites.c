/* Site section of a model file. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "model/fit_info_json.h"

json_t *kn_sites_to_json(const kn_sites *s)
{
    if (s->T == 0)
        return json_null();
    return json_pack("{s:i s:b s:o s:o s:o s:o s:o s:o}", "sites", s->S, "between", s->between,
                     "weight", kn_json_number(s->S1), "kurt", kn_json_number(s->kurt),
                     "T_eff_offset", kn_json_number(s->T_eff_offset), "T_eff_scale",
                     kn_json_number(s->T_eff_scale), "v_a", kn_json_number(s->v_a), "v_b",
                     kn_json_number(s->v_b));
}

kn_status kn_sites_add(kn_ctx *ctx, const kn_sites *s, kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (s->T == 0)
        return KN_OK;
    KN_TRY(kn_st_add_doubles(ctx, w, "site_mu", s->mu, s->T));
    KN_TRY(kn_st_add_doubles(ctx, w, "site_tau2", s->tau2, s->T));
    KN_TRY(kn_st_add_doubles(ctx, w, "site_w", s->w, s->T));
    KN_TRY(kn_st_add_doubles(ctx, w, "site_w_scale", s->w_scale, s->T));
out:
    return status;
}

/* True if low <= x <= high; false for NaN. */
static bool is_within(double x, double low, double high)
{
    return x >= low && x <= high; /* false for NaN */
}

/* True if the scalars of the site prior are in a range that kn_sites_finish() can have produced for
 * s->T responses. */
static bool is_sound(const kn_sites *s)
{
    double T = (double)s->T;
    return s->S >= 1 && is_within(s->S1, 1, INT_MAX) && is_within(s->kurt, 0, DBL_MAX) &&
           is_within(s->T_eff_offset, 1, T) && is_within(s->T_eff_scale, 1, T) &&
           is_within(s->v_a, DBL_MIN, DBL_MAX) && is_within(s->v_b, DBL_MIN, DBL_MAX) &&
           (s->S > 1 || !s->between);
}

/* Read the mean site effect of each response (T, standardised units) into out->mu; KN_ERR_FORMAT
 * unless all are finite. */
static kn_status read_mu(kn_ctx *ctx, const kn_st_file *f, kn_sites *out)
{
    kn_status status = kn_st_read_doubles(ctx, f, "site_mu", out->T, &out->mu, NULL);
    for (ptrdiff_t j = 0; status == KN_OK && j < out->T; j++)
        if (!isfinite(out->mu[j]))
            return kn_st_bad(ctx, f, "site_mu");
    return status;
}

kn_status kn_sites_read(kn_ctx *ctx, const kn_st_file *f, json_t *record, ptrdiff_t T,
                        kn_sites *out)
{
    kn_status status;
    json_t *j = json_object_get(record, "sites"), *between = json_object_get(j, "between");
    json_int_t S = json_integer_value(json_object_get(j, "sites"));
    if (!j || json_is_null(j))
        return KN_OK;
    *out = (kn_sites){.T = T,
                      .S = S > 0 && S <= INT_MAX ? (int)S : 0,
                      .between = json_is_true(between),
                      .S1 = kn_json_value(j, "weight", NAN),
                      .kurt = kn_json_value(j, "kurt", NAN),
                      .T_eff_offset = kn_json_value(j, "T_eff_offset", NAN),
                      .T_eff_scale = kn_json_value(j, "T_eff_scale", NAN),
                      .v_a = kn_json_value(j, "v_a", NAN),
                      .v_b = kn_json_value(j, "v_b", NAN)};
    if (!json_is_object(j) || !json_is_boolean(between) || !is_sound(out)) {
        status = kn_st_bad(ctx, f, "'sites'");
        goto out;
    }
    KN_TRY(read_mu(ctx, f, out));
    KN_TRY(kn_st_read_positive(ctx, f, "site_tau2", T, true, &out->tau2));
    KN_TRY(kn_st_read_positive(ctx, f, "site_w", T, true, &out->w));
    KN_TRY(kn_st_read_positive(ctx, f, "site_w_scale", T, true, &out->w_scale));
out:
    if (status != KN_OK)
        kn_sites_clear(out);
    return status;
}
