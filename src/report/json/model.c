/* Cohort, model, calibration, responses, curves and space as JSON. */
#include "report/json/internal.h"

/* ---- cohort -----------------------------------------------------------------------------------
 */

static json_t *column(kn_jotter *w, const kn_report_column *c)
{
    json_t *j = json_object();
    ptrdiff_t bars = c->numeric ? KN_REPORT_BARS : c->levels;
    kn_json_writer(w, j, "name", kn_json_set_text(c->name));
    kn_json_writer(w, j, "kind", json_string(c->numeric ? "numeric" : "category"));
    kn_json_writer(w, j, "batch", json_boolean(c->batch));
    if (c->numeric)
        kn_json_writer(w, j, "edges", kn_json_set_numbers(c->edge, KN_REPORT_BARS + 1));
    else
        kn_json_writer(w, j, "levels", kn_json_set_texts(c->level, c->levels));
    kn_json_writer(w, j, "train", kn_json_set_numbers(c->training, bars));
    kn_json_writer(w, j, "scored", kn_json_set_numbers(c->scored, bars));
    kn_json_writer(w, j, "train_missing", kn_json_set_count(c->training_missing));
    kn_json_writer(w, j, "scored_missing", kn_json_set_count(c->scored_missing));
    return j;
}

json_t *kn_json_set_cohort(kn_jotter *w)
{
    const kn_report_cohort *c = &w->r->cohort;
    json_t *j = json_object(), *columns = json_array(), *dropped = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_json_set_next(w, columns, column(w, &c->column[k]));
    for (ptrdiff_t i = 0; i < c->n_dropped; i++) {
        json_t *one = json_object();
        kn_json_writer(w, one, "id", kn_json_set_text(c->dropped_id[i]));
        kn_json_writer(w, one, "why", kn_json_set_text(c->dropped_why[i]));
        kn_json_set_next(w, dropped, one);
    }
    kn_json_writer(w, j, "columns", columns);
    kn_json_writer(w, j, "matched_by", kn_json_set_text(c->matched_by));
    kn_json_writer(w, j, "dropped", dropped);
    return j;
}

/* ---- model ------------------------------------------------------------------------------------
 */

static json_t *components_curve(kn_jotter *w, const kn_report_model *m)
{
    json_t *j = json_object();
    kn_json_writer(w, j, "components", kn_json_set_numbers(m->curve_components, m->curve_n));
    kn_json_writer(w, j, "msll", kn_json_set_numbers(m->curve_msll, m->curve_n));
    kn_json_writer(w, j, "se", kn_json_set_numbers(m->curve_se, m->curve_n));
    return j;
}

json_t *kn_json_set_model(kn_jotter *w)
{
    const kn_report_model *m = &w->r->model;
    if (!m->known)
        return json_null();
    json_t *j = json_object();
    kn_json_writer(w, j, "method", kn_json_set_text(m->method));
    kn_json_writer(w, j, "noise", kn_json_set_text(m->noise));
    kn_json_writer(w, j, "likelihood", kn_json_set_text(m->likelihood));
    kn_json_writer(w, j, "components", kn_json_set_count(m->components));
    kn_json_writer(w, j, "components_curve", components_curve(w, m));
    kn_json_writer(w, j, "share", kn_json_set_numbers(m->share, m->P));
    kn_json_writer(w, j, "terms", kn_json_set_texts(m->term, m->terms));
    kn_json_writer(w, j, "weights", kn_json_set_numbers(m->weight, m->terms));
    kn_json_writer(w, j, "length", kn_json_set_number(m->length));
    kn_json_writer(w, j, "length_units", kn_json_set_text(m->length_units));
    kn_json_writer(w, j, "words", kn_json_set_texts(m->word, m->words));
    kn_json_writer(w, j, "folds", json_integer(m->folds));
    kn_json_writer(w, j, "cv_z2", kn_json_set_number(m->cv_z2));
    kn_json_writer(w, j, "cv_msll", kn_json_set_number(m->cv_msll));
    kn_json_writer(w, j, "cv_coverage95", kn_json_set_number(m->cv_coverage95));
    kn_json_writer(w, j, "gev", kn_json_set_numbers(m->gev, 3));
    kn_json_writer(w, j, "smallest_p", kn_json_set_number(m->smallest_p));
    return j;
}

/* ---- calibration ------------------------------------------------------------------------------
 */

