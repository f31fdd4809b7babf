/* Recognises region names in tables: hemisphere, measure, and region of an atlas.
 *
 * A name is split at every character that is not a letter or digit, so that
 * lh_G&S_frontomargin_thickness, lh.G_and_S_frontomargin.thickness and the names that R makes of
 * them are equal. FreeSurfer's lh_ and Left-, ENIGMA's L_superiorfrontal_thickavg and Lcaud,
 * ctx-rh-insula and Schaefer's 7Networks_LH_Vis_1 are understood. */
#ifndef KN_REPORT_ATLAS_REGIONS_H
#define KN_REPORT_ATLAS_REGIONS_H

#include "io/formats/vertex_labels.h"
#include "report/report.h"

enum { KN_REGION_TEXT = 128, KN_REGION_TOKENS = 24 };

/* A region name taken apart. */
typedef struct kn_region_name {
    int side;                 /* 0 left, 1 right, -1: not in the name */
    const char *measure;      /* "thickness", "area", "volume" ...; NULL: not in the name */
    char key[KN_REGION_TEXT]; /* the remainder: letters and digits only, lower case */
    /* The words of the remainder; token[k] points into text. */
    char text[KN_REGION_TEXT];
    int tokens;
    const char *token[KN_REGION_TOKENS];
} kn_region_name;

/* Parses a name. Returns false if no region remains, or the name is too long. */
bool kn_region_parse(const char *name, kn_region_name *out);

/* Fills space->region and space->atlas if at least 4 of 5 of the T names are known regions;
 * otherwise leaves both NULL. For an unknown name among them, region.name is NULL. */
kn_status kn_regions_identify(kn_ctx *ctx, kn_arena *arena, const char *const *name, ptrdiff_t T,
                              kn_report_space *space);

/* Formats the label of a surface as words, "left superior temporal gyrus"; *out is the label
 * itself if it is unknown. *out is in the arena. */
kn_status kn_region_describe(kn_ctx *ctx, kn_arena *arena, const char *label, int side,
                             const char **out);

typedef struct kn_region_table { /* the responses of a table of regions */
    const char *const *name;
    ptrdiff_t T;
    const char *measure; /* measure to draw if a region has several responses; NULL: the first */
    bool *matched;       /* T  set to true if the response has a region on the mesh */
} kn_region_table;

/* Fills mesh->response: a vertex gets the response whose side and key equal those of its label.
 * A response without a side matches both hemispheres. */
kn_status kn_regions_match(kn_ctx *ctx, const kn_region_table *table,
                           const kn_vertex_labels *labels, kn_report_mesh *mesh);
/* Fills mesh->region, the label of each vertex in words; NULL for unknown labels and the medial
 * wall. */
kn_status kn_regions_label(kn_ctx *ctx, kn_arena *arena, const kn_vertex_labels *labels,
                           kn_report_mesh *mesh);
/* Returns the most frequent measure among the names, the first of equals; NULL: no name contains
 * one. */
const char *kn_regions_measure(const char *const *name, ptrdiff_t T);

#endif
