/* Predicts the peak memory of a fit or of scoring from the sizes of the problem alone; see
 * base/memory/plan.h. */
#ifndef KN_COMMANDS_MEMORY_MEMORY_NEED_H
#define KN_COMMANDS_MEMORY_MEMORY_NEED_H

#include <stdbool.h>

#include "base/memory/plan.h"
#include "gp/method.h"

typedef struct kn_need { /* bytes at the moment of peak memory */
    double responses;    /* N x T, as read: may be in a scratch file instead */
    double samples;      /* matrices over pairs of participants: N x N or N x M */
    double basis;        /* T x P, or in its place alpha N x T, U_D T x T; scoring: the model */
    double reference;    /* z of the training sample, whole-map deviance, top fraction */
    double work;         /* everything else that grows with the problem */
    double program;      /* the program itself, buffers of the BLAS */
    const char *stage;   /* name of the stage at the peak */
} kn_need;

/* Sum of all parts. */
double kn_need_total(const kn_need *need);
double kn_need_program(int threads); /* bytes of the program part */

/* Runs the memory plan of a fit or of scoring (shape->scoring). */
void kn_need_of(const kn_problem_size *shape, kn_need *out);

/* Bytes of responses in memory if they are in a scratch file: the columns that all threads read, or
 * in scoring the rows of a minibatch. */
double kn_need_window(const kn_problem_size *shape);

#endif
