/* NiiVue (BSD-2-Clause), a viewer in 3D that a page may carry. It is no part of kronorm:
 * tools/fetch-niivue gets the release that is known here by its hash and puts it where it is looked
 * for. */
#ifndef KN_REPORT_NIIVUE_H
#define KN_REPORT_NIIVUE_H

#include "base/mem.h"

typedef struct kn_niivue {
    void *bytes; /* niivue.js.gz as it is */
    ptrdiff_t n;
    char csp[64]; /* "sha256-...": of the script inside, for the page's policy */
} kn_niivue;

/* $KRONORM_NIIVUE, or within the data folder that kronorm was built for. */
const char *kn_niivue_place(void);

/* From there; refuses a script whose SHA-256 is not the one compiled in, and says how to get it
 * where there is none. */
kn_status kn_niivue_read(kn_ctx *ctx, kn_niivue *out);
void kn_niivue_clear(kn_niivue *n); /* {0} is fine */

#endif