json_t *kn_json_set_zhist(kn_jotter *w, const kn_report_zhist *z)
{
    if (z->n == 0)
        return json_null();
    json_t *j = json_object(), *count = json_array();
    for (ptrdiff_t i = 0; z->count && i < z->n; i++) {
        json_t *row = json_array();
        for (int b = 0; b < KN_REPORT_ZBINS; b++)
            kn_json_set_next(w, row, json_integer((json_int_t)z->count[i * KN_REPORT_ZBINS + b]));
        kn_json_set_next(w, count, row);
    }
    kn_json_writer(w, j, "low", kn_json_set_number(-KN_REPORT_ZMAX));
    kn_json_writer(w, j, "high", kn_json_set_number(KN_REPORT_ZMAX));
    kn_json_writer(w, j, "count", count);
    kn_json_writer(w, j, "sum", kn_json_set_numbers(z->sum, z->n));
    kn_json_writer(w, j, "sum2", kn_json_set_numbers(z->sum2, z->n));
    kn_json_writer(w, j, "responses", kn_json_set_counts(z->responses, z->n));
    return j;
}

json_t *kn_json_set_calibration(kn_jotter *w, const kn_report_calibration *c)
{
    if (c->n == 0)
        return json_null();
    json_t *j = json_object();
    kn_json_writer(w, j, "n", kn_json_set_count(c->n));
    kn_json_writer(w, j, "mean", kn_json_set_number(c->mean));
    kn_json_writer(w, j, "mean_low", kn_json_set_number(c->mean_low));
    kn_json_writer(w, j, "mean_high", kn_json_set_number(c->mean_high));
    kn_json_writer(w, j, "z2", kn_json_set_number(c->z2));
    kn_json_writer(w, j, "z2_low", kn_json_set_number(c->z2_low));
    kn_json_writer(w, j, "z2_high", kn_json_set_number(c->z2_high));
    kn_json_writer(w, j, "coverage", kn_json_set_numbers(c->coverage, KN_REPORT_COVERAGES));
    kn_json_writer(w, j, "q", kn_json_set_numbers(c->q, KN_REPORT_QQ));
    kn_json_writer(w, j, "worm", kn_json_set_numbers(c->worm, KN_REPORT_QQ));
    kn_json_writer(w, j, "worm_low", kn_json_set_numbers(c->worm_low, KN_REPORT_QQ));
    kn_json_writer(w, j, "worm_high", kn_json_set_numbers(c->worm_high, KN_REPORT_QQ));
    kn_json_writer(w, j, "pit", kn_json_set_numbers(c->pit, KN_REPORT_PIT));
    kn_json_writer(w, j, "pit_low", kn_json_set_number(c->pit_low));
    kn_json_writer(w, j, "pit_high", kn_json_set_number(c->pit_high));
    kn_json_writer(w, j, "pit_se", kn_json_set_numbers(c->pit_se, KN_REPORT_PIT));
    return j;
}

json_t *kn_json_set_responses(kn_jotter *w)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object();
    kn_json_writer(w, j, "T", kn_json_set_count(p->T));
    kn_json_writer(w, j, "name", kn_json_set_texts(p->name, p->T));
    kn_json_writer(w, j, "R2", kn_json_set_numbers(p->R2, p->T));
    kn_json_writer(w, j, "R2_of_model", json_boolean(p->R2_of_model));
    kn_json_writer(w, j, "MSLL", kn_json_set_numbers(p->MSLL, p->T));
    kn_json_writer(w, j, "z2", kn_json_set_numbers(p->z2, p->T));
    kn_json_writer(w, j, "z2_of", kn_json_set_text(p->z2_of));
    kn_json_writer(w, j, "z2_low", kn_json_set_number(p->z2_low));
    kn_json_writer(w, j, "z2_high", kn_json_set_number(p->z2_high));
    kn_json_writer(w, j, "z2_inside", kn_json_set_number(p->z2_inside));
    kn_json_writer(w, j, "best", kn_json_set_counts(p->best, p->n_best));
    kn_json_writer(w, j, "mean_R2", kn_json_set_number(p->mean_R2));
    kn_json_writer(w, j, "mean_MSLL", kn_json_set_number(p->mean_MSLL));
    return j;
}

/* ---- curves -----------------------------------------------------------------------------------
 */

/* A line for each centile; null: there are no bands. */
static json_t *lines(kn_jotter *w, double *const value[KN_REPORT_CENTILES])
{
    if (!value[0])
        return json_null();
    json_t *a = json_array();
    for (int c = 0; c < KN_REPORT_CENTILES; c++)
        kn_json_set_next(w, a, kn_json_set_numbers(value[c], KN_REPORT_GRID));
    return a;
}

static json_t *curve(kn_jotter *w, const kn_report_curve *c)
{
    json_t *j = json_object();
    kn_json_writer(w, j, "label", kn_json_set_text(c->label));
    kn_json_writer(w, j, "level", kn_json_set_text(c->level));
    kn_json_writer(w, j, "x", kn_json_set_numbers(c->x, KN_REPORT_GRID));
    kn_json_writer(w, j, "value", lines(w, c->value));
    kn_json_writer(w, j, "low", lines(w, c->low));
    kn_json_writer(w, j, "high", lines(w, c->high));
    return j;
}

