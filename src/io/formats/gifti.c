/* The image format GIFTI (io/image/image_format.h), and its reader (gifti.h): a streaming XML
 * parser whose handlers collect the text of each DataArray and the label table. Maps on surfaces,
 * meshes and labels come in this format. */
#include "io/formats/gifti.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/formats/internal.h"
#include "io/gzip/gzip.h"
#include "io/image/image_format.h"

enum {
    PIECE = 1 << 16, /* bytes of XML per call of expat */
    MAX_DEPTH = 32,
    MAX_DIMS = 6,
    AT_ARRAY = 2, /* depth of DataArray and LabelTable in GIFTI */
    AT_DATA = 3   /* depth of Data and Label */
};

typedef struct parser {
    kn_xml x;
    const kn_byte_source *source;
    bool others;
    int depth;
    bool in_array, in_data, in_table, in_label;
    long key;    /* of the current label */
    char *label; /* its name so far */
    ptrdiff_t label_length, label_capacity;
    kn_gifti_form form; /* of the current array */
    char *text;         /* its text so far */
    ptrdiff_t length, capacity;
    kn_gifti *out;
} parser;

/* ---- attributes --------------------------------------------------------------------------- */

typedef struct word {
    const char *text;
    int value;
} word;

static const word types[] = {{"NIFTI_TYPE_FLOAT32", KN_VOXEL_FLOAT32},
                             {"NIFTI_TYPE_INT32", KN_VOXEL_INT32},
                             {"NIFTI_TYPE_UINT8", KN_VOXEL_UINT8},
                             {NULL, 0}};
static const word encodings[] = {{"ASCII", KN_GIFTI_ASCII},
                                 {"GIFTI_ENCODING_ASCII", KN_GIFTI_ASCII},
                                 {"Base64Binary", KN_GIFTI_BASE64},
                                 {"GIFTI_ENCODING_B64BIN", KN_GIFTI_BASE64},
                                 {"GZipBase64Binary", KN_GIFTI_ZLIB},
                                 {"GIFTI_ENCODING_B64GZ", KN_GIFTI_ZLIB},
                                 {"ExternalFileBinary", KN_GIFTI_EXTERNAL},
                                 {"GIFTI_ENCODING_EXTBIN", KN_GIFTI_EXTERNAL},
                                 {NULL, 0}};
static const word endians[] = {{"LittleEndian", 0},
                               {"GIFTI_ENDIAN_LITTLE", 0},
                               {"BigEndian", 1},
                               {"GIFTI_ENDIAN_BIG", 1},
                               {NULL, 0}};
static const word orders[] = {{"RowMajorOrder", 0},
                              {"GIFTI_IND_ORD_ROW_MAJOR", 0},
                              {"ColumnMajorOrder", 1},
                              {"GIFTI_IND_ORD_COL_MAJOR", 1},
                              {NULL, 0}};

/* Fails with KN_ERR_FORMAT because an attribute of the current data array is missing (value NULL)
 * or not supported. */
static kn_status bad_attribute(const parser *p, const char *name, const char *value)
{
    if (!value)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: data array %td has no %s", p->x.name,
                       p->out->count, name);
    return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                   "%s: data array %td has %s %.40s, which is not supported", p->x.name,
                   p->out->count, name, value);
}

/* Sets *out to the value of an attribute by a table of words that ends with a NULL text.
 * KN_ERR_FORMAT if the attribute is missing or has another word. */
static kn_status take_word(const parser *p, const char **attributes, const char *name,
                           const word *words, int *out)
{
    const char *value = kn_xml_attribute(attributes, name);
    for (const word *w = words; value && w->text; w++)
        if (strcmp(w->text, value) == 0) {
            *out = w->value;
            return KN_OK;
        }
    return bad_attribute(p, name, value);
}

/* Parses a non-negative whole number. Returns false for anything else, including NULL. */
static bool parse_whole(const char *text, ptrdiff_t *out)
{
    *out = kn_xml_whole(text);
    return *out >= 0;
}

/* Reads Dimensionality, Dim0 and Dim1 of a data array; further dimensions must be 1. KN_ERR_FORMAT
 * if they are missing or too large. */
static kn_status take_dims(const parser *p, const char **attributes, kn_gifti_array *array)
{
    ptrdiff_t dims, d[MAX_DIMS] = {1, 1, 1, 1, 1, 1};
    const char *value = kn_xml_attribute(attributes, "Dimensionality");
    if (!parse_whole(value, &dims) || dims < 1 || dims > MAX_DIMS)
        return bad_attribute(p, "Dimensionality", value);
    for (int i = 0; i < dims; i++) {
        char name[8];
        snprintf(name, sizeof name, "Dim%d", i);
        value = kn_xml_attribute(attributes, name);
        if (!parse_whole(value, &d[i]) || d[i] < 1 || (i > 1 && d[i] > 1))
            return bad_attribute(p, name, value);
    }
    if (d[0] > PTRDIFF_MAX / 64 / d[1])
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: data array %td: %td x %td numbers cannot exist", p->x.name,
                       p->out->count, d[0], d[1]);
    array->dims = dims > 1 ? 2 : 1;
    array->dim[0] = d[0];
    array->dim[1] = d[1];
    return KN_OK;
}

