/* Loads the visual experiment in the layout of the public data set of Miyawaki et al. (2008,
 * Neuron 60:915), real or simulated.
 *
 *     DIR/func/data_{random,figure}_runNN.nii.gz      4D, one volume per scan
 *     DIR/label/data_{random,figure}_runNN_label.csv  a row per scan: the pixels; -1 during rest
 *     DIR/mask/mask.nii.gz                            voxels to use
 *
 * The numbers of runs, scans, pixels and voxels are read from the files. Each run is
 * preprocessed separately: the least-squares line of every voxel is subtracted, scan t +
 * KN_VISUAL_SHIFT is paired with label row t (the haemodynamic delay), and rows of rest are
 * removed. */
#ifndef KN_PAPER_VISUAL_LOAD_H
#define KN_PAPER_VISUAL_LOAD_H

#include <stdint.h>

#include "base/matrix.h"

enum { KN_VISUAL_SHIFT = 2 }; /* scans */

typedef struct kn_visual {
    ptrdiff_t n;          /* rows: random patterns first, then figures */
    ptrdiff_t n_random;   /* rows of random patterns */
    ptrdiff_t runs[2];    /* random, figure */
    kn_mat X;             /* n x pixels, in the order of the label files */
    kn_mat Y;             /* n x voxels, in file order (x fastest) */
    ptrdiff_t *pattern;   /* n: index of the first row with the same pixels */
    uint64_t fingerprint; /* hash of the data, to recognise them when resuming */
} kn_visual;

/* Reads the experiment below dir into *out (kn_visual_clear). KN_ERR_IO, KN_ERR_FORMAT,
 * KN_ERR_SHAPE or KN_ERR_DATA if files are missing or do not fit together; can be cancelled. */
kn_status kn_visual_read(kn_ctx *ctx, const char *dir, kn_visual *out);
/* Frees the data; {0} is allowed. */
void kn_visual_clear(kn_visual *v);

#endif
