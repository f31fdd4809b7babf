/* Reads the region of each vertex of a surface from GIFTI labels (.gii, .gii.gz: the first array
 * of intent NIFTI_INTENT_LABEL, else the first array, and the label table) or from a FreeSurfer
 * annotation (.annot). Atlases on surfaces come in these two formats. */
#ifndef KN_IO_FORMATS_VERTEX_LABELS_H
#define KN_IO_FORMATS_VERTEX_LABELS_H

#include "io/formats/gifti.h"

typedef struct kn_vertex_labels {
    ptrdiff_t vertices;
    ptrdiff_t *region; /* vertices: index into `name`; -1: no region */
    ptrdiff_t count;   /* regions */
    char **name;       /* count: names as in the file */
} kn_vertex_labels;

/* Reads a label file; its extension selects the format. KN_ERR_FORMAT if it has no labels or no
 * table; KN_ERR_IO. Free with kn_vertex_labels_clear. */
kn_status kn_vertex_labels_read(kn_ctx *ctx, const char *path, kn_vertex_labels *out);
/* Reads the labels from a GIFTI file in memory into *out, which is owned; `name` is for messages.
 * Fails as the reading of a file does. */
kn_status kn_vertex_labels_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                              kn_vertex_labels *out);
/* Frees the labels. {0} is allowed. */
void kn_vertex_labels_clear(kn_vertex_labels *labels);

/* ---- for the readers of the two formats --------------------------------------------------- */

/* Allocates labels of `vertices` vertices, all without region (-1), and `count` empty names. */
kn_status kn_vertex_labels_new(kn_ctx *ctx, ptrdiff_t vertices, ptrdiff_t count,
                               kn_vertex_labels *out);

/* Sorted table from a key (label number or colour) to an index into the names. */
typedef struct kn_label_key {
    long key;
    ptrdiff_t place; /* index into kn_vertex_labels.name */
} kn_label_key;
/* Sorts n keys for kn_label_keys_find. */
void kn_label_keys_sort(kn_label_key *keys, ptrdiff_t n);
/* The index of a key in sorted keys, by binary search; -1 if absent. Of equal keys, the one with
 * the smallest index. */
ptrdiff_t kn_label_keys_find(const kn_label_key *keys, ptrdiff_t n, long key);

#endif