/* ---- elements ----------------------------------------------------------------------------- */

/* Handles the start of a DataArray: appends an array and reads its attributes. KN_ERR_FORMAT if one
 * is missing or not supported. */
static kn_status start_array(parser *p, const char **attributes)
{
    void *arrays = p->out->array;
    int type, encoding, big, columns;
    kn_status status;

    status =
        kn_grow(p->x.ctx, p->out->count + 1, sizeof *p->out->array, &arrays, &p->out->capacity);
    p->out->array = arrays;
    if (status != KN_OK)
        return status;
    kn_gifti_array *array = &p->out->array[p->out->count++];
    p->in_array = true;
    p->length = 0;
    const char *intent = kn_xml_attribute(attributes, "Intent");
    snprintf(array->intent, sizeof array->intent, "%s", intent ? intent : "");
    KN_TRY(take_word(p, attributes, "DataType", types, &type));
    KN_TRY(take_word(p, attributes, "Encoding", encodings, &encoding));
    KN_TRY(take_word(p, attributes, "Endian", endians, &big));
    KN_TRY(take_word(p, attributes, "ArrayIndexingOrder", orders, &columns));
    KN_TRY(take_dims(p, attributes, array));
    array->type = kn_voxel_type_find(type);
    p->form = (kn_gifti_form){.encoding = (kn_gifti_encoding)encoding,
                              .swapped = (big != 0) != KN_BIG_ENDIAN,
                              .columns = columns != 0};
    if (p->form.encoding == KN_GIFTI_EXTERNAL) {
        const char *name = kn_xml_attribute(attributes, "ExternalFileName");
        const char *offset = kn_xml_attribute(attributes, "ExternalFileOffset");
        if (offset && *offset && !parse_whole(offset, &p->form.offset))
            return bad_attribute(p, "ExternalFileOffset", offset);
        if (name)
            KN_TRY(kn_text_copy(p->x.ctx, name, strlen(name), &p->form.external));
    }
out:
    return status;
}

/* Handles the start of a Label: notes its key. A label without an integer key is ignored. */
static void start_label(parser *p, const char **attributes)
{
    const char *key = kn_xml_attribute(attributes, "Key");
    ptrdiff_t value;
    bool minus = key && *key == '-';
    p->in_label = key && parse_whole(key + minus, &value) && value <= INT32_MAX;
    p->key = p->in_label ? (long)(minus ? -value : value) : 0;
    p->label_length = 0;
}

/* Handles the end of a Label: appends key and name to the table. '???' is noted as the label for
 * "no region". */
static kn_status end_label(parser *p)
{
    void *labels = p->out->label;
    char *name = NULL;
    kn_status status;
    p->in_label = false;
    const size_t n = (size_t)p->label_length;
    KN_TRY(kn_grow(p->x.ctx, p->out->labels + 1, sizeof *p->out->label, &labels,
                   &p->out->label_capacity));
    KN_TRY(kn_text_copy(p->x.ctx, n > 0 ? p->label : "", n, &name));
    if (strcmp(name, "???") == 0) {
        p->out->has_unknown = true;
        p->out->unknown = p->key;
    }
out:
    p->out->label = labels;
    if (status == KN_OK)
        p->out->label[p->out->labels++] = (kn_gifti_label){.key = p->key, .name = name};
    return status;
}

/* Handler of expat for the start of an element (self: the parser): notes the attributes of a data
 * array or a label, and begins to collect the text of Data. Errors stop the parser. */
static void XMLCALL on_start(void *self, const char *name, const char **attributes)
{
    parser *p = self;
    if (p->x.status != KN_OK)
        return;
    p->depth++;
    if (p->depth == 1 && strcmp(name, "GIFTI") != 0)
        kn_xml_stop(&p->x, kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s is not a GIFTI file", p->x.name));
    else if (p->depth > MAX_DEPTH)
        kn_xml_stop(&p->x,
                    kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: elements are nested more than %d deep",
                            p->x.name, MAX_DEPTH));
    else if (p->depth == AT_ARRAY && strcmp(name, "DataArray") == 0) {
        kn_status status = start_array(p, attributes);
        if (status != KN_OK)
            kn_xml_stop(&p->x, status);
    } else if (p->depth == AT_DATA && p->in_array && strcmp(name, "Data") == 0)
        p->in_data = true;
    else if (p->depth == AT_ARRAY)
        p->in_table = strcmp(name, "LabelTable") == 0;
    else if (p->depth == AT_DATA && p->in_table && strcmp(name, "Label") == 0)
        start_label(p, attributes);
}

