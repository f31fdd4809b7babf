/* Reference section of a model file. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/fit_info_json.h"
#include "norm/reference/deidentify.h"

/* Parameters of a GEV distribution as a new JSON object; JSON null if there is none (has =
 * false). */
static json_t *gev_json(bool has, kn_gev g)
{
    return has ? json_pack("{s:o s:o s:o}", "shape", kn_json_number(g.xi), "location",
                           kn_json_number(g.mu), "scale", kn_json_number(g.sigma))
               : json_null();
}

/* Result of the test whether adjacent rows of the training table resemble each other, as a new JSON
 * object. */
static json_t *neighbours_json(const kn_resemblance *n)
{
    return json_pack("{s:I s:o s:o s:o s:b}", "pairs", (json_int_t)n->pairs, "correlation",
                     kn_json_number(n->correlation), "chance", kn_json_number(n->chance), "limit",
                     kn_json_number(n->limit), "resemble", n->resemble);
}

/* New JSON object with, for each statistic of a de-identified reference, the number of participants
 * behind its quantiles. */
static json_t *quantiles_json(const kn_reference *r)
{
    json_t *j = json_object();
    for (int k = 0; k < KN_REFERENCE_KINDS; k++)
        if (r->quantiles[k].n > 0)
            json_object_set_new(j, kn_reference_kinds[k].name,
                                json_integer((json_int_t)r->quantiles[k].n));
    return j;
}

json_t *kn_reference_to_json(const kn_reference *r)
{
    json_t *j = json_pack("{s:I s:o s:o s:o s:b s:o s:b}", "samples", (json_int_t)r->n, "top",
                          kn_json_number(r->top), "gev", gev_json(r->has_gev, r->gev), "gev_se",
                          gev_json(r->has_gev, r->gev_se), "at_bound", r->gev_at_bound, "gev_loo",
                          gev_json(r->has_loo_gev, r->loo_gev), "deviance", r->has_deviance);
    if (j && r->neighbours.pairs > 0)
        json_object_set_new(j, "neighbours", neighbours_json(&r->neighbours));
    if (r->own_deviance)
        json_object_set_new(j, "own_deviance", json_true());
    if (r->shared)
        json_object_set_new(j, "quantiles", quantiles_json(r));
    if (r->mean_z) {
        json_object_set_new(j, "units", json_integer((json_int_t)r->units));
        json_object_set_new(j, "fdr_share", kn_json_number(r->fdr_proportion));
    }
    return j;
}

/* Add the arrays deviance<suffix>_Q (T x K), _lam (K) and _psi (T) of one whole-map deviance,
 * unless it is the method's own. own: also its values of the reference participants, _ref. */
static kn_status add_deviance(kn_ctx *ctx, const kn_deviance *d, const char *suffix, bool own,
                              kn_st_writer *w)
{
    kn_status status = KN_OK;
    char name[64];
#define NAME(stem) (snprintf(name, sizeof name, "deviance%s_%s", suffix, stem), name)
    if (d->psi) { /* NULL if the deviance is the model's own */
        KN_TRY(kn_st_add_mat(ctx, w, NAME("Q"), d->Q, KN_ST_F64));
        KN_TRY(kn_st_add_doubles(ctx, w, NAME("lam"), d->lam, d->K));
        KN_TRY(kn_st_add_doubles(ctx, w, NAME("psi"), d->psi, d->T));
    }
    if (own)
        KN_TRY(kn_st_add_doubles(ctx, w, NAME("ref"), d->ref, d->n_ref));
#undef NAME
out:
    return status;
}

/* Add the quantiles of each statistic of a de-identified reference, and its deviances without
 * reference values. */
static kn_status add_quantiles(kn_ctx *ctx, const kn_reference *r, kn_st_writer *w)
{
    kn_status status = KN_OK;
    for (int k = 0; k < KN_REFERENCE_KINDS; k++)
        if (r->quantiles[k].K > 0)
            KN_TRY(kn_st_add_doubles(ctx, w, kn_reference_kinds[k].name, r->quantiles[k].knot,
                                     r->quantiles[k].K));
    if (r->has_deviance) {
        KN_TRY(add_deviance(ctx, &r->deviance, "", false, w));
        KN_TRY(add_deviance(ctx, &r->deviance_noise, "_noise", false, w));
    }
out:
    return status;
}

