/* The image format CIFTI (io/image/image_format.h), the reader of its XML (cifti.h), and the
 * functions of kn_brain (io/image/image.h). A CIFTI file is a NIfTI-2 file whose extension
 * describes the responses of cortex and volume. */
#include "io/formats/cifti.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash/xxh64.h"
#include "io/file/byte_order.h"
#include "io/file/path.h"
#include "io/formats/internal.h"
#include "io/gzip/gzip.h"
#include "io/image/image_format.h"

void kn_brain_clear(kn_brain *brain)
{
    kn_free(brain->xml);
    *brain = (kn_brain){0};
}

kn_status kn_brain_copy(kn_ctx *ctx, const kn_brain *from, kn_brain *out)
{
    *out = (kn_brain){.hash = from->hash};
    return from->xml ? kn_text_copy(ctx, from->xml, strlen(from->xml), &out->xml) : KN_OK;
}

kn_status kn_brain_compare(kn_ctx *ctx, const char *name, const kn_brain *brain,
                           const char *expected_name, const kn_brain *expected)
{
    if (!expected->xml && expected->hash == 0)
        return KN_OK; /* no CIFTI, or a model file without brain models */
    if (brain->hash == expected->hash)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_SHAPE, "%s: %s %s; resample the files to the same grayordinates",
                   name,
                   brain->hash ? "the brain models differ from those of"
                               : "there are no brain models as in",
                   expected_name);
}

bool kn_cifti_may_be_dense(const kn_nifti_header *h)
{
    int i = h->intent_code;
    return h->cifti && (i == KN_CIFTI_SCALARS || i == KN_CIFTI_SERIES || i == KN_CIFTI_UNKNOWN);
}

/* ---- the XML ------------------------------------------------------------------------------ */

enum { MAX_DEPTH = 32, MAX_ATTRIBUTES = 64 };

typedef struct parser {
    kn_xml x;
    int depth, map_depth;      /* depth; that of the brain models' element, 0: not inside */
    XML_Index begin, end;      /* byte range of that element */
    bool found, models;        /* the places have a map; it consists of brain models */
    bool scalars;              /* the other dimension is scalars or a series, or not described */
    ptrdiff_t expected, total; /* places of the matrix, and of the models so far */
    ptrdiff_t count;           /* places of the current model */
    int listed;                /* numbers per place in the current list; 0: not in a list */
    ptrdiff_t words;           /* numbers in that list so far */
    bool in_word;
    kn_hashing hash; /* of elements, sorted attributes and words: independent of the layout */
} parser;

/* Adds `mark` and `text` to the hash of the brain models, each with its NUL, so that they cannot
 * run together. */
