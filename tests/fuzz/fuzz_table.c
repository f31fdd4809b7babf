#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "io/image/internal.h"
#include "io/table/table.h"

/* As .csv, as .tsv and as a list of images. Every cell is looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    ptrdiff_t n = (ptrdiff_t)size;
    for (int k = 0; k < 2; k++) {
        kn_table *t;
        if (kn_table_parse(ctx, "x", k ? '\t' : ',', data, n, &t) != KN_OK)
            continue;
        for (ptrdiff_t j = 0; j < kn_table_cols(t); j++) {
            ptrdiff_t found = kn_table_find(t, kn_table_name(t, j));
            if (found != (kn_table_named(t, j) ? j : -1))
                abort();
        }
        for (ptrdiff_t i = 0; i < kn_table_rows(t); i++) {
            if (kn_table_line(t, i) <= kn_table_line(t, i - 1))
                abort();
            for (ptrdiff_t j = 0; j < kn_table_cols(t); j++) {
                double x;
                kn_cell cell = kn_table_number(t, i, j, &x);
                if ((cell == KN_CELL_MISSING) != kn_text_is_missing(kn_table_cell(t, i, j)))
                    abort();
            }
        }
        kn_table_free(t);
    }
    kn_table *t; /* as a table of FreeSurfer, if the first cell says so */
    char separator, measure[KN_MEASURE_SIZE];
    if (kn_freesurfer_header((const char *)data, n, &separator, measure) &&
        kn_table_of_bytes(ctx, "x.txt", data, n, &t) == KN_OK) {
        if (kn_table_id_col(t) != 0 || strcmp(kn_table_measure(t), measure) != 0)
            abort();
        kn_table_free(t);
    }
    kn_image_list list;
    if (kn_image_list_parse(ctx, "dir/x.txt", (const char *)data, n, &list) == KN_OK)
        kn_image_list_clear(&list);
    kn_ctx_free(ctx);
    return 0;
}
