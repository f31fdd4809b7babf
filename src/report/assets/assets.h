/* What a page carries: style and script, made arrays by tools/embed when kronorm is built, so that
 * their hashes are constants of the build. */
#ifndef KN_REPORT_ASSETS_ASSETS_H
#define KN_REPORT_ASSETS_ASSETS_H

#include <stddef.h>

typedef struct kn_asset {
    const char *text; /* ends with a 0 that is not counted */
    ptrdiff_t n;
    const char *csp; /* "sha256-...": admits the element with this text and no other */
} kn_asset;

extern const kn_asset kn_asset_figure_css; /* figure.css: of a figure that is a file of its own */
extern const kn_asset kn_asset_page_css;   /* figure.css and report.css */
extern const kn_asset kn_asset_page_js;    /* viewer.js and report.js */

#endif
