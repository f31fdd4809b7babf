/* The grid of covariates at which curves are drawn, from {over}, {at} and {grid} [METHOD 8f]
 *
 * A point is a row of codes, one per covariate of the model: a number, the index of a level, or NaN
 * for the average level; for batch columns NaN means without site effect. There is one curve per
 * combination of drawn levels; the points of a curve are consecutive, from the smallest to the
 * largest training value of {over}. */
#ifndef KN_COMMANDS_CENTILES_GRID_H
#define KN_COMMANDS_CENTILES_GRID_H

#include "commands/centiles/curves.h"
#include "io/table/table.h"
#include "model/model.h"

typedef struct kn_grid_at { /* fixed value of one covariate */
    bool drawn;             /* not fixed: each level has its own curves */
    double code;            /* fixed value; NaN: average level */
    const char *adapted;    /* level of an adapted site, borrowed; NULL: none */
} kn_grid_at;

/* The points: `curves` curves of `values` points each. */
typedef struct kn_grid {
    const kn_model *model; /* borrowed */
    ptrdiff_t C, over;     /* number of covariates; index of {over} */
    kn_curve_site site;    /* site of all points: sites are never drawn */
    kn_grid_at *at;        /* C */
    ptrdiff_t curves, values, n;
    kn_mat code; /* n x C, n = curves * values */
} kn_grid;

/* Makes the grid. Defaults: numbers at their training mean, both levels of a two-level category are
 * drawn unless it is a batch, other categories at their average level. {at} may name an adapted
 * site as level. KN_ERR_ARGUMENT for unknown names and levels. */
kn_status kn_grid_new(kn_ctx *ctx, const kn_model *model, const kn_settings *s, kn_grid *out);
void kn_grid_clear(kn_grid *g); /* accepts {0} */

/* Makes code (n x C) of participants with covariates X (as input of kn_design_apply): {over} and
 * drawn categories are their own, the others as in the grid. */
kn_status kn_grid_move(kn_ctx *ctx, const kn_grid *g, kn_mat X, kn_mat *code);
/* Converts code to the input of kn_design_apply of model `to`, which has the same covariates; a
 * level that it lacks becomes its average. *raw is owned by the caller. */
kn_status kn_grid_raw(kn_ctx *ctx, const kn_grid *g, kn_mat code, const kn_model *to, kn_mat *raw);

/* Writes column names, and the cells of row i of code; {over} is the first column. */
kn_status kn_grid_names(kn_ctx *ctx, const kn_grid *g, kn_table_writer *w);
kn_status kn_grid_cells(kn_ctx *ctx, const kn_grid *g, kn_mat code, ptrdiff_t i,
                        kn_table_writer *w);
/* Label of point i, such as "sex=F,site=mean"; over: begin with {over}. Truncated to `size`. */
void kn_grid_label(const kn_grid *g, ptrdiff_t i, bool over, char *out, size_t size);

#endif
