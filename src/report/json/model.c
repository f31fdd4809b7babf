/* Cohort, model, calibration, responses, curves and space as JSON. */
#include "report/json/internal.h"

/* ---- cohort -----------------------------------------------------------------------------------
 */

static json_t *column(kn_jotter *w, const kn_report_column *c)
{
    json_t *j = json_object();
    ptrdiff_t bars = c->numeric ? KN_REPORT_BARS : c->levels;
    kn_jot(w, j, "name", kn_jot_text(c->name));
    kn_jot(w, j, "kind", json_string(c->numeric ? "numeric" : "category"));
    kn_jot(w, j, "batch", json_boolean(c->batch));
    if (c->numeric)
        kn_jot(w, j, "edges", kn_jot_numbers(c->edge, KN_REPORT_BARS + 1));
    else
        kn_jot(w, j, "levels", kn_jot_texts(c->level, c->levels));
    kn_jot(w, j, "train", kn_jot_numbers(c->training, bars));
    kn_jot(w, j, "scored", kn_jot_numbers(c->scored, bars));
    kn_jot(w, j, "train_missing", kn_jot_count(c->training_missing));
    kn_jot(w, j, "scored_missing", kn_jot_count(c->scored_missing));
    return j;
}

json_t *kn_jot_cohort(kn_jotter *w)
{
    const kn_report_cohort *c = &w->r->cohort;
    json_t *j = json_object(), *columns = json_array(), *dropped = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_jot_next(w, columns, column(w, &c->column[k]));
    for (ptrdiff_t i = 0; i < c->n_dropped; i++) {
        json_t *one = json_object();
        kn_jot(w, one, "id", kn_jot_text(c->dropped_id[i]));
        kn_jot(w, one, "why", kn_jot_text(c->dropped_why[i]));
        kn_jot_next(w, dropped, one);
    }
    kn_jot(w, j, "columns", columns);
    kn_jot(w, j, "matched_by", kn_jot_text(c->matched_by));
    kn_jot(w, j, "dropped", dropped);
    return j;
}

/* ---- model ------------------------------------------------------------------------------------
 */

static json_t *components_curve(kn_jotter *w, const kn_report_model *m)
{
    json_t *j = json_object();
    kn_jot(w, j, "components", kn_jot_numbers(m->curve_components, m->curve_n));
    kn_jot(w, j, "msll", kn_jot_numbers(m->curve_msll, m->curve_n));
    kn_jot(w, j, "se", kn_jot_numbers(m->curve_se, m->curve_n));
    return j;
}

json_t *kn_jot_model(kn_jotter *w)
{
    const kn_report_model *m = &w->r->model;
    if (!m->known)
        return json_null();
    json_t *j = json_object();
    kn_jot(w, j, "method", kn_jot_text(m->method));
    kn_jot(w, j, "noise", kn_jot_text(m->noise));
    kn_jot(w, j, "likelihood", kn_jot_text(m->likelihood));
    kn_jot(w, j, "components", kn_jot_count(m->components));
    kn_jot(w, j, "components_curve", components_curve(w, m));
    kn_jot(w, j, "share", kn_jot_numbers(m->share, m->P));
    kn_jot(w, j, "terms", kn_jot_texts(m->term, m->terms));
    kn_jot(w, j, "weights", kn_jot_numbers(m->weight, m->terms));
    kn_jot(w, j, "length", kn_jot_number(m->length));
    kn_jot(w, j, "length_units", kn_jot_text(m->length_units));
    kn_jot(w, j, "words", kn_jot_texts(m->word, m->words));
    kn_jot(w, j, "folds", json_integer(m->folds));
    kn_jot(w, j, "cv_z2", kn_jot_number(m->cv_z2));
    kn_jot(w, j, "cv_msll", kn_jot_number(m->cv_msll));
    kn_jot(w, j, "cv_coverage95", kn_jot_number(m->cv_coverage95));
    kn_jot(w, j, "gev", kn_jot_numbers(m->gev, 3));
    kn_jot(w, j, "smallest_p", kn_jot_number(m->smallest_p));
    return j;
}

/* ---- calibration ------------------------------------------------------------------------------
 */

