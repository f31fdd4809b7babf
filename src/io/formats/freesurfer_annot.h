/* FreeSurfer's annotations: a colour for each vertex, and a table of colours with the names of
 * regions. Big-endian 32-bit integers and texts:
 *
 *     n, n times (vertex, colour), then 1 and the table of colours, in one of two versions:
 *     1:  count, length, file it came from, count times (length, name, red, green, blue, flag)
 *     2:  -2, largest place + 1, length, file, count, count times (place, length, name, red, ...)
 *
 * colour = red + 2^8 green + 2^16 blue. A vertex that the list leaves out, or whose colour the
 * table does not have, is of no region. Every size is held against the bytes that are there before
 * memory is asked for. */
#ifndef KN_IO_FORMATS_FREESURFER_ANNOT_H
#define KN_IO_FORMATS_FREESURFER_ANNOT_H

#include "io/formats/vertex_labels.h"

kn_status kn_annot_read_source(kn_ctx *ctx, const kn_byte_source *source, kn_vertex_labels *out);

#endif