/* Appends n characters to the growing text *to (length without NUL; size: its capacity) and a NUL.
 */
static kn_status append_text(const parser *p, const char *text, int n, char **to, ptrdiff_t *length,
                             ptrdiff_t *size)
{
    void *memory = *to;
    kn_status status = kn_grow(p->x.ctx, *length + n + 1, 1, &memory, size);
    *to = memory;
    if (status != KN_OK)
        return status;
    memcpy(*to + *length, text, (size_t)n);
    *length += n;
    (*to)[*length] = '\0';
    return KN_OK;
}

/* Handler of expat for n characters of text: collects those of Data and Label. */
static void XMLCALL on_text(void *self, const char *text, int n)
{
    parser *p = self;
    if (p->x.status != KN_OK || !(p->in_data || p->in_label))
        return;
    kn_status status =
        p->in_label ? append_text(p, text, n, &p->label, &p->label_length, &p->label_capacity)
                    : append_text(p, text, n, &p->text, &p->length, &p->capacity);
    if (status != KN_OK)
        kn_xml_stop(&p->x, status);
}

/* Handler of expat for the end of an element: decodes the text of a DataArray, or stores a label.
 */
static void XMLCALL on_end(void *self, const char *name)
{
    parser *p = self;
    (void)name;
    if (p->x.status != KN_OK)
        return;
    if (p->depth == AT_DATA)
        p->in_data = false;
    kn_status status = p->depth == AT_DATA && p->in_label ? end_label(p) : KN_OK;
    if (p->depth == AT_ARRAY && p->in_array) {
        char none[1] = "";
        status = kn_gifti_decode(p->x.ctx, p->x.name, p->out->count, p->others, &p->form,
                                 p->length > 0 ? p->text : none, p->length,
                                 &p->out->array[p->out->count - 1]);
        kn_free(p->form.external);
        p->form.external = NULL;
        p->in_array = false;
    }
    if (status != KN_OK)
        kn_xml_stop(&p->x, status);
    p->depth--;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Returns the error of a failed parse: that of a handler if there is one, else KN_ERR_MEMORY or
 * KN_ERR_FORMAT; the message says if the file was cut short. */
static kn_status xml_failure(const parser *p)
{
    enum XML_Error error = XML_GetErrorCode(p->x.xml);
    if (p->x.status != KN_OK)
        return p->x.status;
    switch (error) {
    case XML_ERROR_NO_MEMORY: return kn_xml_no_memory(&p->x);
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
    case XML_ERROR_PARTIAL_CHAR:
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: the XML ends too early, so the file is incomplete; get it again",
                       p->x.name);
    default:
        return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s line %lu: invalid XML (%s)", p->x.name,
                       (unsigned long)XML_GetCurrentLineNumber(p->x.xml), XML_ErrorString(error));
    }
}

/* Feeds the source, plain or gzip, to the parser in pieces of PIECE bytes. Fails as the handlers,
 * the decompression or the XML do. */
static kn_status feed_parser(parser *p)
{
    kn_gunzip *g = NULL;
    unsigned char head[2];
    ptrdiff_t size = p->source->size, at = 0, n = size < 2 ? size : 2;
    bool last = false;
    kn_status status;

    KN_TRY(kn_byte_source_read(p->x.ctx, p->source, 0, n, head));
    if (kn_is_gzip(head, n)) {
        KN_TRY(kn_gunzip_new(p->x.ctx, &g));
        KN_TRY(kn_gunzip_start(p->x.ctx, g, p->source));
    }
    while (!last) {
        KN_TRY(kn_check_cancel(p->x.ctx));
        void *piece = XML_GetBuffer(p->x.xml, PIECE);
        if (!piece) {
            status = xml_failure(p);
            goto out;
        }
        if (g) {
            KN_TRY(kn_gunzip_read(p->x.ctx, g, PIECE, piece, &n));
        } else {
            n = size - at < PIECE ? size - at : PIECE;
            KN_TRY(kn_byte_source_read(p->x.ctx, p->source, at, n, piece));
            at += n;
        }
        last = n < PIECE;
        if (XML_ParseBuffer(p->x.xml, (int)n, last) != XML_STATUS_OK) {
            status = xml_failure(p);
            goto out;
        }
    }
out:
    kn_gunzip_free(g);
    return status;
}

