/* What the loader of the visual experiment makes of a folder: visual_dump DIR X.npy Y.npy */
#include <inttypes.h>
#include <stdio.h>

#include "io/npy/npy.h"
#include "paper/visual/load.h"

int main(int argc, char **argv)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_visual v = {0};
    kn_status status;
    const kn_write_options over = {.force = true};
    if (argc < 4) {
        fprintf(stderr, "usage: visual_dump DIR X.npy Y.npy\n");
        return 2;
    }
    KN_TRY(kn_visual_read(ctx, argv[1], &v));
    KN_TRY(kn_npy_write(ctx, argv[2], kn_view_cols(v.X.data, v.n, v.X.cols), KN_F64, &over));
    KN_TRY(kn_npy_write(ctx, argv[3], kn_view_cols(v.Y.data, v.n, v.Y.cols), KN_F64, &over));
    printf("{\"n\": %td, \"n_random\": %td, \"runs\": [%td, %td], \"fingerprint\": \"%" PRIx64
           "\", \"pattern\": [",
           v.n, v.n_random, v.runs[0], v.runs[1], v.fingerprint);
    for (ptrdiff_t i = 0; i < v.n; i++)
        printf("%s%td", i ? ", " : "", v.pattern[i]);
    printf("]}\n");
out:
    if (status != KN_OK)
        fprintf(stderr, "%s\n", kn_message(ctx));
    kn_visual_clear(&v);
    kn_ctx_free(ctx);
    return status == KN_OK ? 0 : 1;
}
