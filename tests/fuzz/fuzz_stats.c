#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "io/freesurfer/stats_file.h"
#include "io/table/number.h"

/* A .stats file of FreeSurfer. Every name and value is looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_stats_file f;
    if (kn_stats_parse(ctx, "x.stats", (const char *)data, (ptrdiff_t)size, "ThickAvg", &f) ==
        KN_OK) {
        double x;
        for (ptrdiff_t i = 0; i < f.n_regions; i++)
            if (!*f.region[i].name || kn_number_parse(f.region[i].value, &x) == KN_CELL_TEXT)
                abort();
        for (ptrdiff_t i = 0; i < f.n_measures; i++)
            if (!*f.measure[i].name || kn_number_parse(f.measure[i].value, &x) != KN_CELL_NUMBER)
                abort();
        kn_stats_clear(&f);
    }
    kn_ctx_free(ctx);
    return 0;
}
