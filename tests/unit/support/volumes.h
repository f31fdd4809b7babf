/* Spaces of volumes by chance: any order and direction of axes, a mask, a ground. */
#ifndef KN_TEST_VOLUMES_H
#define KN_TEST_VOLUMES_H

#include "support/pngs.h"

#include "report/report.h"

typedef struct volume {
    kn_report_space space;
    ptrdiff_t T, voxels;
    uint8_t *ground;
} volume;

/* Axis j of the file runs along axis order[j] of the head, backwards where turned; `size` mm. */
static inline volume volume_of(const ptrdiff_t dim[3], const int order[3], const bool turned[3],
                               const double size[3])
{
    volume v = {.voxels = dim[0] * dim[1] * dim[2]};
    v.space.kind = KN_REPORT_VOLUME;
    for (int j = 0; j < 3; j++) {
        v.space.dim[j] = dim[j];
        v.space.affine[order[j]][j] = turned[j] ? -size[j] : size[j];
        v.space.affine[order[j]][3] = (turned[j] ? 1 : -1) * size[j] * (double)dim[j] / 2 + 3;
    }
    v.space.voxel = malloc((size_t)v.voxels * sizeof *v.space.voxel);
    v.ground = malloc((size_t)v.voxels);
    return v;
}

/* A tilt by some radians about each axis: the affine is multiplied by rotations. */
static inline void volume_tilt(volume *v, const double angle[3])
{
    for (int about = 0; about < 3; about++) {
        int p = (about + 1) % 3, q = (about + 2) % 3;
        double c = cos(angle[about]), s = sin(angle[about]);
        for (int j = 0; j < 4; j++) {
            double a = v->space.affine[p][j], b = v->space.affine[q][j];
            v->space.affine[p][j] = c * a - s * b;
            v->space.affine[q][j] = s * a + c * b;
        }
    }
}

/* A share of the voxels of an ellipsoid, in file order; the ground is larger than it. */
static inline void volume_mask(volume *v, unsigned *seed, unsigned percent)
{
    v->T = 0;
    for (ptrdiff_t i = 0; i < v->voxels; i++) {
        const ptrdiff_t *d = v->space.dim, at[3] = {i % d[0], i / d[0] % d[1], i / d[0] / d[1]};
        double far = 0;
        for (int k = 0; k < 3; k++)
            far += d[k] > 2 ? pow((2 * (double)at[k] - (double)(d[k] - 1)) / (double)(d[k] - 1), 2)
                            : 0;
        v->ground[i] = (uint8_t)(far < 1 ? 50 + chance(seed, 200) : 0);
        if (far < .3 && chance(seed, 100) < percent)
            v->space.voxel[v->T++] = i;
    }
    v->space.background = v->ground;
}

static inline volume volume_by_chance(unsigned *seed, unsigned percent, bool tilted)
{
    static const int ORDER[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    ptrdiff_t dim[3];
    bool turned[3];
    double size[3], angle[3];
    for (int j = 0; j < 3; j++) {
        dim[j] = 9 + chance(seed, 20);
        turned[j] = chance(seed, 2);
        size[j] = 1 + chance(seed, 3) * .7;
        angle[j] = tilted ? (chance(seed, 1001) - 500.) / 500 * .25 : 0;
    }
    volume v = volume_of(dim, ORDER[chance(seed, 6)], turned, size);
    volume_tilt(&v, angle);
    volume_mask(&v, seed, percent);
    return v;
}

static inline void volume_clear(volume *v)
{
    free(v->space.voxel);
    free(v->ground);
}

/* Where a voxel of the file is: the affine, one voxel at a time. */
static inline void volume_mm(const volume *v, ptrdiff_t i, double mm[3])
{
    const ptrdiff_t *d = v->space.dim, at[3] = {i % d[0], i / d[0] % d[1], i / d[0] / d[1]};
    for (int k = 0; k < 3; k++) {
        mm[k] = v->space.affine[k][3];
        for (int j = 0; j < 3; j++)
            mm[k] += v->space.affine[k][j] * (double)at[j];
    }
}

#endif
