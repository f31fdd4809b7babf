/* Implements site_lookup.h: compares levels of the batch columns by their text. A site that is
 * neither in the training sample nor adapted is unknown. */
#include "commands/score/site_lookup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/table/columns.h"
#include "data/table/levels.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

void kn_site_lookup_clear(kn_site_lookup *a)
{
    kn_free(a->site);
    kn_free(a->adapted);
    kn_free(a->without_site);
    *a = (kn_site_lookup){0};
}

kn_status kn_site_lookup_levels(kn_ctx *ctx, const kn_model *m, const kn_data *data, ptrdiff_t row,
                                char **level, bool *whole)
{
    char text[KN_LEVEL_SIZE];
    kn_status status = KN_OK;
    *whole = true;
    for (ptrdiff_t k = 0; k < m->batch.M; k++)
        level[k] = NULL;
    for (ptrdiff_t k = 0; k < m->batch.M && status == KN_OK; k++) {
        const kn_covariate *c = &m->encoding.column[m->batch.column[k]];
        const char *cell =
            kn_table_cell(data->covariates, row, kn_column_find(data->covariates, c->name));
        if (kn_text_is_missing(cell) || !kn_level_of(cell, c->levels.numbers, text))
            *whole = false;
        else
            status = kn_text_copy(ctx, text, strlen(text), &level[k]);
    }
    return status;
}

/* Free M texts, and set them to NULL. */
static void levels_clear(char **level, ptrdiff_t M)
{
    for (ptrdiff_t k = 0; k < M; k++) {
        kn_free(level[k]);
        level[k] = NULL;
    }
}

/* Set the adapted site of participants who are at no training site. level: work space of M
 * pointers. */
static kn_status find_adapted(kn_ctx *ctx, const kn_model *m, const kn_data *data,
                              const kn_sample *p, char **level, kn_site_lookup *a)
{
    kn_status status = KN_OK;
    bool whole;
    for (ptrdiff_t i = 0; m->adapted.n > 0 && i < a->n && status == KN_OK; i++) {
        if (a->site[i] >= 0)
            continue;
        status = kn_site_lookup_levels(ctx, m, data, p->covariate_row[i], level, &whole);
        if (status == KN_OK && whole)
            a->adapted[i] = (int)kn_adapted_find(&m->adapted, level);
        levels_clear(level, m->batch.M);
    }
    return status;
}

void kn_site_lookup_name(char *const *level, ptrdiff_t M, char *out, size_t size)
{
    size_t used = 0;
    for (ptrdiff_t k = 0; k < M && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", k > 0 ? " " : "",
                                 level[k] ? kn_clipped(level[k]).text : "n/a");
}

/* A training level that differs from one of the given M levels in upper and lower case only; NULL:
 * none. */
static const char *known_as(const kn_model *m, char *const *level)
{
    for (ptrdiff_t k = 0; k < m->batch.M; k++) {
        const kn_levels *known = &m->encoding.column[m->batch.column[k]].levels;
        for (ptrdiff_t l = 0; level[k] && l < known->n; l++)
            if (strcmp(known->text[l], level[k]) != 0 && strcasecmp(known->text[l], level[k]) == 0)
                return known->text[l];
    }
    return NULL;
}

/* List the names of unknown sites, each once, with a training level that differs in case only:
 * "leeds; the model has Leeds". level: work space of M pointers. */
static kn_status describe_unknown(kn_ctx *ctx, const kn_model *m, const kn_data *data,
                                  const kn_sample *p, const kn_site_lookup *a, char **level,
                                  kn_listing *list)
{
    kn_status status = KN_OK;
    char item[256], seen[KN_NAMES_LISTED][256];
    ptrdiff_t n = 0;
    bool whole;
    for (ptrdiff_t i = 0; i < a->n && status == KN_OK; i++) {
        ptrdiff_t at = 0;
        if (!a->without_site[i] || a->adapted[i] >= 0)
            continue;
        status = kn_site_lookup_levels(ctx, m, data, p->covariate_row[i], level, &whole);
        if (status == KN_OK) {
            const char *same = known_as(m, level);
            kn_site_lookup_name(level, m->batch.M, item, sizeof item);
            if (same && strlen(item) + sizeof(kn_clip) + 16 < sizeof item)
                sprintf(item + strlen(item), "; the model has %s", kn_clipped(same).text);
        }
        levels_clear(level, m->batch.M);
        while (at < n && strcmp(seen[at], item) != 0)
            at++;
        if (at < n || status != KN_OK)
            continue;
        if (!list->closed)
            kn_listing_add(list, item);
        if (n < KN_NAMES_LISTED)
            memcpy(seen[n++], item, sizeof item);
    }
    return status;
}

