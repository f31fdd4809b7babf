/* Implements kn_cifti_vertices of cifti.h: parses the stored XML again and collects one
 * VertexIndices list. It is called only for files whose vertices are needed, such as for a
 * report. */
#include "io/formats/cifti.h"

#include <string.h>

#include "io/formats/internal.h"

typedef struct parser {
    kn_xml x;
    const kn_cifti_cortex *cortex;
    ptrdiff_t *place;
    bool found, listing;
    ptrdiff_t offset, count, listed; /* of the current model: first place, places, vertices so far;
                                        count -1: another structure */
    ptrdiff_t number;                /* number that is being read; -1: none */
} parser;

/* Handles the start of a BrainModel element: if it is the wanted hemisphere, notes the index of its
 * first value and how many it has. KN_ERR_SHAPE if its surface has another number of vertices. */
static kn_status start_model(parser *p, const char **attributes)
{
    static const char *const STRUCTURE[2] = {"CIFTI_STRUCTURE_CORTEX_LEFT",
                                             "CIFTI_STRUCTURE_CORTEX_RIGHT"};
    const kn_cifti_cortex *c = p->cortex;
    const char *structure = kn_xml_attribute(attributes, "BrainStructure");
    p->count = -1;
    if (!structure || strcmp(structure, STRUCTURE[c->side]) != 0)
        return KN_OK;
    const ptrdiff_t vertices =
        kn_xml_whole(kn_xml_attribute(attributes, "SurfaceNumberOfVertices"));
    if (vertices != c->vertices)
        return kn_fail(p->x.ctx, KN_ERR_SHAPE,
                       "%s: its %s cortex has %td vertices, but the surface has %td", p->x.name,
                       c->side == 0 ? "left" : "right", vertices, c->vertices);
    p->offset = kn_xml_whole(kn_xml_attribute(attributes, "IndexOffset"));
    p->count = kn_xml_whole(kn_xml_attribute(attributes, "IndexCount"));
    if (p->offset < 0 || p->count < 0 || p->offset > c->places || p->count > c->places - p->offset)
        return kn_fail(p->x.ctx, KN_ERR_FORMAT,
                       "%s: a brain model is outside the %td grayordinates of the matrix",
                       p->x.name, c->places);
    p->found = true;
    p->listed = 0;
    return KN_OK;
}

/* Handler of expat for the start of an element (self: the parser). A BrainModel of the wanted
 * hemisphere sets the offset and the count of its values; VertexIndices within it makes on_text
 * read vertices. Errors of the model stop the parser. */
static void XMLCALL on_start(void *self, const char *name, const char **attributes)
{
    parser *p = self;
    if (p->x.status != KN_OK)
        return;
    if (strcmp(name, "BrainModel") == 0) {
        kn_status status = start_model(p, attributes);
        if (status != KN_OK)
            kn_xml_stop(&p->x, status);
    }
    p->listing = p->count >= 0 && strcmp(name, "VertexIndices") == 0;
    p->number = -1;
}

/* Ends a number of the list of vertices: sets p->place of this vertex to the next place. Stops the
 * parser with KN_ERR_FORMAT if the vertex does not exist or the list is too long. */
static void end_number(parser *p)
{
    if (p->number < 0)
        return;
    if (p->number >= p->cortex->vertices || p->listed >= p->count)
        kn_xml_stop(
            &p->x,
            kn_fail(p->x.ctx, KN_ERR_FORMAT,
                    "%s: a brain model lists vertex %td as its %td of %td, but there are %td",
                    p->x.name, p->number, p->listed + 1, p->count, p->cortex->vertices));
    else
        p->place[p->number] = p->offset + p->listed++;
    p->number = -1;
}

/* Handler of expat for n characters of text: parses the numbers of a list of vertices; one may be
 * split between two calls. */
static void XMLCALL on_text(void *self, const char *text, int n)
{
    parser *p = self;
    for (int i = 0; p->listing && i < n && p->x.status == KN_OK; i++) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (!digit)
            end_number(p);
        else if (p->number <= p->cortex->vertices) /* larger ones fail; no overflow */
            p->number = (p->number < 0 ? 0 : p->number) * 10 + (text[i] - '0');
    }
}

/* Handler of expat for the end of an element: ends the last number of a list of vertices. */
static void XMLCALL on_end(void *self, const char *name)
{
    parser *p = self;
    (void)name;
    if (p->listing && p->x.status == KN_OK)
        end_number(p);
    p->listing = false;
}

kn_status kn_cifti_vertices(kn_ctx *ctx, const char *name, const kn_brain *brain,
                            const kn_cifti_cortex *cortex, ptrdiff_t *place, bool *found)
{
    static const kn_xml_handlers handlers = {on_start, on_end, on_text};
    parser p = {.cortex = cortex, .place = place, .count = -1, .number = -1};
    const size_t n = strlen(brain->xml);
    *found = false;
    if (n > KN_CIFTI_MAX_XML)
        return kn_fail(ctx, KN_ERR_FORMAT, "%s: its brain models are too large to be read", name);
    for (ptrdiff_t v = 0; v < cortex->vertices; v++)
        place[v] = -1;
    kn_status status = kn_xml_open(ctx, name, &handlers, &p.x);
    if (status != KN_OK)
        return status;
    if (XML_Parse(p.x.xml, brain->xml, (int)n, true) != XML_STATUS_OK)
        status = p.x.status != KN_OK
                     ? p.x.status
                     : kn_fail(ctx, KN_ERR_FORMAT, "%s: its brain models are invalid: %s", name,
                               XML_ErrorString(XML_GetErrorCode(p.x.xml)));
    XML_ParserFree(p.x.xml);
    *found = p.found;
    return status;
}
