/* Reads FreeSurfer annotations (.annot): a colour for each vertex, and a table of colours with the
 * names of regions. Big-endian 32-bit integers and texts:
 *
 *     n, n times (vertex, colour), then 1 and the table of colours, in one of two versions:
 *     1:  count, length, source file, count times (length, name, red, green, blue, flag)
 *     2:  -2, largest index + 1, length, source file, count,
 *         count times (index, length, name, red, green, blue, flag)
 *
 * colour = red + 2^8 green + 2^16 blue. A vertex that is not listed, or whose colour is not in the
 * table, has no region. Every size is checked against the file size before allocation. */
#ifndef KN_IO_FORMATS_FREESURFER_ANNOT_H
#define KN_IO_FORMATS_FREESURFER_ANNOT_H

#include "io/formats/vertex_labels.h"

/* Reads an annotation. KN_ERR_FORMAT if it is truncated, or has no table or an invalid vertex.
 * Free with kn_vertex_labels_clear. */
kn_status kn_annot_read_source(kn_ctx *ctx, const kn_byte_source *source, kn_vertex_labels *out);

#endif