kn_status kn_reference_add(kn_ctx *ctx, const kn_reference *r, ptrdiff_t T, bool known,
                           kn_st_writer *w)
{
    kn_status status = KN_OK;
    if (r->n == 0)
        return KN_OK;
    if (r->shared)
        return add_quantiles(ctx, r, w);
    if (r->sample)
        KN_TRY(kn_st_add(ctx, w, "reference_sample", KN_ST_I64, 1, &r->n, r->sample));
    KN_TRY(kn_st_add_doubles(ctx, w, "extreme_z", r->statistic, r->n));
    if (r->mean_z) {
        KN_TRY(kn_st_add_doubles(ctx, w, "mean_z", r->mean_z, r->n));
        KN_TRY(kn_st_add_doubles(ctx, w, "n_low", r->negative, r->n));
        KN_TRY(kn_st_add_doubles(ctx, w, "n_high", r->positive, r->n));
    }
    KN_TRY(kn_st_add_doubles(ctx, w, "extrapolation", r->extrapolation, r->n));
    if (r->y_sum)
        KN_TRY(kn_st_add_doubles(ctx, w, "y_sum", r->y_sum, r->n));
    if (r->loo_statistic)
        KN_TRY(kn_st_add_doubles(ctx, w, "extreme_z_loo", r->loo_statistic, r->n));
    if (r->has_deviance) {
        KN_TRY(add_deviance(ctx, &r->deviance, "", true, w));
        KN_TRY(add_deviance(ctx, &r->deviance_noise, "_noise", true, w));
    }
    if (r->z && known) { /* a training participant that is scored again gets these */
        ptrdiff_t shape[2] = {r->n, T};
        KN_TRY(kn_st_add(ctx, w, "z_cv", KN_ST_F32, 2, shape, r->z));
    }
out:
    return status;
}

/* Read one whole-map deviance for T responses, arrays deviance<suffix>_..., and prepare it. Its
 * n_ref reference values are read too, unless they are already set from quantiles. */
static kn_status read_deviance(kn_ctx *ctx, const kn_st_file *f, const char *suffix, ptrdiff_t T,
                               ptrdiff_t n_ref, kn_deviance *d)
{
    kn_status status;
    char name[64];
    d->T = T;
#define NAME(stem) (snprintf(name, sizeof name, "deviance%s_%s", suffix, stem), name)
    KN_TRY(kn_st_read_numbers(ctx, f, NAME("lam"), -1, false, &d->lam, &d->K));
    KN_TRY(kn_st_read_finite(ctx, f, NAME("Q"), T, d->K, &d->Q));
    KN_TRY(kn_st_read_positive(ctx, f, NAME("psi"), T, false, &d->psi));
    d->n_ref = n_ref;
    if (!d->ref)
        KN_TRY(kn_st_read_numbers(ctx, f, NAME("ref"), n_ref, true, &d->ref, &d->n_ref));
#undef NAME
    KN_TRY(kn_deviance_prepare(ctx, d));
out:
    return status;
}

/* Make a deviance of the method's own density from its n_ref reference values alone: those in
 * d->ref, or else the array `name` of the file. */
static kn_status read_own_deviance(kn_ctx *ctx, const kn_st_file *f, const char *name,
                                   ptrdiff_t n_ref, kn_deviance *d)
{
    kn_status status = KN_OK;
    double *ref = d->ref;
    d->ref = NULL;
    if (!ref)
        KN_TRY(kn_st_read_numbers(ctx, f, name, n_ref, true, &ref, NULL));
    KN_TRY(kn_deviance_of_values(ctx, ref, n_ref, d));
out:
    kn_free(ref);
    return status;
}

/* Read the parameters of a GEV distribution; *has is false if j is null. KN_ERR_FORMAT for
 * impossible parameters. */
static kn_status read_gev(kn_ctx *ctx, const kn_st_file *f, json_t *j, bool *has, kn_gev *out)
{
    *has = json_is_object(j);
    if (!*has)
        return KN_OK;
    *out = (kn_gev){kn_json_value(j, "shape", NAN), kn_json_value(j, "location", NAN),
                    kn_json_value(j, "scale", NAN)};
    if (!isfinite(out->xi) || !isfinite(out->mu) || !(out->sigma > 0))
        return kn_st_bad(ctx, f, "'gev'");
    return KN_OK;
}