kn_status kn_gifti_read_source(kn_ctx *ctx, const kn_byte_source *source, bool others,
                               kn_gifti *out)
{
    static const kn_xml_handlers handlers = {on_start, on_end, on_text};
    parser p = {.source = source, .others = others, .out = out};
    kn_status status;

    *out = (kn_gifti){0};
    status = kn_xml_open(ctx, source->name, &handlers, &p.x);
    if (status != KN_OK)
        return status;
    status = feed_parser(&p);
    XML_ParserFree(p.x.xml);
    kn_free(p.text);
    kn_free(p.label);
    kn_free(p.form.external);
    if (status != KN_OK)
        kn_gifti_clear(out);
    return status;
}

kn_status kn_gifti_read(kn_ctx *ctx, const char *path, kn_gifti *out)
{
    kn_byte_source source = {.fd = -1};
    kn_status status;
    *out = (kn_gifti){0};
    KN_TRY(kn_byte_source_open(ctx, path, &source));
    KN_TRY(kn_gifti_read_source(ctx, &source, true, out));
out:
    kn_byte_source_close(&source);
    return status;
}

void kn_gifti_clear(kn_gifti *gifti)
{
    for (ptrdiff_t i = 0; i < gifti->count; i++)
        kn_free(gifti->array[i].data);
    kn_free(gifti->array);
    for (ptrdiff_t i = 0; i < gifti->labels; i++)
        kn_free(gifti->label[i].name);
    kn_free(gifti->label);
    *gifti = (kn_gifti){0};
}

/* ---- as an image -------------------------------------------------------------------------- */

/* Sets *h to describe the arrays as volumes of n x 1 x 1 voxels without orientation; data_offset is
 * 0. All arrays must have one value per vertex, one length and one type: else KN_ERR_SHAPE or
 * KN_ERR_FORMAT. */
static kn_status describe_arrays(kn_ctx *ctx, const char *name, const kn_gifti *gifti,
                                 kn_nifti_header *h)
{
    const kn_gifti_array *first = gifti->array;
    *h = (kn_nifti_header){.version = 1, .pixdim = {1, 1, 1, 1}, .slope = 1, .inter = -0.0};
    if (gifti->count == 0)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s has no data arrays", name);
    for (ptrdiff_t i = 0; i < gifti->count; i++) {
        const kn_gifti_array *a = &gifti->array[i];
        if (a->dim[1] > 1)
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s: data array %td is %td x %td; it must have one value per vertex",
                           name, i + 1, a->dim[0], a->dim[1]);
        if (a->dim[0] != first->dim[0])
            return kn_fail(ctx, KN_ERR_SHAPE,
                           "%s: data array %td has %td values, but the first has %td", name, i + 1,
                           a->dim[0], first->dim[0]);
        if (a->type != first->type)
            return kn_fail(ctx, KN_ERR_FORMAT,
                           "%s: data array %td has type %s, but the first has %s", name, i + 1,
                           a->type->name, first->type->name);
    }
    h->type = first->type;
    h->dim[0] = first->dim[0];
    h->dim[1] = h->dim[2] = 1;
    h->volumes = gifti->count;
    h->dims = gifti->count > 1 ? 4 : 3;
    return KN_OK;
}

/* Reads a whole GIFTI file to find its dimensions, and frees it; load_gifti() reads it again for
 * the values, so that a list of many files needs no memory. */
static kn_status open_gifti(kn_ctx *ctx, kn_image *image, kn_byte_source *source)
{
    kn_gifti gifti = {0};
    kn_status status;
    KN_TRY(kn_gifti_read_source(ctx, source, image->data_path != NULL, &gifti));
    KN_TRY(describe_arrays(ctx, source->name, &gifti, &image->header));
out:
    kn_gifti_clear(&gifti);
    return status;
}

/* Decodes all arrays of a GIFTI image into raw, one volume after the other. KN_ERR_IO if the file
 * differs from what it was when it was opened. */
static kn_status load_gifti(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source,
                            void *raw)
{
    kn_gifti gifti = {0};
    kn_nifti_header h;
    ptrdiff_t size = kn_nifti_data_size(&image->header) / image->header.volumes;
    kn_status status;
    KN_TRY(kn_gifti_read_source(ctx, source, image->data_path != NULL, &gifti));
    KN_TRY(describe_arrays(ctx, image->path, &gifti, &h));
    if (h.type != image->header.type || h.dim[0] != image->header.dim[0] ||
        h.volumes != image->header.volumes) {
        status = kn_image_changed(ctx, image);
        goto out;
    }
    for (ptrdiff_t v = 0; v < h.volumes; v++)
        memcpy((unsigned char *)raw + v * size, gifti.array[v].data, (size_t)size);
out:
    kn_gifti_clear(&gifti);
    return status;
}

static const char *const ENDINGS[] = {".gii", ".gii.gz", NULL};

const kn_image_format kn_format_gifti = {.endings = ENDINGS,
                                         .names = ".gii",
                                         .open = open_gifti,
                                         .load = load_gifti,
                                         .writing = &kn_gifti_writing};
