/* Image space in a model file. Contracts: model/file/internal.h. */
#include "model/file/internal.h"

#include <stdio.h>
#include <string.h>

#include "io/formats/cifti.h"

/* Array name of part k: "stem.1", "stem.2". */
typedef struct array_name {
    char text[32];
} array_name;

/* Name of an array that belongs to image k of a participant: "stem.1" for k = 0, "stem.2" for k =
 * 1. */
static array_name make_array_name(const char *stem, int k)
{
    array_name n;
    snprintf(n.text, sizeof n.text, "%s.%d", stem, k + 1);
    return n;
}

json_t *kn_space_parts_to_json(const kn_space *s)
{
    json_t *parts = json_array();
    for (int k = 0; parts && k < s->parts; k++)
        json_array_append_new(parts, json_pack("{s:s s:s}", "ending", s->part[k].ending, "side",
                                               s->part[k].side));
    return parts;
}

/* Add the NIfTI header of a geometry to a file as an array of bytes. */
static kn_status add_header(kn_ctx *ctx, kn_st_writer *w, const char *name, const kn_geometry *g)
{
    return kn_st_add(ctx, w, name, KN_ST_U8, 1, (ptrdiff_t[1]){g->header_size}, g->header);
}

kn_status kn_space_parts_add(kn_ctx *ctx, const kn_space *s, kn_st_writer *w)
{
    kn_status status;
    KN_TRY(add_header(ctx, w, "nifti_header", &s->geometry));
    for (int k = 0; k < s->parts; k++) {
        if (s->parts > 1)
            KN_TRY(
                add_header(ctx, w, make_array_name("nifti_header", k).text, &s->part[k].geometry));
        if (s->part[k].brain.xml)
            KN_TRY(kn_st_add_text(ctx, w, make_array_name("brain_models", k).text,
                                  s->part[k].brain.xml));
    }
out:
    return status;
}

/* Read a stored NIfTI header and make the geometry from it; out owns what it refers to.
 * KN_ERR_FORMAT if the header is invalid. */
static kn_status read_header(kn_ctx *ctx, const kn_st_file *f, const char *name, kn_geometry *out)
{
    const kn_st_tensor *h;
    void *bytes = NULL;
    kn_status status;
    KN_TRY(kn_st_need(ctx, f, name, &h));
    if (h->type != KN_ST_U8)
        return kn_st_bad(ctx, f, name);
    KN_TRY(kn_alloc(ctx, h->count, 1, &bytes));
    KN_TRY(kn_st_values(ctx, f, h, 0, h->count, bytes));
    KN_TRY(kn_geometry_from_header(ctx, kn_st_name(f), bytes, h->count, out));
out:
    kn_free(bytes);
    return status;
}

/* Read the CIFTI brain models of one image, if the file has them; part owns them. KN_ERR_FORMAT if
 * they are invalid. */
static kn_status read_brain(kn_ctx *ctx, const kn_st_file *f, const char *name, kn_image_part *part)
{
    kn_status status;
    char *xml = NULL;
    if (!kn_st_find(f, name))
        return KN_OK;
    KN_TRY(kn_st_read_text(ctx, f, name, &xml));
    KN_TRY(kn_cifti_parse(ctx, kn_st_name(f), xml, (ptrdiff_t)strlen(xml),
                          kn_geometry_voxels(&part->geometry), &part->brain));
out:
    kn_free(xml);
    return status;
}

/* True if text is a valid name of a side. It becomes part of file names, so only the letters l, r,
 * h and digits are allowed. */
static bool is_side(const char *text)
{
    return strlen(text) < KN_SIDE_SIZE && strspn(text, "lrh0123456789") == strlen(text);
}

/* Read image k of a participant into s->part[k]: file ending, side, geometry (if there are two) and
 * CIFTI brain models. KN_ERR_FORMAT if one is absent or invalid. */
static kn_status read_part(kn_ctx *ctx, const kn_st_file *f, const json_t *j, int k, kn_space *s)
{
    kn_status status = KN_OK;
    kn_image_part *part = &s->part[k];
    const char *ending = json_string_value(json_object_get(j, "ending"));
    const char *side = json_string_value(json_object_get(j, "side"));
    if (!ending || !side || !kn_image_ending_known(ending) || !is_side(side))
        return kn_st_bad(ctx, f, "'parts'");
    part->ending = kn_image_ending_known(ending);
    snprintf(part->side, sizeof part->side, "%s", side);
    if (s->parts > 1)
        KN_TRY(read_header(ctx, f, make_array_name("nifti_header", k).text, &part->geometry));
    KN_TRY(read_brain(ctx, f, make_array_name("brain_models", k).text, part));
    if (strcmp(part->ending, ".dscalar.nii") == 0 && !part->brain.xml)
        return kn_st_bad(ctx, f, make_array_name("brain_models", k).text);
out:
    return status;
}

kn_status kn_space_parts_read(kn_ctx *ctx, const kn_st_file *f, const json_t *record, kn_space *s)
{
    kn_status status;
    json_t *parts = json_object_get(record, "parts");
    KN_TRY(read_header(ctx, f, "nifti_header", &s->geometry));
    s->parts = parts ? (int)json_array_size(parts) : 1;
    if (s->parts < 1 || s->parts > KN_PARTS) {
        s->parts = 0;
        return kn_st_bad(ctx, f, "'parts'");
    }
    s->part[0] = (kn_image_part){.geometry = s->geometry, .ending = ".nii.gz"};
    for (int k = 0; parts && k < s->parts; k++)
        KN_TRY(read_part(ctx, f, json_array_get(parts, (size_t)k), k, s));
    ptrdiff_t voxels = 0;
    for (int k = 0; k < s->parts; k++)
        voxels += kn_geometry_voxels(&s->part[k].geometry);
    bool same_side = s->parts > 1 && strcmp(s->part[0].side, s->part[1].side) == 0;
    if (voxels != kn_geometry_voxels(&s->geometry) || same_side)
        status = kn_st_bad(ctx, f, "'parts'");
out:
    return status;
}