/* Read the result of the test whether adjacent rows of the training table resemble each other; out
 * is unchanged if the test was not possible (j NULL). KN_ERR_FORMAT for impossible numbers. */
static kn_status read_neighbours(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_resemblance *out)
{
    if (!j)
        return KN_OK;
    *out = (kn_resemblance){.pairs = (ptrdiff_t)json_integer_value(json_object_get(j, "pairs")),
                            .correlation = kn_json_value(j, "correlation", NAN),
                            .chance = kn_json_value(j, "chance", NAN),
                            .limit = kn_json_value(j, "limit", NAN),
                            .resemble = json_is_true(json_object_get(j, "resemble"))};
    if (out->pairs < 1 || !isfinite(out->correlation) || !isfinite(out->chance) ||
        !isfinite(out->limit))
        return kn_st_bad(ctx, f, "'neighbours'");
    return KN_OK;
}

/* Read mean_z and the counts of low and high responses (r->n each), the number of independent units
 * and the proportion of participants with an FDR finding. */
static kn_status read_burden(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_reference *r)
{
    kn_status status = KN_OK;
    json_t *units = json_object_get(j, "units");
    r->fdr_proportion = kn_json_value(j, "fdr_share", NAN);
    r->units = (ptrdiff_t)json_integer_value(units);
    if (r->units < 1 || r->units > r->n)
        return kn_st_bad(ctx, f, "'units'");
    KN_TRY(kn_st_read_numbers(ctx, f, "mean_z", r->n, true, &r->mean_z, NULL));
    KN_TRY(kn_st_read_numbers(ctx, f, "n_low", r->n, true, &r->negative, NULL));
    KN_TRY(kn_st_read_numbers(ctx, f, "n_high", r->n, true, &r->positive, NULL));
out:
    return status;
}

/* Read the quantiles of one statistic (kind), and spread them to values of r. `participants` holds
 * the number of participants behind them; NULL: no such statistic. KN_ERR_FORMAT unless they ascend
 * and have the expected number. */
static kn_status read_quantiles_of(kn_ctx *ctx, const kn_st_file *f, json_t *participants, int kind,
                                   kn_reference *r)
{
    kn_status status;
    kn_quantiles *q = &r->quantiles[kind];
    const char *name = kn_reference_kinds[kind].name;
    json_int_t n = json_integer_value(participants);
    if (!participants)
        return KN_OK;
    if (n < 1 || n > r->n)
        return kn_st_bad(ctx, f, "'quantiles'");
    q->n = (ptrdiff_t)n;
    q->K = kn_quantiles_count(q->n);
    if (q->K > 0)
        KN_TRY(kn_st_read_numbers(ctx, f, name, q->K, true, &q->knot, NULL));
    for (ptrdiff_t k = 0; k < q->K; k++)
        if (!isfinite(q->knot[k]) || (k > 0 && q->knot[k] < q->knot[k - 1]))
            return kn_st_bad(ctx, f, name);
    KN_TRY(kn_reference_spread(ctx, r, kind));
out:
    return status;
}

/* Read all quantiles of a de-identified reference into r. KN_ERR_FORMAT if a statistic that must
 * exist is absent, or statistics that belong together do not come together. */
static kn_status read_quantiles(kn_ctx *ctx, const kn_st_file *f, json_t *j, kn_reference *r)
{
    enum {
        MAX_COUNT = 1000000
    }; /* limit for n, since values are recomputed and no array in the file has that length */
    kn_status status = KN_OK;
    json_t *counts = json_object_get(j, "quantiles"), *units = json_object_get(j, "units");
    r->shared = true;
    r->units = (ptrdiff_t)json_integer_value(units);
    r->fdr_proportion = kn_json_value(j, "fdr_share", NAN);
    if (!json_is_object(counts) || r->n > MAX_COUNT || r->units < 1 || r->units > r->n)
        return kn_st_bad(ctx, f, "'quantiles'");
    for (int k = 0; k < KN_REFERENCE_KINDS; k++)
        KN_TRY(
            read_quantiles_of(ctx, f, json_object_get(counts, kn_reference_kinds[k].name), k, r));
    bool burden = r->mean_z != NULL;
    if (!r->statistic || !r->extrapolation || (r->negative != NULL) != burden ||
        (r->positive != NULL) != burden ||
        (r->deviance.ref != NULL) != (r->deviance_noise.ref != NULL) ||
        (r->deviance.ref != NULL) != json_is_true(json_object_get(j, "deviance")))
        status = kn_st_bad(ctx, f, "'quantiles'");
out:
    return status;
}

