/* The paper's figure: runtime, R2 and AUC against the number of components, mean and standard
 * deviation over repeats; a row of panels for each kind of split. */
#ifndef KN_PAPER_FIGURE_H
#define KN_PAPER_FIGURE_H

#include "paper/results.h"

kn_status kn_paper_figure_write(kn_ctx *ctx, const kn_results *r, const char *path);

#endif
