/* Implements likelihood_spec.h: the order of the parameters in theta. Names of parameters in
 * messages and files come from here. */
#include "gp/likelihood_spec.h"

#include <string.h>

const double kn_theta_lower = -10, kn_theta_upper = 5;

int kn_spec_n_theta(const kn_spec *spec)
{
    return spec->task.n_theta + spec->sample.n_theta + 1;
}

void kn_spec_theta_name(const kn_spec *spec, int i, char *name, size_t size)
{
    int task = spec->task.n_theta, sample = spec->sample.n_theta;
    if (i < task)
        kn_cov_param_name(&spec->task, 'C', i, name, size);
    else if (i < task + sample)
        kn_cov_param_name(&spec->sample, 'R', i - task, name, size);
    else
        strncpy(name, "noise", size);
}

/* Sets the sizes of the parts of theta = [task, R0's, R.iso, noise]; inside = [task, R.iso,
 * noise]; rest counts R.iso and noise. */
static void count_parameters(const kn_spec *spec, size_t *task, size_t *r0, size_t *rest)
{
    *task = (size_t)spec->task.n_theta;
    *r0 = (size_t)kn_cov_between(&spec->sample).n_theta;
    *rest = (size_t)spec->sample.n_theta - *r0 + 1;
}

void kn_spec_join(const kn_spec *spec, const double *r0, const double *inside, double *theta)
{
    size_t n_task, n_r0, n_rest;
    count_parameters(spec, &n_task, &n_r0, &n_rest);
    memcpy(theta, inside, n_task * sizeof *theta);
    memcpy(theta + n_task, r0, n_r0 * sizeof *theta);
    memcpy(theta + n_task + n_r0, inside + n_task, n_rest * sizeof *theta);
}

void kn_spec_split(const kn_spec *spec, const double *theta, double *r0, double *inside)
{
    size_t n_task, n_r0, n_rest;
    count_parameters(spec, &n_task, &n_r0, &n_rest);
    memcpy(inside, theta, n_task * sizeof *theta);
    memcpy(r0, theta + n_task, n_r0 * sizeof *theta);
    memcpy(inside + n_task, theta + n_task + n_r0, n_rest * sizeof *theta);
}
