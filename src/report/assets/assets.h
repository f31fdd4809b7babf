/* Style sheets and scripts embedded in the page. tools/embed converts them to arrays during the
 * build, so that their hashes are build constants. */
#ifndef KN_REPORT_ASSETS_ASSETS_H
#define KN_REPORT_ASSETS_ASSETS_H

#include <stddef.h>

typedef struct kn_asset {
    const char *text; /* NUL-terminated; n does not count the NUL */
    ptrdiff_t n;
    const char *csp; /* "sha256-...", source expression of the Content-Security-Policy */
} kn_asset;

extern const kn_asset kn_asset_figure_css; /* figure.css, for a standalone figure */
extern const kn_asset kn_asset_page_css;   /* figure.css and report.css */
extern const kn_asset kn_asset_page_js;    /* viewer.js and report.js */

#endif
