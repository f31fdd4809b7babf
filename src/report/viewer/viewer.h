/* What the viewer in the page needs, as data of the page: responses of the mask, the
 * ground, and the z of every card, one byte each, gzip, base64, in <script
 * type="application/octet-stream">. Above KN_VIEWER_MOST responses every second voxel of each
 * direction. viewer.js reads it. */
#ifndef KN_REPORT_VIEWER_VIEWER_H
#define KN_REPORT_VIEWER_VIEWER_H

#include "report/markup/html.h"
#include "report/report.h"

enum { KN_VIEWER_MOST = 500000 };

/* Whether any card has a map of a volume. The functions below write nothing for cards without one.
 */
bool kn_viewer_has(const kn_report *r);
/* What all cards share: once. */
void kn_viewer_space(const kn_report *r, kn_html *out);
/* The z of card k: <script id="zK">. */
void kn_viewer_card(const kn_report *r, ptrdiff_t k, kn_html *out);
/* The place of the viewer in the card: canvases, controls; hidden until viewer.js shows them. */
void kn_viewer_place(const kn_report *r, ptrdiff_t k, kn_html *out);

#endif
