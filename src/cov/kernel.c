#include "cov/kernel.h"

#include <stdio.h>
#include <string.h>

#define ROW(name) &kn_kernel_##name,
static const kn_kernel *const KERNELS[] = {KN_KERNELS(ROW)};
#undef ROW
enum { N_KERNELS = sizeof KERNELS / sizeof *KERNELS };

const kn_kernel *kn_kernel_at(int i)
{
    return i < N_KERNELS ? KERNELS[i] : NULL;
}

const kn_kernel *kn_kernel_named(const char *name, size_t length)
{
    for (int i = 0; i < N_KERNELS; i++)
        if (strlen(KERNELS[i]->name) == length && memcmp(KERNELS[i]->name, name, length) == 0)
            return KERNELS[i];
    return NULL;
}

const char *kn_kernel_list(bool between, const char *other, const char *last, char *out,
                           size_t size)
{
    int listed[N_KERNELS], n = 0;
    size_t used = 0;
    for (int i = 0; i < N_KERNELS; i++)
        if (!between || !KERNELS[i]->same_sample_only)
            listed[n++] = i;
    out[0] = 0;
    for (int k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 k == 0       ? ""
                                 : k == n - 1 ? last
                                              : other,
                                 KERNELS[listed[k]]->name);
    return out;
}
