/* The paper's figure: run time, R2 and AUC against the number of components, as mean and
 * standard deviation over repeats; one row of panels per kind of split. */
#ifndef KN_PAPER_FIGURE_H
#define KN_PAPER_FIGURE_H

#include "paper/results.h"

/* Writes the figure as SVG, replacing an existing file. */
kn_status kn_paper_figure_write(kn_ctx *ctx, const kn_results *r, const char *path);

#endif
