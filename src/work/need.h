/* The memory a fit or a scoring will take, from the sizes of the problem alone: see need.c. */
#ifndef KN_WORK_NEED_H
#define KN_WORK_NEED_H

#include <stdbool.h>

#include "gp/fit_info.h"

typedef struct kn_need_shape {
    bool scoring;    /* of N new samples by a model; then only N, T, value and these count: */
    double model;    /* bytes of the model in memory */
    ptrdiff_t train; /* its samples */
    kn_method method;
    bool iso;          /* iso noise */
    bool rotated;      /* a task kernel that turns the basis: se, or linear over a given basis */
    bool given_basis;  /* not from the responses */
    ptrdiff_t N, T, F; /* samples, responses, covariates */
    ptrdiff_t P;       /* components; 0: auto */
    ptrdiff_t M;       /* rank of the decomposition of R; N: dense */
    ptrdiff_t low;     /* rank that may be enough where dense has no room; 0: none */
    ptrdiff_t range;   /* columns of a range finder for the basis; 0: by the N x N Gram matrix */
    int folds;         /* 0: no reference */
    double top;        /* share of the responses in the abnormality statistic */
    int value;         /* bytes of one response as it is held: 4 or 8 */
    double held;       /* bytes that stay with the input files, such as the text of a table */
    double reading;    /* bytes of work while responses are read */
    int threads;
} kn_need_shape;

typedef struct kn_need { /* bytes, at the moment when their sum is largest */
    double responses;    /* N x T, as read: the part that can be in a file */
    double samples;      /* matrices over pairs of samples: N x N or N x M */
    double basis; /* T x P, or what takes its place: alpha N x T, U_D T x T; scoring: the model */
    double reference;  /* z of the training samples, joint deviance, top fraction */
    double work;       /* everything else that grows with the problem */
    double program;    /* the program itself, buffers of the BLAS */
    const char *stage; /* that moment */
} kn_need;

double kn_need_total(const kn_need *need);

void kn_need_of(const kn_need_shape *shape, kn_need *out);

/* Of the responses when they are in a file: the columns that all threads are at, or in scoring the
 * rows of a batch. */
double kn_need_window(const kn_need_shape *shape);

#endif
