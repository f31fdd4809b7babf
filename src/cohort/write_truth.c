/* Writes truth/: the parameters that the cohort was simulated with. Tests compare results of a fit
 * with them. */
#include <math.h>
#include <stdio.h>

#include "cohort/internal.h"
#include "cohort/output_folder.h"
#include "io/table/table.h"

/* Fills a table of `cols` columns. */
typedef kn_status (*fill_fn)(kn_ctx *ctx, const kn_cohort *c, kn_table_writer *w);

/* Writes the cells of a NULL-terminated list as one row of a table. */
static kn_status put_row(kn_ctx *ctx, kn_table_writer *w, const char *const *cell)
{
    kn_status status = KN_OK;
    for (; *cell; cell++)
        KN_TRY(kn_table_writer_text(ctx, w, *cell));
    KN_TRY(kn_table_writer_end_row(ctx, w));
out:
    return status;
}

/* Writes a table with its sidecar into the folder; the function `fill` writes header and rows. */
static kn_status write_table(kn_ctx *ctx, const kn_cohort *c, const char *name, fill_fn fill)
{
    kn_folder_table table = {0};
    kn_status status;
    KN_TRY(kn_folder_table_open(ctx, c->folder, name, name, &table));
    KN_TRY(fill(ctx, c, table.w));
    KN_TRY(kn_folder_table_commit(ctx, &table));
out:
    kn_folder_table_free(&table);
    return status;
}

/* Writes the rows of truth/patients.tsv: the lesion strength of each patient, in residual standard
 * deviations. */
static kn_status fill_patients(kn_ctx *ctx, const kn_cohort *c, kn_table_writer *w)
{
    char id[KN_COHORT_ID], strength[32];
    kn_status status;
    KN_TRY(put_row(ctx, w, (const char *const[]){"participant_id", "lesion_sd", NULL}));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        if (!c->participants[i].patient)
            continue;
        kn_cohort_id(c, i, id);
        snprintf(strength, sizeof strength, "%.6g", c->participants[i].lesion);
        KN_TRY(put_row(ctx, w, (const char *const[]){id, strength, NULL}));
    }
out:
    return status;
}

/* Writes the rows of truth/visits.tsv: time and lesion strength of each visit of the test list's
 * patients. Controls do not decline. */
static kn_status fill_visits(kn_ctx *ctx, const kn_cohort *c, kn_table_writer *w)
{
    char id[KN_COHORT_ID], session[16], years[32], strength[32];
    kn_status status;
    KN_TRY(put_row(ctx, w,
                   (const char *const[]){"participant_id", "session", "years", "lesion_sd", NULL}));
    for (ptrdiff_t i = 0; i < c->n; i++) {
        const kn_cohort_participant *p = &c->participants[i];
        for (int v = 0; p->patient && p->part == KN_COHORT_TEST && v < kn_cohort_visits(c, p);
             v++) {
            kn_cohort_id(c, i, id);
            snprintf(session, sizeof session, "ses-%d", v + 1);
            snprintf(years, sizeof years, "%.1f", p->years[v]);
            snprintf(strength, sizeof strength, "%.6g", p->lesion + p->decline * p->years[v]);
            KN_TRY(put_row(ctx, w, (const char *const[]){id, session, years, strength, NULL}));
        }
    }
out:
    return status;
}

/* Writes the rows of truth/sites.tsv: noise factor, root mean square of the offset in residual
 * standard deviations, and age range of each site. */
static kn_status fill_sites(kn_ctx *ctx, const kn_cohort *c, kn_table_writer *w)
{
    char site[KN_COHORT_ID], noise[32], offset[32], low[16], high[16];
    kn_status status;
    KN_TRY(put_row(ctx, w,
                   (const char *const[]){"site", "in_training", "noise_factor", "offset_rms_sd",
                                         "age_min", "age_max", NULL}));
    for (int s = 0; s < c->sites; s++) {
        double square = 0;
        for (ptrdiff_t v = 0; v < c->voxels; v++) {
            double x = c->maps[(KN_MAP_SITES + s) * c->voxels + v];
            square += x * x / (double)c->voxels;
        }
        kn_cohort_site_name(c, s, site);
        snprintf(noise, sizeof noise, "%.6g", c->site[s].noise);
        snprintf(offset, sizeof offset, "%.6g", sqrt(square));
        snprintf(low, sizeof low, "%.1f", c->site[s].age_min);
        snprintf(high, sizeof high, "%.1f", c->site[s].age_max);
        KN_TRY(put_row(ctx, w,
                       (const char *const[]){site, s < c->sites - 1 ? "1" : "0", noise, offset, low,
                                             high, NULL}));
    }
out:
    return status;
}

/* Writes truth/site_offsets.nii.gz: one volume per row of sites.tsv, in the units of the images. */
static kn_status write_offsets(kn_ctx *ctx, const kn_cohort *c)
{
    kn_sim_image *image = NULL;
    double *offset = NULL;
    ptrdiff_t n = c->voxels;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, n, &offset));
    KN_TRY(kn_sim_image_new(ctx, c->folder, "truth/site_offsets.nii.gz", &c->grid, KN_VOXEL_FLOAT32,
                            c->sites, &image));
    for (int s = 0; s < c->sites; s++) {
        for (ptrdiff_t v = 0; v < n; v++)
            offset[v] = c->maps[(KN_MAP_SITES + s) * n + v] * c->maps[KN_MAP_SD * n + v];
        KN_TRY(kn_sim_image_volume(ctx, image, offset, c->index, n));
    }
    KN_TRY(kn_sim_image_commit(ctx, image));
