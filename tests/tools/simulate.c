/* Writes a simulated data set: simulate cohort|miyawaki DIR SIZE SEED STRENGTH [SAMPLES PATIENTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cohort/simulate.h"
#include "paper/visual/miyawaki.h"

int main(int argc, char **argv)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_ERR_ARGUMENT;
    if (argc < 6) {
        fprintf(stderr,
                "usage: simulate cohort|miyawaki DIR SIZE SEED STRENGTH [SAMPLES PATIENTS]\n");
        return 2;
    }
    bool small = strcmp(argv[3], "small") == 0;
    if (strcmp(argv[1], "cohort") == 0) {
        kn_cohort_options o;
        kn_cohort_summary s;
        kn_cohort_options_init(&o);
        o.dir = argv[2];
        o.size = small ? KN_COHORT_SMALL : KN_COHORT_2MM;
        o.seed = strtoull(argv[4], NULL, 10);
        o.lesion = atof(argv[5]);
        o.samples = argc > 6 ? atol(argv[6]) : o.samples;
        o.patients = argc > 7 ? atol(argv[7]) : o.patients;
        status = kn_sim_cohort(ctx, &o, &s);
        if (status == KN_OK)
            printf("{\"voxels\": %td, \"train\": %td, \"lesion_voxels\": %td, \"r2\": %.6g}\n",
                   s.voxels, s.train, s.lesion_voxels, s.r2);
    }
    if (strcmp(argv[1], "miyawaki") == 0) {
        kn_miyawaki_options o;
        kn_miyawaki_summary s;
        kn_miyawaki_options_init(&o);
        o.dir = argv[2];
        o.size = small ? KN_MIYAWAKI_SMALL : KN_MIYAWAKI_FULL;
        o.seed = strtoull(argv[4], NULL, 10);
        o.strength = atof(argv[5]);
        status = kn_sim_miyawaki(ctx, &o, &s);
        if (status == KN_OK)
            printf("{\"voxels\": %td, \"random_rows\": %td, \"figure_rows\": %td, \"r2\": %.6g}\n",
                   s.voxels, s.random_rows, s.figure_rows, s.r2);
    }
    if (status != KN_OK)
        fprintf(stderr, "%s\n", kn_message(ctx));
    kn_ctx_free(ctx);
    return status == KN_OK ? 0 : 1;
}
