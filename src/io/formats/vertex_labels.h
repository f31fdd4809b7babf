/* Which region each vertex of a surface is of: GIFTI labels (.label.gii, .gii.gz; the first array,
 * and the names of its table) or FreeSurfer's annotations (.annot). */
#ifndef KN_IO_FORMATS_VERTEX_LABELS_H
#define KN_IO_FORMATS_VERTEX_LABELS_H

#include "io/formats/gifti.h"

typedef struct kn_vertex_labels {
    ptrdiff_t vertices;
    ptrdiff_t *region; /* vertices  place among the names; -1: of none that has a name */
    ptrdiff_t count;
    char **name; /* count  as the file has them */
} kn_vertex_labels;

kn_status kn_vertex_labels_read(kn_ctx *ctx, const char *path, kn_vertex_labels *out);
/* Of a GIFTI file that has been read; `name` for messages. */
kn_status kn_vertex_labels_of(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                              kn_vertex_labels *out);
void kn_vertex_labels_clear(kn_vertex_labels *labels); /* {0} is fine */

/* ---- for readers -------------------------------------------------------------------------------
 */

/* Room for so many vertices and names; vertices are of none yet. On failure nothing is kept. */
kn_status kn_vertex_labels_new(kn_ctx *ctx, ptrdiff_t vertices, ptrdiff_t count,
                               kn_vertex_labels *out);

/* From values of vertices to places among names: find = the place of the key, -1 where none has it;
 * of keys that repeat the first. */
typedef struct kn_label_key {
    long key;
    ptrdiff_t place;
} kn_label_key;
void kn_label_keys_sort(kn_label_key *keys, ptrdiff_t n);
ptrdiff_t kn_label_keys_find(const kn_label_key *keys, ptrdiff_t n, long key);

#endif
