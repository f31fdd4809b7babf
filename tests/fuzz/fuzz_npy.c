#include <stdlib.h>

#include "base/matrix.h"
#include "fuzz.h"
#include "io/npy/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_npy npy;
    if (kn_npy_parse(ctx, "x.npy", data, (ptrdiff_t)size, &npy) == KN_OK) {
        /* the last element is the farthest from the first */
        volatile double last = kn_view_at(npy.view, npy.view.rows - 1, npy.view.cols - 1);
        (void)last;
        if (npy.view.rows * npy.view.cols > (ptrdiff_t)size)
            abort(); /* an element takes at least a byte */
    }
    kn_npy_clear(&npy);
    kn_ctx_free(ctx);
    return 0;
}
