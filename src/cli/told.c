#include "cli/told.h"

#include <stdio.h>

void cli_print_missing(const kn_model *m)
{
    double out = kn_model_number(m, "missing.people_out");
    if (kn_model_number(m, "missing.cells") > 0)
        printf("  %.1f %% of cells missing in %.0f responses, filled in (%.0f rounds, last change "
               "%.3f sd)\n",
               100 * kn_model_number(m, "missing.share"), kn_model_number(m, "missing.responses"),
               kn_model_number(m, "missing.rounds"), kn_model_number(m, "missing.rms_change"));
    if (out > 0)
        printf("  %.0f people without any response left out\n", out);
}
