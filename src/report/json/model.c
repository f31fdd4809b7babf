/* Cohort, model, calibration, responses, curves and space as JSON. */
#include "report/json/internal.h"

/* ---- cohort ---- */

static json_t *column(kn_page_json *w, const kn_report_column *c)
{
    json_t *j = json_object();
    ptrdiff_t bars = c->numeric ? KN_REPORT_BARS : c->levels;
    kn_page_json_set(w, j, "name", kn_page_json_text(c->name));
    kn_page_json_set(w, j, "kind", json_string(c->numeric ? "numeric" : "category"));
    kn_page_json_set(w, j, "batch", json_boolean(c->batch));
    if (c->numeric)
        kn_page_json_set(w, j, "edges", kn_page_json_numbers(c->edge, KN_REPORT_BARS + 1));
    else
        kn_page_json_set(w, j, "levels", kn_page_json_texts(c->level, c->levels));
    kn_page_json_set(w, j, "train", kn_page_json_numbers(c->training, bars));
    kn_page_json_set(w, j, "scored", kn_page_json_numbers(c->scored, bars));
    kn_page_json_set(w, j, "train_missing", kn_page_json_count(c->training_missing));
    kn_page_json_set(w, j, "scored_missing", kn_page_json_count(c->scored_missing));
    return j;
}

json_t *kn_page_json_cohort(kn_page_json *w)
{
    const kn_report_cohort *c = &w->r->cohort;
    json_t *j = json_object(), *columns = json_array(), *dropped = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_page_json_append(w, columns, column(w, &c->column[k]));
    for (ptrdiff_t i = 0; i < c->n_dropped; i++) {
        json_t *one = json_object();
        kn_page_json_set(w, one, "id", kn_page_json_text(c->dropped_id[i]));
        kn_page_json_set(w, one, "why", kn_page_json_text(c->dropped_why[i]));
        kn_page_json_append(w, dropped, one);
    }
    kn_page_json_set(w, j, "columns", columns);
    kn_page_json_set(w, j, "matched_by", kn_page_json_text(c->matched_by));
    kn_page_json_set(w, j, "dropped", dropped);
    return j;
}

/* ---- model ---- */

static json_t *components_curve(kn_page_json *w, const kn_report_model *m)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, "components", kn_page_json_numbers(m->curve_components, m->curve_n));
    kn_page_json_set(w, j, "msll", kn_page_json_numbers(m->curve_msll, m->curve_n));
    kn_page_json_set(w, j, "se", kn_page_json_numbers(m->curve_se, m->curve_n));
    return j;
}

json_t *kn_page_json_model(kn_page_json *w)
{
    const kn_report_model *m = &w->r->model;
    if (!m->known)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "method", kn_page_json_text(m->method));
    kn_page_json_set(w, j, "noise", kn_page_json_text(m->noise));
    kn_page_json_set(w, j, "likelihood", kn_page_json_text(m->likelihood));
    kn_page_json_set(w, j, "components", kn_page_json_count(m->components));
    kn_page_json_set(w, j, "components_curve", components_curve(w, m));
    kn_page_json_set(w, j, "share", kn_page_json_numbers(m->share, m->P));
    kn_page_json_set(w, j, "terms", kn_page_json_texts(m->term, m->terms));
    kn_page_json_set(w, j, "weights", kn_page_json_numbers(m->weight, m->terms));
    kn_page_json_set(w, j, "length", kn_page_json_number(m->length));
    kn_page_json_set(w, j, "length_units", kn_page_json_text(m->length_units));
    kn_page_json_set(w, j, "words", kn_page_json_texts(m->word, m->words));
    kn_page_json_set(w, j, "folds", json_integer(m->folds));
    kn_page_json_set(w, j, "cv_z2", kn_page_json_number(m->cv_z2));
    kn_page_json_set(w, j, "cv_msll", kn_page_json_number(m->cv_msll));
    kn_page_json_set(w, j, "cv_coverage95", kn_page_json_number(m->cv_coverage95));
    kn_page_json_set(w, j, "gev", kn_page_json_numbers(m->gev, 3));
    kn_page_json_set(w, j, "smallest_p", kn_page_json_number(m->smallest_p));
    return j;
}

/* ---- calibration ---- */