json_t *kn_jot_zhist(kn_jotter *w, const kn_report_zhist *z)
{
    if (z->n == 0)
        return json_null();
    json_t *j = json_object(), *count = json_array();
    for (ptrdiff_t i = 0; z->count && i < z->n; i++) {
        json_t *row = json_array();
        for (int b = 0; b < KN_REPORT_ZBINS; b++)
            kn_jot_next(w, row, json_integer((json_int_t)z->count[i * KN_REPORT_ZBINS + b]));
        kn_jot_next(w, count, row);
    }
    kn_jot(w, j, "low", kn_jot_number(-KN_REPORT_ZMAX));
    kn_jot(w, j, "high", kn_jot_number(KN_REPORT_ZMAX));
    kn_jot(w, j, "count", count);
    kn_jot(w, j, "sum", kn_jot_numbers(z->sum, z->n));
    kn_jot(w, j, "sum2", kn_jot_numbers(z->sum2, z->n));
    kn_jot(w, j, "responses", kn_jot_counts(z->responses, z->n));
    return j;
}

json_t *kn_jot_calibration(kn_jotter *w, const kn_report_calibration *c)
{
    if (c->n == 0)
        return json_null();
    json_t *j = json_object();
    kn_jot(w, j, "n", kn_jot_count(c->n));
    kn_jot(w, j, "mean", kn_jot_number(c->mean));
    kn_jot(w, j, "mean_low", kn_jot_number(c->mean_low));
    kn_jot(w, j, "mean_high", kn_jot_number(c->mean_high));
    kn_jot(w, j, "z2", kn_jot_number(c->z2));
    kn_jot(w, j, "z2_low", kn_jot_number(c->z2_low));
    kn_jot(w, j, "z2_high", kn_jot_number(c->z2_high));
    kn_jot(w, j, "coverage", kn_jot_numbers(c->coverage, KN_REPORT_COVERAGES));
    kn_jot(w, j, "q", kn_jot_numbers(c->q, KN_REPORT_QQ));
    kn_jot(w, j, "worm", kn_jot_numbers(c->worm, KN_REPORT_QQ));
    kn_jot(w, j, "worm_low", kn_jot_numbers(c->worm_low, KN_REPORT_QQ));
    kn_jot(w, j, "worm_high", kn_jot_numbers(c->worm_high, KN_REPORT_QQ));
    kn_jot(w, j, "pit", kn_jot_numbers(c->pit, KN_REPORT_PIT));
    kn_jot(w, j, "pit_low", kn_jot_number(c->pit_low));
    kn_jot(w, j, "pit_high", kn_jot_number(c->pit_high));
    kn_jot(w, j, "pit_se", kn_jot_numbers(c->pit_se, KN_REPORT_PIT));
    return j;
}

json_t *kn_jot_responses(kn_jotter *w)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object();
    kn_jot(w, j, "T", kn_jot_count(p->T));
    kn_jot(w, j, "name", kn_jot_texts(p->name, p->T));
    kn_jot(w, j, "R2", kn_jot_numbers(p->R2, p->T));
    kn_jot(w, j, "R2_of_model", json_boolean(p->R2_of_model));
    kn_jot(w, j, "MSLL", kn_jot_numbers(p->MSLL, p->T));
    kn_jot(w, j, "z2", kn_jot_numbers(p->z2, p->T));
    kn_jot(w, j, "z2_of", kn_jot_text(p->z2_of));
    kn_jot(w, j, "z2_low", kn_jot_number(p->z2_low));
    kn_jot(w, j, "z2_high", kn_jot_number(p->z2_high));
    kn_jot(w, j, "z2_inside", kn_jot_number(p->z2_inside));
    kn_jot(w, j, "best", kn_jot_counts(p->best, p->n_best));
    kn_jot(w, j, "mean_R2", kn_jot_number(p->mean_R2));
    kn_jot(w, j, "mean_MSLL", kn_jot_number(p->mean_MSLL));
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
        kn_jot_next(w, a, kn_jot_numbers(value[c], KN_REPORT_GRID));
    return a;
}

static json_t *curve(kn_jotter *w, const kn_report_curve *c)
{
    json_t *j = json_object();
    kn_jot(w, j, "label", kn_jot_text(c->label));
    kn_jot(w, j, "level", kn_jot_text(c->level));
    kn_jot(w, j, "x", kn_jot_numbers(c->x, KN_REPORT_GRID));
    kn_jot(w, j, "value", lines(w, c->value));
    kn_jot(w, j, "low", lines(w, c->low));
    kn_jot(w, j, "high", lines(w, c->high));
    return j;
}

