/* Tables of known region names: the two cortical atlases of FreeSurfer, its segmentation, and
 * the networks of Schaefer's parcellation. regions.c looks names up here. */
#ifndef KN_REPORT_ATLAS_ATLAS_TABLES_H
#define KN_REPORT_ATLAS_ATLAS_TABLES_H

#include <stddef.h>

typedef enum kn_atlas_kind {
    KN_ATLAS_DESIKAN = 0,     /* Desikan et al. 2006, aparc: 34 per hemisphere */
    KN_ATLAS_DESTRIEUX = 1,   /* Destrieux et al. 2010, aparc.a2009s: 74 per hemisphere */
    KN_ATLAS_SUBCORTICAL = 2, /* Fischl et al. 2002, aseg, and global measures in the same tables */
    KN_ATLAS_SCHAEFER = 3,    /* Schaefer et al. 2018: recognised by pattern, not listed */
    KN_ATLAS_KINDS = 4
} kn_atlas_kind;

extern const char *const kn_atlas_name[KN_ATLAS_KINDS];

typedef struct kn_atlas_region {
    kn_atlas_kind atlas;
    const char *name;  /* spelling of the atlas */
    const char *full;  /* full name in words */
    const char *lobe;  /* "frontal" ... */
    const char *other; /* alternative spelling; NULL: none */
} kn_atlas_region;

extern const kn_atlas_region kn_atlas_regions[]; /* ends with name NULL */

typedef struct kn_atlas_network { /* a network within Schaefer's region names */
    const char *name, *full;
} kn_atlas_network;
extern const kn_atlas_network kn_atlas_networks[]; /* ends with name NULL */

#endif