static void hash_text(parser *p, const char *mark, const char *text)
{
    kn_hashing_add(&p->hash, mark, strlen(mark) + 1);
    kn_hashing_add(&p->hash, text, strlen(text) + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the name of an XML element and its attributes, sorted by name, to the hash, so that their
 * order does not matter. Stops the parser with KN_ERR_FORMAT above MAX_ATTRIBUTES. */
static void hash_element(parser *p, const char *name, const char **attributes)
{
    const char *pair[MAX_ATTRIBUTES][2];
    size_t n = 0;
    for (; attributes[2 * n]; n++) {
        if (n == MAX_ATTRIBUTES) {
            kn_xml_stop(&p->x, kn_fail(p->x.ctx, KN_ERR_FORMAT,
                                       "%s: a CIFTI element has more than %d attributes", p->x.name,
                                       MAX_ATTRIBUTES));
            return;
        }
        pair[n][0] = attributes[2 * n];
        pair[n][1] = attributes[2 * n + 1];
    }
    qsort(pair, n, sizeof pair[0], by_name);
    hash_text(p, "<", name);
    for (size_t i = 0; i < n; i++)
        hash_text(p, pair[i][0], pair[i][1]);
}

/* Checks the root element of the XML: CIFTI of version 2, or a MatrixIndicesMap as model files
 * store it; else KN_ERR_FORMAT. */
static kn_status check_root(parser *p, const char *name, const char **attributes)
{
    const char *version = kn_xml_attribute(attributes, "Version");
    if (strcmp(name, "MatrixIndicesMap") == 0) {
        p->scalars = true; /* only brain models of scalars or series are stored */
        return KN_OK;
    }
    if (strcmp(name, "CIFTI") != 0)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: its XML is not CIFTI", p->x.name);
    if (!version || version[0] != '2' || (version[1] && version[1] != '.'))
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s is CIFTI version %.20s, but only version 2 is read", p->x.name,
                       version ? version : "none");
    return KN_OK;
}

/* Handles the start of a MatrixIndicesMap: notes the kind of dimension 0 of the matrix, and where
 * the brain models of dimension 1 begin. KN_ERR_FORMAT if a dimension is mapped twice. */
static kn_status start_map(parser *p, const char **attributes)
{
    const char *along = kn_xml_attribute(attributes, "AppliesToMatrixDimension");
    const char *kind = kn_xml_attribute(attributes, "IndicesMapToDataType");
    if (along && strcmp(along, "0") == 0)
        p->scalars = kind && (strcmp(kind, "CIFTI_INDEX_TYPE_SCALARS") == 0 ||
                              strcmp(kind, "CIFTI_INDEX_TYPE_SERIES") == 0);
    bool both = along && strcmp(along, "0,1") == 0; /* dense connectivity: places x places */
    if (!along || (strcmp(along, "1") != 0 && !both))
        return KN_OK;
    if (p->found)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: its CIFTI XML maps one dimension twice",
                       p->x.name);
    p->found = true;
    p->models = !both && kind && strcmp(kind, "CIFTI_INDEX_TYPE_BRAIN_MODELS") == 0;
    if (!p->models)
        return KN_OK;
    p->map_depth = p->depth;
    p->begin = XML_GetCurrentByteIndex(p->x.xml);
    return KN_OK;
}

/* Handles the start of a BrainModel element: adds its number of values to the total. KN_ERR_FORMAT
 * if they exceed the matrix. */
static kn_status start_model(parser *p, const char **attributes)
{
    ptrdiff_t offset = kn_xml_whole(kn_xml_attribute(attributes, "IndexOffset"));
    p->count = kn_xml_whole(kn_xml_attribute(attributes, "IndexCount"));
    if (offset < 0 || p->count < 0 || offset > p->expected || p->count > p->expected - offset)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: a brain model is outside the %td grayordinates of the matrix",
                       p->x.name, p->expected);
    p->total += p->count;
    return KN_OK;
}

/* Handler of expat for the start of an element: checks nesting, and handles maps, models and lists
 * of indices. Errors stop the parser. */
static void XMLCALL on_start(void *self, const char *name, const char **attributes)
{
    parser *p = self;
    kn_status status = KN_OK;
    if (p->x.status != KN_OK)
        return;
    p->depth++;
    if (p->depth > MAX_DEPTH)
        status = kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: elements are nested more than %d deep",
                         p->x.name, MAX_DEPTH);
    else if (p->depth == 1)
        status = check_root(p, name, attributes);
    if (status == KN_OK && !p->map_depth && strcmp(name, "MatrixIndicesMap") == 0)
        status = start_map(p, attributes);
    else if (status == KN_OK && p->map_depth && strcmp(name, "BrainModel") == 0)
        status = start_model(p, attributes);
    p->listed = strcmp(name, "VertexIndices") == 0     ? 1
                : strcmp(name, "VoxelIndicesIJK") == 0 ? 3
                                                       : 0;
    p->words = 0;
    p->in_word = false;
    if (status != KN_OK)
        kn_xml_stop(&p->x, status);
    else if (p->map_depth)
        hash_element(p, name, attributes);
}

/* Returns whether c is white space of XML. */
static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Handler of expat for n characters of text: counts and hashes the numbers of a list; one may be
 * split between two calls. */
