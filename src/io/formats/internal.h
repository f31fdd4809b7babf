/* What only the readers and writers of this folder use, one section per file: the XML parser, the
 * headers that formats convert to kn_nifti_header, and their writers. Formats are registered in
 * io/image/image_format.h. */
#ifndef KN_IO_FORMATS_INTERNAL_H
#define KN_IO_FORMATS_INTERNAL_H

#include <expat.h>

#include "base/context.h"
#include "base/memory/alloc.h"
#include "io/formats/gifti.h"
#include "io/formats/nifti_header.h"
#include "io/formats/vertex_labels.h"
#include "io/image/image_format.h"

/* ---- xml.c: reader --------------------------------------------------------------------------- */

/* Wrapper of expat for the XML readers (GIFTI, CIFTI): a handler can stop the parser with a status,
 * and entity declarations are an error (KN_ERR_FORMAT). */

/* Must be the first member of a format's parser struct: handlers get a pointer to it as user
 * data. */
typedef struct kn_xml {
    kn_ctx *ctx;
    const char *name; /* borrowed; path for messages */
    XML_Parser xml;   /* owned; free with XML_ParserFree */
    kn_status status; /* KN_OK, or the status given to kn_xml_stop */
} kn_xml;

typedef struct kn_xml_handlers {
    XML_StartElementHandler start;
    XML_EndElementHandler end;
    XML_CharacterDataHandler text;
} kn_xml_handlers;

/* Creates a parser of XML with the handlers h, called with x as their data; `name` of the file is
 * for messages. The caller frees it with XML_ParserFree(x->xml). Fails only without memory. */
kn_status kn_xml_open(kn_ctx *ctx, const char *name, const kn_xml_handlers *h, kn_xml *x);
/* Stops parsing from within a handler, and records why. */
void kn_xml_stop(kn_xml *x, kn_status status);
/* Fails with KN_ERR_MEMORY and a message that names the file. */
kn_status kn_xml_no_memory(const kn_xml *x);

/* The value of an attribute; NULL if absent. `attributes` as expat passes them. */
const char *kn_xml_attribute(const char **attributes, const char *name);
/* A non-negative integer of digits only (no sign, space or locale). -1 if it is anything else, too
 * large, or text is NULL. */
ptrdiff_t kn_xml_whole(const char *text);

/* ---- xml.c: text ----------------------------------------------------------------------------- */

/* Escapes text from users or files for use in XML. */

/* *out = text with & < > as entities, and '?' for every byte that is not valid UTF-8 or not allowed
 * in XML. For element content, not attributes (quotes stay). Free with kn_free. */
kn_status kn_xml_text(kn_ctx *ctx, const char *text, char **out);

/* ---- mgh.c ----------------------------------------------------------------------------------- */

/* Headers of FreeSurfer's .mgh and .mgz (gzip of .mgh): big-endian, version 1, data at byte 284.
 * They are converted to a kn_nifti_header, so that all formats share one reader.
 * https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat; affines agree with nibabel. */

enum { KN_MGH_OFFSET = 284 };

/* Writes float32 MGH images: .mgh, or .mgz (gzip). */

extern const kn_image_writing kn_mgh_writing;

/* ---- nifti.c --------------------------------------------------------------------------------- */

/* Writes float32 NIfTI images, .nii or .nii.gz: NIfTI-2 if the geometry comes from a NIfTI-2 file
 * or a dimension exceeds 32767, else NIfTI-1. */

extern const kn_image_writing kn_nifti_writing;

/* ---- cifti_write.c --------------------------------------------------------------------------- */

/* Writes CIFTI-2 dense scalars (.dscalar.nii): one named map per volume, with the brain models
 * kn_image_target.brain, which must not be NULL. */

extern const kn_image_writing kn_cifti_writing;

/* ---- gifti_write.c --------------------------------------------------------------------------- */

/* Writes GIFTI (.gii, or .gii.gz): one float32 data array per volume, zlib-compressed in base64.
 * The metadata hold the name of each volume, and the hemisphere if it is known. */

extern const kn_image_writing kn_gifti_writing;

/* ---- gifti_values.c -------------------------------------------------------------------------- */

/* Decodes the text of a GIFTI data array to numbers. Called by gifti.c at the end of an element
 * DataArray. */

typedef enum kn_gifti_encoding {
    KN_GIFTI_ASCII,
    KN_GIFTI_BASE64,
    KN_GIFTI_ZLIB,
    KN_GIFTI_EXTERNAL
} kn_gifti_encoding;

/* How the numbers of an array are stored. */
typedef struct kn_gifti_form {
    kn_gifti_encoding encoding;
    bool swapped;     /* the byte order is not this machine's */
    bool columns;     /* column-major: the first index varies fastest */
    char *external;   /* name of the external file; NULL: none given */
    ptrdiff_t offset; /* of the data in the external file, bytes */
} kn_gifti_form;

/* Allocates and fills array->data (type and dimensions are set) from text[0..n-1], which is
 * overwritten; text[n] must be 0. file: path of the XML; number: of the array, from 1, for
 * messages; others: as in kn_gifti_read_source. KN_ERR_FORMAT if the text does not hold exactly the
 * numbers of the dimensions. */
kn_status kn_gifti_decode(kn_ctx *ctx, const char *file, ptrdiff_t number, bool others,
                          const kn_gifti_form *form, char *text, ptrdiff_t n,
                          kn_gifti_array *array);

/* ---- freesurfer_annot.c ---------------------------------------------------------------------- */

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

/* Reads an annotation. KN_ERR_FORMAT if it is truncated, or has no table or an invalid vertex.
 * Free with kn_vertex_labels_clear. */
kn_status kn_annot_read_source(kn_ctx *ctx, const kn_byte_source *source, kn_vertex_labels *out);

#endif
