/* Data of the interactive viewer, which viewer.js reads: the responses of the mask, the
 * background, and the z-map of every card, one byte per response, gzip, base64, in <script
 * type="application/octet-stream">. Above KN_VIEWER_MAX responses, only every second voxel
 * along each axis. */
#ifndef KN_REPORT_VIEWER_VIEWER_H
#define KN_REPORT_VIEWER_VIEWER_H

#include "report/markup/html.h"
#include "report/report.h"

enum { KN_VIEWER_MAX = 500000 };

/* True if any card has a volume map. The functions below write nothing for cards without one. */
bool kn_viewer_has(const kn_report *r);
/* Writes the viewer's data that all cards share: geometry, mask and background of the volume; call
 * once. */
void kn_viewer_space(const kn_report *r, kn_html *out);
/* Writes the z-map of card k as <script id="zK">; nothing if the card has none. */
void kn_viewer_card(const kn_report *r, ptrdiff_t k, kn_html *out);
/* Writes the viewer's element in card k: canvases and controls, hidden until viewer.js shows
 * them. */
void kn_viewer_element(const kn_report *r, ptrdiff_t k, kn_html *out);

#endif