static void XMLCALL on_text(void *self, const char *text, int n)
{
    parser *p = self;
    if (p->x.status != KN_OK || !p->map_depth)
        return;
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && is_blank(text[end]) == is_blank(text[i]);)
            end++;
        if (is_blank(text[i])) {
            p->in_word = false;
            continue;
        }
        if (!p->in_word) {
            p->words++;
            kn_hashing_add(&p->hash, " ", 1);
        }
        p->in_word = true;
        kn_hashing_add(&p->hash, text + i, (size_t)(end - i));
    }
}

/* Handler of expat for the end of an element: checks the length of a list of indices, and notes the
 * end of the brain models. */
static void XMLCALL on_end(void *self, const char *name)
{
    parser *p = self;
    if (p->x.status != KN_OK)
        return;
    if (p->map_depth && p->listed && p->words != p->listed * p->count) {
        kn_xml_stop(
            &p->x,
            kn_fail(p->x.ctx, KN_ERR_FORMAT,
                    "%s: a brain model of %td grayordinates lists %td indices instead of %td",
                    p->x.name, p->count, p->words, p->listed * p->count));
        return;
    }
    p->listed = 0;
    p->in_word = false;
    if (p->map_depth)
        hash_text(p, ">", name);
    if (p->map_depth == p->depth && p->map_depth) {
        p->end = XML_GetCurrentByteIndex(p->x.xml) + XML_GetCurrentByteCount(p->x.xml);
        p->map_depth = 0;
    }
    p->depth--;
}

/* Returns the error of a failed parse: that of a handler if there is one, else KN_ERR_MEMORY or
 * KN_ERR_FORMAT with expat's message. */
static kn_status xml_failure(const parser *p)
{
    enum XML_Error error = XML_GetErrorCode(p->x.xml);
    if (p->x.status != KN_OK)
        return p->x.status;
    if (error == XML_ERROR_NO_MEMORY)
        return kn_xml_no_memory(&p->x);
    return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: the CIFTI XML is invalid in line %lu (%s)",
                   p->x.name, (unsigned long)XML_GetCurrentLineNumber(p->x.xml),
                   XML_ErrorString(error));
}

/* After parsing: sets *out (owned) to the XML element of the brain models and its hash, or leaves
 * it empty for another kind of matrix. KN_ERR_FORMAT if the models do not cover the matrix exactly.
 */
static kn_status take_models(const parser *p, const char *xml, kn_brain *out)
{
    static const char start[] = "<MatrixIndicesMap";
    if (p->found && !(p->models && p->scalars))
        return KN_OK; /* another kind of matrix */
    if (!p->found)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: its CIFTI XML does not describe its %td grayordinates", p->x.name,
                       p->expected);
    if (p->total != p->expected)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: its brain models have %td grayordinates, but the matrix has %td",
                       p->x.name, p->total, p->expected);
    if (p->end - p->begin < (XML_Index)sizeof start ||
        memcmp(xml + p->begin, start, sizeof start - 1) != 0)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT, "%s: its CIFTI XML is not in UTF-8", p->x.name);
    out->hash = kn_hashing_end(&p->hash) | 1; /* never 0, which means no brain models */
    return kn_text_copy(p->x.ctx, xml + p->begin, (size_t)(p->end - p->begin), &out->xml);
}

kn_status kn_cifti_parse(kn_ctx *ctx, const char *name, const char *xml, ptrdiff_t n,
                         ptrdiff_t places, kn_brain *out)
{
    static const kn_xml_handlers handlers = {on_start, on_end, on_text};
    parser p = {.expected = places, .hash = kn_hashing_begin(0)};
    *out = (kn_brain){0};
    if (n > KN_CIFTI_MAX_XML)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: its CIFTI XML has %s, but at most 67.1 MB are read",
                       name, kn_format_size((double)n).text);
    kn_status status = kn_xml_open(ctx, name, &handlers, &p.x);
    if (status != KN_OK)
        return status;
    status = XML_Parse(p.x.xml, xml, (int)n, true) == XML_STATUS_OK ? take_models(&p, xml, out)
                                                                    : xml_failure(&p);
    XML_ParserFree(p.x.xml);
    return status;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Reads all bytes before the data of a CIFTI file, header and extensions, decompressed, as *out;
 * freed with kn_free. */
