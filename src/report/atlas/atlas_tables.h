/* The regions that are known by name: FreeSurfer's two atlases of the cortex and its segmentation.
 */
#ifndef KN_REPORT_ATLAS_ATLAS_TABLES_H
#define KN_REPORT_ATLAS_ATLAS_TABLES_H

#include <stddef.h>

typedef enum kn_atlas_kind {
    KN_ATLAS_DESIKAN = 0,     /* Desikan et al. 2006, aparc: 34 a side */
    KN_ATLAS_DESTRIEUX = 1,   /* Destrieux et al. 2010, aparc.a2009s: 74 a side */
    KN_ATLAS_SUBCORTICAL = 2, /* Fischl et al. 2002, aseg, and what stands beside it in tables */
    KN_ATLAS_SCHAEFER = 3,    /* Schaefer et al. 2018: by pattern, not listed */
    KN_ATLAS_KINDS = 4
} kn_atlas_kind;

extern const char *const kn_atlas_name[KN_ATLAS_KINDS];

typedef struct kn_atlas_region {
    kn_atlas_kind atlas;
    const char *name;  /* as the atlas spells it */
    const char *full;  /* in words */
    const char *lobe;  /* "frontal" ... */
    const char *other; /* another spelling; NULL: none */
} kn_atlas_region;

extern const kn_atlas_region kn_atlas_regions[]; /* ends with name NULL */

typedef struct kn_atlas_network { /* of Schaefer's names */
    const char *name, *full;
} kn_atlas_network;
extern const kn_atlas_network kn_atlas_networks[]; /* ends with name NULL */

#endif
