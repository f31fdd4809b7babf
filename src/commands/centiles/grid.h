/* The covariates that curves are drawn at, from {over}, {at} and {grid}               [METHOD 8f]
 *
 * A point is a row of codes, one for each covariate of the model: a number, or the place of a
 * level, or NaN: the average level, of a batch what the model says without it. Curves: one for each
 * combination of the levels that are drawn; a curve's points lie one after the other, from the
 * least to the largest value of training. */
#ifndef KN_COMMANDS_CENTILES_GRID_H
#define KN_COMMANDS_CENTILES_GRID_H

#include "commands/centiles/curves.h"
#include "io/table/table.h"
#include "model/model.h"

typedef struct kn_grid_at { /* where one covariate is held */
    bool drawn;             /* nowhere: each of its levels has curves of its own */
    double code;
    const char *adapted; /* level of a site that the model was adapted to, lent; NULL: none */
} kn_grid_at;

typedef struct kn_grid {
    const kn_model *model; /* lent */
    ptrdiff_t C, over;     /* covariates; which of them changes along a curve */
    kn_curve_site site;    /* of all points: batches are never drawn */
    kn_grid_at *at;        /* C */
    ptrdiff_t curves, values, n;
    kn_mat code; /* n x C */
} kn_grid;

/* By default numbers are held at their training mean, both levels of a category of two are drawn
 * unless it is a batch, and other categories are at their average level. A site that the model was
 * adapted to is a level too. */
kn_status kn_grid_new(kn_ctx *ctx, const kn_model *model, const kn_settings *s, kn_grid *out);
void kn_grid_clear(kn_grid *g); /* {0} is fine */

/* code (n x C) of people whose covariates are X, as kn_design_apply takes them: {over} and drawn
 * categories their own, the rest where the curves are. */
kn_status kn_grid_move(kn_ctx *ctx, const kn_grid *g, kn_mat X, kn_mat *code);
/* raw: the same as kn_design_apply of a model takes it: the grid's own, or one of the same
 * covariates that has fewer levels of some, where a level that it lacks is its average. */
kn_status kn_grid_raw(kn_ctx *ctx, const kn_grid *g, kn_mat code, const kn_model *to, kn_mat *raw);

/* The cells of a table: {over} first. */
kn_status kn_grid_names(kn_ctx *ctx, const kn_grid *g, kn_table_writer *w);
kn_status kn_grid_cells(kn_ctx *ctx, const kn_grid *g, kn_mat code, ptrdiff_t i,
                        kn_table_writer *w);
/* "sex=F,site=mean", without {over} where !over; cut at size. */
void kn_grid_label(const kn_grid *g, ptrdiff_t i, bool over, char *out, size_t size);

#endif