static kn_status read_extensions(kn_ctx *ctx, const kn_image *image, const kn_byte_source *source,
                                 char **out)
{
    kn_gunzip *g = NULL;
    void *bytes = NULL;
    ptrdiff_t n = image->header.data_offset, got = n;
    kn_status status;
    *out = NULL;
    KN_TRY(kn_alloc(ctx, n, 1, &bytes));
    if (image->gzip) {
        KN_TRY(kn_gunzip_new(ctx, &g));
        KN_TRY(kn_gunzip_start(ctx, g, source));
        KN_TRY(kn_gunzip_read(ctx, g, n, bytes, &got));
        if (got < n)
            status = kn_image_changed(ctx, image);
    } else {
        status = kn_byte_source_read(ctx, source, 0, n, bytes);
    }
out:
    kn_gunzip_free(g);
    if (status == KN_OK)
        *out = bytes;
    else
        kn_free(bytes);
    return status;
}

kn_status kn_cifti_open(kn_ctx *ctx, kn_image *image, const kn_byte_source *source)
{
    const kn_nifti_header *h = &image->header;
    char *bytes = NULL;
    ptrdiff_t at = KN_NIFTI2_SIZE + KN_EXTENDER_SIZE, end = h->data_offset;
    kn_status status;
    if (end - at > KN_CIFTI_MAX_XML)
        return kn_fail(ctx, KN_ERR_FORMAT,
                       "%s: its header extensions have %s, but at most 67.1 MB are read",
                       image->path, kn_format_size((double)(end - at)).text);
    KN_TRY(read_extensions(ctx, image, source, &bytes));
    while (bytes[KN_NIFTI2_SIZE] && end - at >= 8) {
        const unsigned char *p = (const unsigned char *)bytes + at;
        int32_t size = (int32_t)kn_load32(p, h->swapped),
                code = (int32_t)kn_load32(p + 4, h->swapped);
        if (size < 8 || size > end - at) {
            status = kn_fail(ctx, KN_ERR_FORMAT,
                             "%s: a header extension declares %d bytes, but %td are there",
                             image->path, (int)size, end - at);
            goto out;
        }
        if (code == KN_CIFTI_CODE) {
            ptrdiff_t n = size - 8;
            while (n > 0 && p[8 + n - 1] == 0) /* padding */
                n--;
            status =
                kn_cifti_parse(ctx, image->path, (const char *)p + 8, n, h->dim[0], &image->brain);
            goto out;
        }
        at += size;
    }
    status = kn_fail(ctx, KN_ERR_FORMAT,
                     "%s is CIFTI without the XML that describes its grayordinates", image->path);
out:
    kn_free(bytes);
    return status;
}

/* Opens a file named as CIFTI through the NIfTI format, which reads its brain models by
 * kn_cifti_open. KN_ERR_FORMAT if it is no CIFTI. */
static kn_status open_cifti(kn_ctx *ctx, kn_image *image, kn_byte_source *source)
{
    kn_status status = kn_format_nifti.open(ctx, image, source);
    if (status == KN_OK && !image->header.cifti)
        status = kn_fail(ctx, KN_ERR_FORMAT,
                         "%s is named as CIFTI, but is another kind of NIfTI file", image->path);
    return status;
}

static const char *const ENDINGS[] = {".dscalar.nii", ".dtseries.nii", NULL};

const kn_image_format kn_format_cifti = {.endings = ENDINGS,
                                         .open = open_cifti,
                                         .writing = &kn_cifti_writing};