/* Read the statistics of each reference participant into r (r->n each), and which of the N training
 * participants they are. */
static kn_status read_participants(kn_ctx *ctx, const kn_st_file *f, json_t *j,
                                   kn_reference_for sizes, kn_reference *r)
{
    kn_status status = KN_OK;
    if (r->n < sizes.N) {
        ptrdiff_t count = r->n;
        KN_TRY(kn_st_read_indices(ctx, f, "reference_sample", sizes.N, &r->sample, &count));
    }
    KN_TRY(kn_st_read_numbers(ctx, f, "extreme_z", r->n, true, &r->statistic, NULL));
    KN_TRY(read_burden(ctx, f, j, r));
    KN_TRY(kn_st_read_numbers(ctx, f, "extrapolation", r->n, true, &r->extrapolation, NULL));
    if (kn_st_find(f, "y_sum"))
        KN_TRY(kn_st_read_numbers(ctx, f, "y_sum", r->n, true, &r->y_sum, NULL));
    if (kn_st_find(f, "extreme_z_loo"))
        KN_TRY(kn_st_read_numbers(ctx, f, "extreme_z_loo", r->n, true, &r->loo_statistic, NULL));
out:
    return status;
}

kn_status kn_reference_read(kn_ctx *ctx, const kn_st_file *f, json_t *record,
                            kn_reference_for sizes, kn_reference *r)
{
    kn_status status = KN_OK;
    json_t *j = json_object_get(record, "reference");
    json_int_t n = json_integer_value(json_object_get(j, "samples"));
    if (!json_is_object(j) || n < 0 || n > sizes.N)
        return kn_st_bad(ctx, f, "'reference'");
    r->top = kn_json_value(j, "top", NAN);
    if (!(r->top > 0 && r->top <= 1))
        return kn_st_bad(ctx, f, "'reference'");
    if (n == 0)
        return KN_OK;
    r->n = (ptrdiff_t)n;
    KN_TRY(sizes.shared ? read_quantiles(ctx, f, j, r) : read_participants(ctx, f, j, sizes, r));
    KN_TRY(read_gev(ctx, f, json_object_get(j, "gev"), &r->has_gev, &r->gev));
    KN_TRY(read_gev(ctx, f, json_object_get(j, "gev_loo"), &r->has_loo_gev, &r->loo_gev));
    json_t *se = json_object_get(j, "gev_se"); /* NaN if the fit is not regular */
    r->gev_se = (kn_gev){kn_json_value(se, "shape", NAN), kn_json_value(se, "location", NAN),
                         kn_json_value(se, "scale", NAN)};
    r->gev_at_bound = json_is_true(json_object_get(j, "at_bound"));
    KN_TRY(read_neighbours(ctx, f, json_object_get(j, "neighbours"), &r->neighbours));
    bool has = json_is_true(json_object_get(j, "deviance"));
    r->own_deviance = json_is_true(json_object_get(j, "own_deviance"));
    if (has ? r->own_deviance != sizes.own_deviance : r->own_deviance)
        return kn_st_bad(ctx, f, "'own_deviance'");
    if (has && r->own_deviance) {
        KN_TRY(read_own_deviance(ctx, f, "deviance_ref", r->n, &r->deviance));
        KN_TRY(read_own_deviance(ctx, f, "deviance_noise_ref", r->n, &r->deviance_noise));
        r->has_deviance = true;
    } else if (has) {
        KN_TRY(read_deviance(ctx, f, "", sizes.T, r->n, &r->deviance));
        KN_TRY(read_deviance(ctx, f, "_noise", sizes.T, r->n, &r->deviance_noise));
        r->has_deviance = true;
    }
    const kn_st_tensor *z = sizes.shared ? NULL : kn_st_find(f, "z_cv");
    if (z) {
        if (z->type != KN_ST_F32 || z->ndim != 2 || z->shape[0] != r->n || z->shape[1] != sizes.T)
            return kn_st_bad(ctx, f, "z_cv");
        KN_TRY(kn_alloc_f(ctx, z->count, &r->z));
        KN_TRY(kn_st_values(ctx, f, z, 0, z->count, r->z));
    }
out:
    return status;
}
