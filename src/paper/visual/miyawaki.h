/* Simulates an experiment in the layout of the public data set of Miyawaki et al. (2008, Neuron
 * 60:915), with its folders, file names, number types and sizes, so that one loader reads both.
 *
 *     DIR/func/data_random_run01.nii.gz ...  data_figure_run01.nii.gz ...     float64, 4D, masked
 *     DIR/label/data_random_run01_label.csv ...     a row per scan: 100 pixels 0 or 1; -1 in rest
 *     DIR/mask/mask.nii.gz  {LH,RH}{V1d,...}.nii.gz  {LH,RH}lag{0to1,...}.nii.gz     int64
 *     DIR/bg.nii.gz  README  LICENSE  truth/truth.json  truth/abnormality.nii.gz
 *
 * At scan t of a run, voxel v:
 *
 *     y = base(v) + sd(v) (g(v) (on + r(v, x)) + a u A(v) + e(t, v) + drift(t, v))
 *
 * x is the image two scans before, on = 1 when there was one. r = 2 tanh(d/2), d the sum of x
 * under a Gaussian receptive field, centred and scaled over random patterns. e has variance 1:
 * smooth components, correlated in time, and white noise. A, smooth over a few millimetres, is
 * added for figures only; a is its strength and u varies from figure to figure. Even with a = 0,
 * figures differ from random patterns because they are connected, and models trained on random
 * patterns predict them less well. */
#ifndef KN_PAPER_VISUAL_MIYAWAKI_H
#define KN_PAPER_VISUAL_MIYAWAKI_H

#include <stdint.h>

#include "io/formats/nifti_header.h"

typedef enum kn_miyawaki_size {
    KN_MIYAWAKI_SMALL = 0, /* 4 + 2 runs of 12 x 12 x 6 voxels, 200 in the mask */
    KN_MIYAWAKI_FULL = 1   /* 20 + 12 runs of 64 x 64 x 30, 5438 in the mask */
} kn_miyawaki_size;

typedef struct kn_miyawaki_options {
    kn_miyawaki_size size; /* default full */
    double strength;       /* a: sd over voxels, in noise sd; 0: figures are normal */
    uint64_t seed;         /* default 1 */
    const char *dir;
    bool force; /* dir may be non-empty; see cohort/output_folder.h */
} kn_miyawaki_options;

/* Sets the defaults, which are given with the fields above. */
void kn_miyawaki_options_init(kn_miyawaki_options *options);

typedef struct kn_miyawaki_summary {
    ptrdiff_t voxels;                                 /* in the mask */
    ptrdiff_t random_runs, random_scans, random_rows; /* scans per run; total rows without rest */
    ptrdiff_t figure_runs, figure_scans, figure_rows;
    double random_fill, figure_fill; /* mean share of lit pixels */
    /* Share of variance explained by the random patterns, without drift; mean over voxels. */
    double r2;
} kn_miyawaki_summary;

/* Simulates and writes the experiment. The bytes depend on the options except dir and force, not
 * on the number of threads. `out` may be NULL. */
kn_status kn_sim_miyawaki(kn_ctx *ctx, const kn_miyawaki_options *options,
                          kn_miyawaki_summary *out);

/* Returns the image grid of a size, and the number of voxels in its mask. */
void kn_miyawaki_grid(kn_miyawaki_size size, kn_nifti_header *grid, ptrdiff_t *voxels);

#endif