json_t *kn_page_json_zhist(kn_page_json *w, const kn_report_zhist *z)
{
    if (z->n == 0)
        return json_null();
    json_t *j = json_object(), *count = json_array();
    for (ptrdiff_t i = 0; z->count && i < z->n; i++) {
        json_t *row = json_array();
        for (int b = 0; b < KN_REPORT_ZBINS; b++)
            kn_page_json_append(w, row,
                                json_integer((json_int_t)z->count[i * KN_REPORT_ZBINS + b]));
        kn_page_json_append(w, count, row);
    }
    kn_page_json_set(w, j, "low", kn_page_json_number(-KN_REPORT_ZMAX));
    kn_page_json_set(w, j, "high", kn_page_json_number(KN_REPORT_ZMAX));
    kn_page_json_set(w, j, "count", count);
    kn_page_json_set(w, j, "sum", kn_page_json_numbers(z->sum, z->n));
    kn_page_json_set(w, j, "sum2", kn_page_json_numbers(z->sum2, z->n));
    kn_page_json_set(w, j, "responses", kn_page_json_counts(z->responses, z->n));
    return j;
}

json_t *kn_page_json_calibration(kn_page_json *w, const kn_report_calibration *c)
{
    if (c->n == 0)
        return json_null();
    json_t *j = json_object();
    kn_page_json_set(w, j, "n", kn_page_json_count(c->n));
    kn_page_json_set(w, j, "mean", kn_page_json_number(c->mean));
    kn_page_json_set(w, j, "mean_low", kn_page_json_number(c->mean_low));
    kn_page_json_set(w, j, "mean_high", kn_page_json_number(c->mean_high));
    kn_page_json_set(w, j, "z2", kn_page_json_number(c->z2));
    kn_page_json_set(w, j, "z2_low", kn_page_json_number(c->z2_low));
    kn_page_json_set(w, j, "z2_high", kn_page_json_number(c->z2_high));
    kn_page_json_set(w, j, "coverage", kn_page_json_numbers(c->coverage, KN_REPORT_COVERAGES));
    kn_page_json_set(w, j, "q", kn_page_json_numbers(c->q, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm", kn_page_json_numbers(c->worm, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm_low", kn_page_json_numbers(c->worm_low, KN_REPORT_QQ));
    kn_page_json_set(w, j, "worm_high", kn_page_json_numbers(c->worm_high, KN_REPORT_QQ));
    kn_page_json_set(w, j, "pit", kn_page_json_numbers(c->pit, KN_REPORT_PIT));
    kn_page_json_set(w, j, "pit_low", kn_page_json_number(c->pit_low));
    kn_page_json_set(w, j, "pit_high", kn_page_json_number(c->pit_high));
    kn_page_json_set(w, j, "pit_se", kn_page_json_numbers(c->pit_se, KN_REPORT_PIT));
    return j;
}

json_t *kn_page_json_responses(kn_page_json *w)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object();
    kn_page_json_set(w, j, "T", kn_page_json_count(p->T));
    kn_page_json_set(w, j, "name", kn_page_json_texts(p->name, p->T));
    kn_page_json_set(w, j, "R2", kn_page_json_numbers(p->R2, p->T));
    kn_page_json_set(w, j, "R2_of_model", json_boolean(p->R2_of_model));
    kn_page_json_set(w, j, "MSLL", kn_page_json_numbers(p->MSLL, p->T));
    kn_page_json_set(w, j, "z2", kn_page_json_numbers(p->z2, p->T));
    kn_page_json_set(w, j, "z2_of", kn_page_json_text(p->z2_of));
    kn_page_json_set(w, j, "z2_low", kn_page_json_number(p->z2_low));
    kn_page_json_set(w, j, "z2_high", kn_page_json_number(p->z2_high));
    kn_page_json_set(w, j, "z2_inside", kn_page_json_number(p->z2_inside));
    kn_page_json_set(w, j, "best", kn_page_json_counts(p->best, p->n_best));
    kn_page_json_set(w, j, "mean_R2", kn_page_json_number(p->mean_R2));
    kn_page_json_set(w, j, "mean_MSLL", kn_page_json_number(p->mean_MSLL));
    return j;
}

/* ---- curves ---- */

/* One array per centile; null: no bands. */
static json_t *lines(kn_page_json *w, double *const value[KN_REPORT_CENTILES])
{
    if (!value[0])
        return json_null();
    json_t *a = json_array();
    for (int c = 0; c < KN_REPORT_CENTILES; c++)
        kn_page_json_append(w, a, kn_page_json_numbers(value[c], KN_REPORT_GRID));
    return a;
}

static json_t *curve(kn_page_json *w, const kn_report_curve *c)
{
    json_t *j = json_object();
    kn_page_json_set(w, j, "label", kn_page_json_text(c->label));
    kn_page_json_set(w, j, "level", kn_page_json_text(c->level));
    kn_page_json_set(w, j, "x", kn_page_json_numbers(c->x, KN_REPORT_GRID));
    kn_page_json_set(w, j, "value", lines(w, c->value));
    kn_page_json_set(w, j, "low", lines(w, c->low));
    kn_page_json_set(w, j, "high", lines(w, c->high));
    return j;
}

