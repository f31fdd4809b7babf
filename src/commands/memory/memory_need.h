/* The memory a fit or a scoring will take, rehearsed from the sizes of the problem alone: see
 * base/memory/plan.h. */
#ifndef KN_COMMANDS_MEMORY_MEMORY_NEED_H
#define KN_COMMANDS_MEMORY_MEMORY_NEED_H

#include <stdbool.h>

#include "base/memory/plan.h"
#include "gp/method.h"

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
double kn_need_program(int threads); /* that part of it */

void kn_need_of(const kn_problem_size *shape, kn_need *out);

/* Of the responses when they are in a file: the columns that all threads are at, or in scoring the
 * rows of a batch. */
double kn_need_window(const kn_problem_size *shape);

#endif