static json_t *points(kn_jotter *w, const kn_report_points *p)
{
    if (p->n == 0)
        return json_null();
    json_t *j = json_object(), *of = json_array();
    kn_json_writer(w, j, "x", kn_json_set_numbers(p->x, p->n));
    kn_json_writer(w, j, "value", kn_json_set_numbers(p->value, p->n));
    kn_json_writer(w, j, "z", kn_json_set_numbers(p->z, p->n));
    for (ptrdiff_t i = 0; p->curve && i < p->n; i++)
        kn_json_set_next(w, of, json_integer(p->curve[i]));
    kn_json_writer(w, j, "curve", of);
    return j;
}

static json_t *shown(kn_jotter *w, const kn_report_shown *s)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object(), *curves = json_array();
    for (ptrdiff_t k = 0; k < s->curves; k++)
        kn_json_set_next(w, curves, curve(w, &s->curve[k]));
    kn_json_writer(w, j, "response", kn_json_set_count(s->response));
    kn_json_writer(w, j, "name", kn_json_set_text(p->name ? p->name[s->response] : NULL));
    kn_json_writer(w, j, "over", kn_json_set_text(w->r->curves.over));
    kn_json_writer(w, j, "centiles", kn_json_set_numbers(kn_report_centile, KN_REPORT_CENTILES));
    kn_json_writer(w, j, "curves", curves);
    kn_json_writer(w, j, "points", points(w, &s->scored));
    kn_json_writer(w, j, "train", points(w, &s->training));
    return j;
}

json_t *kn_json_set_curves(kn_jotter *w)
{
    const kn_report_curves *c = &w->r->curves;
    json_t *all = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_json_set_next(w, all, shown(w, &c->shown[k]));
    return all;
}

/* ---- space ------------------------------------------------------------------------------------
 */

static void put_volume(kn_jotter *w, json_t *j)
{
    const kn_report_space *s = &w->r->space;
    json_t *affine = json_array();
    for (int d = 0; d < 3; d++)
        kn_json_set_next(w, affine, kn_json_set_numbers(s->affine[d], 4));
    kn_json_writer(w, j, "dims", kn_json_set_counts(s->dim, 3));
    kn_json_writer(w, j, "affine", affine);
    kn_json_writer(w, j, "voxel", kn_json_set_counts(s->voxel, w->r->responses.T));
    kn_json_writer(w, j, "background",
                   kn_json_set_bytes(w, s->background, s->dim[0] * s->dim[1] * s->dim[2]));
}

static json_t *meshes(kn_jotter *w)
{
    json_t *a = json_array();
    for (int k = 0; k < w->r->space.meshes; k++) {
        const kn_report_mesh *m = &w->r->space.mesh[k];
        json_t *mesh = json_object();
        kn_json_writer(w, mesh, "side", json_string(m->side == 0 ? "left" : "right"));
        kn_json_writer(w, mesh, "vertices", kn_json_set_count(m->surface.vertices));
        kn_json_writer(w, mesh, "triangles", kn_json_set_count(m->surface.triangles));
        kn_json_writer(w, mesh, "response", kn_json_set_counts(m->response, m->surface.vertices));
        kn_json_set_next(w, a, mesh);
    }
    return a;
}

static json_t *regions(kn_jotter *w)
{
    const kn_report_space *s = &w->r->space;
    if (!s->region)
        return json_null();
    json_t *a = json_array();
    for (ptrdiff_t j = 0; j < w->r->responses.T; j++) {
        json_t *region = json_object();
        kn_json_writer(w, region, "side", json_integer(s->region[j].side));
        kn_json_writer(w, region, "name", kn_json_set_text(s->region[j].name));
        kn_json_writer(w, region, "full", kn_json_set_text(s->region[j].full));
        kn_json_writer(w, region, "lobe", kn_json_set_text(s->region[j].lobe));
        kn_json_set_next(w, a, region);
    }
    return a;
}

json_t *kn_json_set_space(kn_jotter *w)
{
    static const char *const KINDS[] = {"table", "volume", "surface"};
    const kn_report_space *s = &w->r->space;
    json_t *j = json_object();
    kn_json_writer(w, j, "kind", json_string(KINDS[s->kind]));
    if (s->kind == KN_REPORT_VOLUME)
        put_volume(w, j);
    kn_json_writer(w, j, "meshes", meshes(w));
    kn_json_writer(w, j, "atlas", kn_json_set_text(s->atlas));
    kn_json_writer(w, j, "regions", regions(w));
    kn_json_writer(w, j, "unmatched", kn_json_set_count(s->unmatched));
    kn_json_writer(w, j, "surface_note", kn_json_set_text(s->surface_note));
    return j;
}