static json_t *points(kn_page_json *w, const kn_report_points *p)
{
    if (p->n == 0)
        return json_null();
    json_t *j = json_object(), *of = json_array();
    kn_page_json_set(w, j, "x", kn_page_json_numbers(p->x, p->n));
    kn_page_json_set(w, j, "value", kn_page_json_numbers(p->value, p->n));
    kn_page_json_set(w, j, "z", kn_page_json_numbers(p->z, p->n));
    for (ptrdiff_t i = 0; p->curve && i < p->n; i++)
        kn_page_json_append(w, of, json_integer(p->curve[i]));
    kn_page_json_set(w, j, "curve", of);
    return j;
}

static json_t *shown(kn_page_json *w, const kn_report_shown *s)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object(), *curves = json_array();
    for (ptrdiff_t k = 0; k < s->curves; k++)
        kn_page_json_append(w, curves, curve(w, &s->curve[k]));
    kn_page_json_set(w, j, "response", kn_page_json_count(s->response));
    kn_page_json_set(w, j, "name", kn_page_json_text(p->name ? p->name[s->response] : NULL));
    kn_page_json_set(w, j, "over", kn_page_json_text(w->r->curves.over));
    kn_page_json_set(w, j, "centiles", kn_page_json_numbers(kn_report_centile, KN_REPORT_CENTILES));
    kn_page_json_set(w, j, "curves", curves);
    kn_page_json_set(w, j, "points", points(w, &s->scored));
    kn_page_json_set(w, j, "train", points(w, &s->training));
    return j;
}

json_t *kn_page_json_curves(kn_page_json *w)
{
    const kn_report_curves *c = &w->r->curves;
    json_t *all = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_page_json_append(w, all, shown(w, &c->shown[k]));
    return all;
}

/* ---- space ---- */

static void put_volume(kn_page_json *w, json_t *j)
{
    const kn_report_space *s = &w->r->space;
    json_t *affine = json_array();
    for (int d = 0; d < 3; d++)
        kn_page_json_append(w, affine, kn_page_json_numbers(s->affine[d], 4));
    kn_page_json_set(w, j, "dims", kn_page_json_counts(s->dim, 3));
    kn_page_json_set(w, j, "affine", affine);
    kn_page_json_set(w, j, "voxel", kn_page_json_counts(s->voxel, w->r->responses.T));
    kn_page_json_set(w, j, "background",
                     kn_page_json_bytes(w, s->background, s->dim[0] * s->dim[1] * s->dim[2]));
}

static json_t *meshes(kn_page_json *w)
{
    json_t *a = json_array();
    for (int k = 0; k < w->r->space.meshes; k++) {
        const kn_report_mesh *m = &w->r->space.mesh[k];
        json_t *mesh = json_object();
        kn_page_json_set(w, mesh, "side", json_string(m->side == 0 ? "left" : "right"));
        kn_page_json_set(w, mesh, "vertices", kn_page_json_count(m->surface.vertices));
        kn_page_json_set(w, mesh, "triangles", kn_page_json_count(m->surface.triangles));
        kn_page_json_set(w, mesh, "response",
                         kn_page_json_counts(m->response, m->surface.vertices));
        kn_page_json_append(w, a, mesh);
    }
    return a;
}

static json_t *regions(kn_page_json *w)
{
    const kn_report_space *s = &w->r->space;
    if (!s->region)
        return json_null();
    json_t *a = json_array();
    for (ptrdiff_t j = 0; j < w->r->responses.T; j++) {
        json_t *region = json_object();
        kn_page_json_set(w, region, "side", json_integer(s->region[j].side));
        kn_page_json_set(w, region, "name", kn_page_json_text(s->region[j].name));
        kn_page_json_set(w, region, "full", kn_page_json_text(s->region[j].full));
        kn_page_json_set(w, region, "lobe", kn_page_json_text(s->region[j].lobe));
        kn_page_json_append(w, a, region);
    }
    return a;
}

json_t *kn_page_json_space(kn_page_json *w)
{
    static const char *const KINDS[] = {"table", "volume", "surface"};
    const kn_report_space *s = &w->r->space;
    json_t *j = json_object();
    kn_page_json_set(w, j, "kind", json_string(KINDS[s->kind]));
    if (s->kind == KN_REPORT_VOLUME)
        put_volume(w, j);
    kn_page_json_set(w, j, "meshes", meshes(w));
    kn_page_json_set(w, j, "atlas", kn_page_json_text(s->atlas));
    kn_page_json_set(w, j, "regions", regions(w));
    kn_page_json_set(w, j, "unmatched", kn_page_json_count(s->unmatched));
    kn_page_json_set(w, j, "surface_note", kn_page_json_text(s->surface_note));
    return j;
}
