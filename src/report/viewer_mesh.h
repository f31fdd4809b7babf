/* Meshes in the page, for NiiVue: once, and the z of every card. report/meshes.js reads them.
 *
 *   #viewer-space     JSON: meshes [{side, vertices, triangles, scale}], colours of z
 *   #meshM-xyz        numbers: x of all vertices, then y, then z; times scale they are mm
 *   #meshM-corner     numbers: corners of triangles, vertices from 0
 *   #meshM-response   numbers: the response of each vertex; -1: none
 *   #meshM-grey       a byte a vertex, differences
 *   #zK               the z of card K, a byte a response, differences
 *
 * As report/viewer_pack.h packs them. A region is in the page once, not at each of its vertices. */
#ifndef KN_REPORT_VIEWER_MESH_H
#define KN_REPORT_VIEWER_MESH_H

#include "report/html.h"
#include "report/report.h"

void kn_viewer_meshes(const kn_report *r, kn_html *out);
/* The rest of the element of card k. */
void kn_viewer_mesh_z(const kn_report *r, ptrdiff_t k, kn_html *out);
/* What is hidden until niivue.js shows it. */
void kn_viewer_mesh_place(const kn_report *r, ptrdiff_t k, kn_html *out);

#endif