/* True if {unseen=prior} applies and the model has a site prior: unknown sites are scored with
 * it. */
static bool is_wide_enough(const kn_settings *s, const kn_model *m)
{
    return s->unseen == KN_UNSEEN_PRIOR && m->sites.T > 0 && m->sites.between;
}

/* Error or warning about participants at unknown sites, by {unseen} and what the model knows.
 * level: work space of M pointers. */
static kn_status refuse_or_warn_of_unknown(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                                           const kn_data *data, const kn_sample *p, char **level,
                                           const kn_site_lookup *a)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    const char *path = kn_table_path(data->covariates), *word = a->n_unknown == 1 ? "is" : "are";
    const char *noun = a->n_unknown == 1 ? "participant" : "participants";
    char what[128];
    kn_status status = describe_unknown(ctx, m, data, p, a, level, &list);
    if (status != KN_OK)
        return status;
    snprintf(what, sizeof what, "%s", kn_clipped(m->encoding.column[m->batch.column[0]].name).text);
    if (m->sites.T == 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %td %s %s from a %s that is not in the training data (%s), and the "
                       "model has no estimate of between-site variance; fit again with folds and "
                       "at least two participants per site",
                       path, a->n_unknown, noun, word, what, list.text);
    if (s->unseen != KN_UNSEEN_PRIOR)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %td %s %s from a %s that is not in the training data (%s); use "
                       "'kronorm adapt' with at least 5 healthy controls from there%s",
                       path, a->n_unknown, noun, word, what, list.text,
                       m->sites.between
                           ? ", or {unseen=prior}, which needs no controls but is less sensitive"
                           : "");
    if (!m->sites.between)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: %td %s %s from a %s that is not in the training data (%s), and the "
                       "model has only one site, so between-site variance is unknown; use 'kronorm "
                       "adapt' with at least 5 healthy controls from there",
                       path, a->n_unknown, noun, word, what, list.text);
    kn_log(ctx, KN_LOG_WARNING,
           "%s: %td %s %s from a %s that is not in the training data (%s) and %s scored with the "
           "average site and between-site variance, which is less sensitive; use 'kronorm adapt' "
           "if you have healthy controls from there",
           path, a->n_unknown, noun, word, what, list.text, word);
    return KN_OK;
}

/* Set the site of every participant, and count adapted and unknown ones. level: work space of M
 * pointers. The caller clears *out. */
static kn_status find_sites(kn_ctx *ctx, const kn_model *m, const kn_data *data, const kn_sample *p,
                            char **level, kn_site_lookup *out)
{
    kn_status status;
    kn_view raw = kn_view_cols(p->X.data, p->n, p->X.cols);
    *out = (kn_site_lookup){.n = p->n};
    KN_TRY(kn_alloc_int(ctx, p->n, &out->site));
    KN_TRY(kn_alloc_int(ctx, p->n, &out->adapted));
    KN_TRY(kn_alloc_bool(ctx, p->n, &out->without_site));
    kn_site_levels_sites(&m->batch, raw, out->site);
    for (ptrdiff_t i = 0; i < p->n; i++)
        out->adapted[i] = -1;
    KN_TRY(find_adapted(ctx, m, data, p, level, out));
    for (ptrdiff_t i = 0; i < p->n; i++) {
        bool unknown = out->adapted[i] < 0 && kn_site_levels_is_new(&m->batch, &m->x, raw, i);
        out->n_adapted += out->adapted[i] >= 0;
        out->n_unknown += unknown;
        out->without_site[i] = unknown || out->adapted[i] >= 0;
    }
out:
    return status;
}

