#include "gp/spec.h"

#include <string.h>

const double kn_theta_lower = -10, kn_theta_upper = 5;

int kn_spec_n_theta(const kn_spec *spec)
{
    return kn_kernel_n_params(spec->task_kernel) + kn_kernel_n_params(spec->sample_kernel) + 1;
}

void kn_spec_theta_name(const kn_spec *spec, int i, char *name, size_t size)
{
    int task = kn_kernel_n_params(spec->task_kernel);
    int sample = kn_kernel_n_params(spec->sample_kernel);
    if (i < task)
        kn_kernel_param_name(spec->task_kernel, 'C', i, name, size);
    else if (i < task + sample)
        kn_kernel_param_name(spec->sample_kernel, 'R', i - task, name, size);
    else
        strncpy(name, "noise", size);
}

/* theta = [task, R0's, R.iso, noise];  inside = [task, R.iso, noise] */
static void sizes(const kn_spec *spec, size_t *task, size_t *r0, size_t *rest)
{
    *task = (size_t)kn_kernel_n_params(spec->task_kernel);
    *r0 = (size_t)kn_kernel_n_params(kn_spec_r0(spec));
    *rest = (spec->sample_kernel & KN_ISO ? 1u : 0u) + 1u;
}

void kn_spec_join(const kn_spec *spec, const double *r0, const double *inside, double *theta)
{
    size_t n_task, n_r0, n_rest;
    sizes(spec, &n_task, &n_r0, &n_rest);
    memcpy(theta, inside, n_task * sizeof *theta);
    memcpy(theta + n_task, r0, n_r0 * sizeof *theta);
    memcpy(theta + n_task + n_r0, inside + n_task, n_rest * sizeof *theta);
}

void kn_spec_split(const kn_spec *spec, const double *theta, double *r0, double *inside)
{
    size_t n_task, n_r0, n_rest;
    sizes(spec, &n_task, &n_r0, &n_rest);
    memcpy(inside, theta, n_task * sizeof *theta);
    memcpy(r0, theta + n_task, n_r0 * sizeof *theta);
    memcpy(inside + n_task, theta + n_task + n_r0, n_rest * sizeof *theta);
}
