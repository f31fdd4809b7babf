/* Names of regions as tables have them: which side, which measure, which region of which atlas.
 *
 * A name is taken apart at everything that is no letter or digit, so that
 * lh_G&S_frontomargin_thickness, lh.G_and_S_frontomargin.thickness and what R makes of them are
 * one; FreeSurfer's lh_ and Left-, ENIGMA's L_superiorfrontal_thickavg and Lcaud, ctx-rh-insula and
 * Schaefer's 7Networks_LH_Vis_1 are understood. */
#ifndef KN_REPORT_ATLAS_REGIONS_H
#define KN_REPORT_ATLAS_REGIONS_H

#include "io/formats/vertex_labels.h"
#include "report/report.h"

enum { KN_REGION_TEXT = 128, KN_REGION_TOKENS = 24 };

typedef struct kn_region_name {
    int side;                 /* 0 left, 1 right, -1: not said */
    const char *measure;      /* "thickness", "area", "volume" ...; NULL: not said */
    char key[KN_REGION_TEXT]; /* the rest: letters and digits alone, in lower case */
    char text[KN_REGION_TEXT];
    int tokens; /* of the rest, within text */
    const char *token[KN_REGION_TOKENS];
} kn_region_name;

/* false: there is nothing left to be a region, or the name is longer than any. */
bool kn_region_parse(const char *name, kn_region_name *out);

/* Fills region and atlas of the space where at least 4 of 5 responses are regions that are known;
 * else leaves both NULL. Of others among them `name` is NULL. */
kn_status kn_regions_identify(kn_ctx *ctx, kn_arena *arena, const char *const *name, ptrdiff_t T,
                              kn_report_space *space);

/* A region in words, "left superior temporal gyrus", of a label of a surface; the label itself
 * where it is not known. */
kn_status kn_region_words(kn_ctx *ctx, kn_arena *arena, const char *label, int side,
                          const char **out);

typedef struct kn_region_table { /* the responses of a table */
    const char *const *name;
    ptrdiff_t T;
    const char *measure; /* that is drawn where several are of one region; NULL: the first */
    bool *matched;       /* T  set where a response found its region */
} kn_region_table;

/* What a mesh shows of a table: mesh->response by side and key, response and label being of one
 * name. A response without a side is of both. */
kn_status kn_regions_match(kn_ctx *ctx, const kn_region_table *table,
                           const kn_vertex_labels *labels, kn_report_mesh *mesh);
/* mesh->region: the label of each vertex in words; NULL where it is unknown or the medial wall. */
kn_status kn_regions_label(kn_ctx *ctx, kn_arena *arena, const kn_vertex_labels *labels,
                           kn_report_mesh *mesh);
/* The measure that most names have, of equals the first; NULL: none has any. */
const char *kn_regions_measure(const char *const *name, ptrdiff_t T);

/* The region of the vertex of a response, in words; NULL: no labels are given, or it is of none. */
const char *kn_region_of_response(const kn_report_space *space, ptrdiff_t response);

#endif