kn_status kn_site_lookup_new(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                             const kn_data *data, const kn_sample *p, bool unknown_ok,
                             kn_site_lookup *out)
{
    kn_status status;
    void *level = NULL;
    ptrdiff_t sums = 0;
    *out = (kn_site_lookup){.n = p->n};
    if (m->batch.M == 0)
        return KN_OK;
    KN_TRY(kn_alloc(ctx, m->batch.M, sizeof(char *), &level));
    KN_TRY(find_sites(ctx, m, data, p, level, out));
    for (ptrdiff_t i = 0; i < p->n; i++)
        sums += !out->without_site[i] && out->site[i] < 0;
    if (sums > 0 && m->batch.M > 1)
        kn_log(ctx, KN_LOG_INFO,
               "%s: %td participants have a combination of batch levels that is not in the "
               "training data; the effects of their levels are added",
               kn_table_path(data->covariates), sums);
    if (out->n_unknown > 0 && !unknown_ok)
        status = refuse_or_warn_of_unknown(ctx, s, m, data, p, level, out);
out:
    kn_free(level);
    if (status != KN_OK)
        kn_site_lookup_clear(out);
    return status;
}

kn_status kn_site_lookup_check(kn_ctx *ctx, const kn_settings *s, const kn_model *m,
                               const kn_data *data, const kn_sample *p)
{
    kn_status status = KN_OK;
    kn_site_lookup a = {0};
    void *level = NULL;
    if (m->batch.M == 0 || is_wide_enough(s, m))
        return KN_OK;
    KN_TRY(kn_alloc(ctx, m->batch.M, sizeof(char *), &level));
    KN_TRY(find_sites(ctx, m, data, p, level, &a));
    if (a.n_unknown > 0)
        status = refuse_or_warn_of_unknown(ctx, s, m, data, p, level, &a);
out:
    kn_free(level);
    kn_site_lookup_clear(&a);
    return status;
}

kn_site_shift kn_site_lookup_effect(const kn_site_lookup *a, const kn_model *m, ptrdiff_t i,
                                    ptrdiff_t j)
{
    if (!a->without_site || !a->without_site[i])
        return (kn_site_shift){0, 0, 1};
    int s = a->adapted[i];
    if (s >= 0)
        return (kn_site_shift){kn_at(m->adapted.offset, j, s), kn_at(m->adapted.offset_var, j, s),
                               kn_at(m->adapted.scale, j, s)};
    return (kn_site_shift){m->sites.mu[j], m->sites.tau2[j], 1};
}

/* ---- ranges of the controls ---- */

typedef struct range {
    double low, high; /* NaN: empty */
} range;

/* Range of covariate c among the participants scored at adapted site s; NaN without any. */
static range find_range(const kn_site_lookup *a, const kn_sample *p, ptrdiff_t s, ptrdiff_t c)
{
    range r = {NAN, NAN};
    for (ptrdiff_t i = 0; i < a->n; i++)
        if (a->adapted[i] == s) {
            r.low = fmin(r.low, kn_at(p->X, i, c)); /* fmin and fmax ignore NaN */
            r.high = fmax(r.high, kn_at(p->X, i, c));
        }
    return r;
}

/* Proportion of range `whole` that range `by` covers; 1 if either is unknown. */
static double covered_proportion(range whole, range by)
{
    double length = whole.high - whole.low;
    double common = fmin(whole.high, by.high) - fmax(whole.low, by.low);
    if (isnan(common))
        return 1;
    return length > 0 ? fmax(common, 0) / length : common >= 0;
}

void kn_site_lookup_warn_ranges(kn_ctx *ctx, const kn_site_lookup *a, const kn_model *m,
                                const kn_sample *p)
{
    const kn_adapted *sites = &m->adapted;
    for (ptrdiff_t c = 0; a->n_adapted > 0 && c < sites->C; c++) {
        kn_listing list = {.limit = KN_NAMES_LISTED};
        char name[256];
        for (ptrdiff_t s = 0; s < sites->n; s++) {
            range by = {sites->low[s * sites->C + c], sites->high[s * sites->C + c]};
            if (isnan(by.low) || covered_proportion(find_range(a, p, s, c), by) >= KN_SITE_COVERED)
                continue;
            kn_site_lookup_name(sites->level + s * sites->M, sites->M, name, sizeof name);
            kn_listing_add(&list, name);
        }
        if (list.n > 0)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s: the controls of %s cover less than half of the range of the participants "
                   "scored there, so the site effect beyond their range is unknown",
                   kn_clipped(m->encoding.column[c].name).text, list.text);
    }
}