static json_t *points(kn_jotter *w, const kn_report_points *p)
{
    if (p->n == 0)
        return json_null();
    json_t *j = json_object(), *of = json_array();
    kn_jot(w, j, "x", kn_jot_numbers(p->x, p->n));
    kn_jot(w, j, "value", kn_jot_numbers(p->value, p->n));
    kn_jot(w, j, "z", kn_jot_numbers(p->z, p->n));
    for (ptrdiff_t i = 0; p->curve && i < p->n; i++)
        kn_jot_next(w, of, json_integer(p->curve[i]));
    kn_jot(w, j, "curve", of);
    return j;
}

static json_t *shown(kn_jotter *w, const kn_report_shown *s)
{
    const kn_report_responses *p = &w->r->responses;
    json_t *j = json_object(), *curves = json_array();
    for (ptrdiff_t k = 0; k < s->curves; k++)
        kn_jot_next(w, curves, curve(w, &s->curve[k]));
    kn_jot(w, j, "response", kn_jot_count(s->response));
    kn_jot(w, j, "name", kn_jot_text(p->name ? p->name[s->response] : NULL));
    kn_jot(w, j, "over", kn_jot_text(w->r->curves.over));
    kn_jot(w, j, "centiles", kn_jot_numbers(kn_report_centile, KN_REPORT_CENTILES));
    kn_jot(w, j, "curves", curves);
    kn_jot(w, j, "points", points(w, &s->scored));
    kn_jot(w, j, "train", points(w, &s->training));
    return j;
}

json_t *kn_jot_curves(kn_jotter *w)
{
    const kn_report_curves *c = &w->r->curves;
    json_t *all = json_array();
    for (ptrdiff_t k = 0; k < c->n; k++)
        kn_jot_next(w, all, shown(w, &c->shown[k]));
    return all;
}

/* ---- space ------------------------------------------------------------------------------------
 */

static void put_volume(kn_jotter *w, json_t *j)
{
    const kn_report_space *s = &w->r->space;
    json_t *affine = json_array();
    for (int d = 0; d < 3; d++)
        kn_jot_next(w, affine, kn_jot_numbers(s->affine[d], 4));
    kn_jot(w, j, "dims", kn_jot_counts(s->dim, 3));
    kn_jot(w, j, "affine", affine);
    kn_jot(w, j, "voxel", kn_jot_counts(s->voxel, w->r->responses.T));
    kn_jot(w, j, "background", kn_jot_bytes(w, s->background, s->dim[0] * s->dim[1] * s->dim[2]));
}

static json_t *meshes(kn_jotter *w)
{
    json_t *a = json_array();
    for (int k = 0; k < w->r->space.meshes; k++) {
        const kn_report_mesh *m = &w->r->space.mesh[k];
        json_t *mesh = json_object();
        kn_jot(w, mesh, "side", json_string(m->side == 0 ? "left" : "right"));
        kn_jot(w, mesh, "vertices", kn_jot_count(m->surface.vertices));
        kn_jot(w, mesh, "triangles", kn_jot_count(m->surface.triangles));
        kn_jot(w, mesh, "response", kn_jot_counts(m->response, m->surface.vertices));
        kn_jot_next(w, a, mesh);
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
        kn_jot(w, region, "side", json_integer(s->region[j].side));
        kn_jot(w, region, "name", kn_jot_text(s->region[j].name));
        kn_jot(w, region, "full", kn_jot_text(s->region[j].full));
        kn_jot(w, region, "lobe", kn_jot_text(s->region[j].lobe));
        kn_jot_next(w, a, region);
    }
    return a;
}

json_t *kn_jot_space(kn_jotter *w)
{
    static const char *const KINDS[] = {"table", "volume", "surface"};
    const kn_report_space *s = &w->r->space;
    json_t *j = json_object();
    kn_jot(w, j, "kind", json_string(KINDS[s->kind]));
    if (s->kind == KN_REPORT_VOLUME)
        put_volume(w, j);
    kn_jot(w, j, "meshes", meshes(w));
    kn_jot(w, j, "atlas", kn_jot_text(s->atlas));
    kn_jot(w, j, "regions", regions(w));
    kn_jot(w, j, "unmatched", kn_jot_count(s->unmatched));
    kn_jot(w, j, "surface_note", kn_jot_text(s->surface_note));
    return j;
}
