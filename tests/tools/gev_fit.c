/* Reads samples, one per line, numbers apart by spaces; prints for each
 *     xi mu sigma nll se_xi se_mu se_sigma at_bound
 * or `refused: sentence`. The C side of tests/python/gev_oracle.py. */
#include <stdio.h>
#include <stdlib.h>

#include "stats/gev.h"

int main(void)
{
    enum { ROOM = 100000 };
    kn_ctx *ctx = kn_ctx_new();
    double *x = malloc(ROOM * sizeof *x);
    char *line = NULL;
    size_t size = 0;
    if (!ctx || !x)
        return 1;
    while (getline(&line, &size, stdin) > 0) {
        ptrdiff_t n = 0;
        for (char *p = line, *end; n < ROOM; p = end, n++) {
            x[n] = strtod(p, &end);
            if (end == p)
                break;
        }
        kn_gev_estimate e;
        if (kn_gev_fit(ctx, x, n, &e) == KN_OK)
            printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %d\n", e.gev.xi, e.gev.mu,
                   e.gev.sigma, e.nll, e.se.xi, e.se.mu, e.se.sigma, e.at_bound);
        else
            printf("refused: %s\n", kn_message(ctx));
    }
    free(line);
    free(x);
    kn_ctx_free(ctx);
    return 0;
}