out:
    kn_sim_image_free(image);
    kn_free(offset);
    return status;
}

/* Returns JSON of the simulated effects, mean and spread over voxels in residual standard
 * deviations. Owned by the caller. */
static json_t *effects_of(const kn_cohort *c)
{
    json_t *effects = json_object();
    int count = c->sites ? KN_THREE_SITES : KN_COHORT_EFFECTS;
    for (int k = 0; k < count; k++)
        json_object_set_new(effects, kn_cohort_effects[k].name,
                            json_pack("{s:f, s:f}", "mean", kn_cohort_effects[k].mean, "spread",
                                      kn_cohort_effects[k].spread));
    return effects;
}

/* Returns JSON of what every simulation chooses: sizes, effects, noise, lesion. Owned by the
 * caller; NULL without memory. */
static json_t *cohort_json(const kn_cohort *c)
{
    const kn_cohort_summary *s = &c->summary;
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:{s:f, s:i, s:f, s:f, s:f}, s:{s:f, s:f, "
        "s:[f,f,f], s:f, s:f, s:f, s:I}}",
        "kind", "cohort", "seed", (json_int_t)c->o->seed, "controls", (json_int_t)c->o->samples,
        "patients", (json_int_t)c->o->patients, "train", (json_int_t)s->train, "test",
        (json_int_t)s->test, "voxels", (json_int_t)s->voxels, "r2", s->r2, "effects_in_residual_sd",
        effects_of(c), "noise", "smooth_variance_share", KN_COHORT_SMOOTH, "components",
        (int)KN_COHORT_COMPONENTS, "length_mm", KN_COHORT_NOISE_LENGTH, "typical_sd", KN_COHORT_SD,
        "sd_of_log_sd", KN_COHORT_SD_SPREAD, "lesion", "mean_strength_sd", c->o->lesion,
        "strength_spread", KN_COHORT_LESION_SPREAD, "centre_mm", s->lesion_centre[0],
        s->lesion_centre[1], s->lesion_centre[2], "radius_mm", KN_COHORT_LESION_RADIUS,
        "radius_voxels", KN_COHORT_LESION_RADIUS / c->grid.pixdim[1], "full_strength_within_mm",
        KN_COHORT_LESION_CORE * KN_COHORT_LESION_RADIUS, "voxels_at_half_strength_or_more",
        (json_int_t)s->lesion_voxels);
}

/* Returns JSON of truth/truth.json: the cohort with sites, visits and regions if there are any.
 * Owned by the caller; NULL without memory, as kn_folder_json expects. */
static json_t *truth_json(const kn_cohort *c)
{
    json_t *root = cohort_json(c);
    char name[KN_COHORT_ID];
    int failed = 0;
    if (c->sites) {
        kn_cohort_site_name(c, c->sites - 1, name);
        failed |= json_object_set_new(root, "sites",
                                      json_pack("{s:I, s:s, s:I, s:I, s:f, s:f}", "in_training",
                                                (json_int_t)c->o->sites, "new", name, "adapt",
                                                (json_int_t)c->summary.adapt, "new_people",
                                                (json_int_t)c->summary.new_participants,
                                                "offset_sd", KN_COHORT_OFFSET,
                                                "sd_of_log_noise_variance", KN_COHORT_LN_NOISE));
    }
    if (c->o->visits)
        failed |= json_object_set_new(root, "visits",
                                      json_pack("{s:I, s:f, s:f}", "each", (json_int_t)c->o->visits,
                                                "residual_correlation", KN_COHORT_CORRELATION,
                                                "mean_decline_sd_a_year", c->o->decline));
    if (c->o->regions)
        failed |= json_object_set_new(root, "regions", json_integer((json_int_t)c->o->regions));
    if (failed) {
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* truth/lesion.nii.gz: mean effect of the lesion in a patient, negative, in the units of the
 * images. */
kn_status kn_cohort_write_truth(kn_ctx *ctx, const kn_cohort *c)
{
    double *effect = NULL;
    kn_status status;
    KN_TRY(kn_alloc_d(ctx, c->voxels, &effect));
    for (ptrdiff_t v = 0; v < c->voxels; v++)
        effect[v] = -c->o->lesion * c->lesion[v] * c->maps[KN_MAP_SD * c->voxels + v];
    KN_TRY(kn_sim_image_write(ctx, c->folder, "truth/lesion.nii.gz", &c->grid, KN_VOXEL_FLOAT32,
                              effect, c->index, c->voxels));
    KN_TRY(write_table(ctx, c, "truth/patients.tsv", fill_patients));
    if (c->o->visits)
        KN_TRY(write_table(ctx, c, "truth/visits.tsv", fill_visits));
    if (c->sites) {
        KN_TRY(write_table(ctx, c, "truth/sites.tsv", fill_sites));
        KN_TRY(write_offsets(ctx, c));
    }
    KN_TRY(kn_folder_json(ctx, c->folder, "truth/truth.json", truth_json(c)));
out:
    kn_free(effect);
    return status;
}
