/* Implements the hemispheres of image_set.h: one or two images that form a row of responses. The
 * left hemisphere comes first. */
#include "io/image/image_set.h"

#include <stdio.h>
#include <string.h>

/* Words of a file name (separated by . and _) that name a hemisphere. */
static const struct {
    const char *word, *side;
    bool between_dots; /* the word counts only between two dots, as in sub-1.L.thickness.gii */
} SIDES[] = {
    {"lh", "lh", false},     {"rh", "rh", false}, {"hemi-L", "lh", false},
    {"hemi-R", "rh", false}, {"L", "lh", true},   {"R", "rh", true},
};
enum { N_SIDES = sizeof SIDES / sizeof *SIDES };

const char *kn_image_side(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found = "";
    for (const char *word = name; *word;) {
        size_t n = strcspn(word, "._");
        bool dots = word > name && word[-1] == '.' && word[n] == '.';
        for (int i = 0; i < N_SIDES; i++) {
            if (strlen(SIDES[i].word) != n || memcmp(word, SIDES[i].word, n) != 0 ||
                (SIDES[i].between_dots && !dots))
                continue;
            if (*found && strcmp(found, SIDES[i].side) != 0)
                return "";
            found = SIDES[i].side;
        }
        word += n + (word[n] != '\0');
    }
    return found;
}

kn_status kn_image_part_of(kn_ctx *ctx, const kn_image *image, kn_image_part *out)
{
    *out = (kn_image_part){.geometry = image->geometry, .ending = kn_image_ending(image)};
    snprintf(out->side, sizeof out->side, "%s", kn_image_side(image->path));
    return kn_brain_copy(ctx, &image->brain, &out->brain);
}

kn_status kn_image_part_copy(kn_ctx *ctx, const kn_image_part *from, kn_image_part *out)
{
    *out = *from;
    return kn_brain_copy(ctx, &from->brain, &out->brain);
}

void kn_image_part_clear(kn_image_part *part)
{
    kn_brain_clear(&part->brain);
    *part = (kn_image_part){0};
}

void kn_image_parts_finalise(kn_image_part *part, int parts)
{
    if (parts < 2 || (*part[0].side && *part[1].side && strcmp(part[0].side, part[1].side) != 0))
        return;
    for (int k = 0; k < parts; k++)
        snprintf(part[k].side, sizeof part[k].side, "%d", (k + 1) % 10);
}

ptrdiff_t kn_geometry_voxels(const kn_geometry *g)
{
    return g->dim[0] * g->dim[1] * g->dim[2];
}

kn_status kn_image_parts_geometry(kn_ctx *ctx, const char *name, const kn_image_part *part,
                                  int parts, kn_geometry *out)
{
    kn_nifti_header row = {
        .version = 1, .pixdim = {1, 1, 1, 1}, .dims = 3, .volumes = 1, .dim = {0, 1, 1}};
    if (parts == 1) {
        *out = part[0].geometry;
        return KN_OK;
    }
    for (int k = 0; k < parts; k++)
        row.dim[0] += kn_geometry_voxels(&part[k].geometry);
    return kn_geometry_of(ctx, name, &row, out);
}
