/* Implements blas_core.h. */
#include "la/blas_core.h"

#include <cblas.h>
#include <stddef.h>
#include <strings.h>

const char *kn_la_core(void)
{
    return openblas_get_corename();
}

const char *kn_la_config(void)
{
    return openblas_get_config();
}

/* Does this kernel set use neither AVX2 nor AVX-512? */
static int is_old(const char *core)
{
    static const char *const old[] = {"Prescott",  "Core2",       "Penryn",    "Dunnington",
                                      "Nehalem",   "Opteron",     "Barcelona", "Bobcat",
                                      "Atom",      "Nano",        "Katmai",    "Coppermine",
                                      "Northwood", "Banias",      "Athlon",    "Generic",
                                      "Unknown",   "Sandybridge", "Bulldozer", "Piledriver"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcasecmp(core, old[i]) == 0)
            return 1;
    return 0;
}

const char *kn_la_better_core(void)
{
#if defined(__x86_64__)
    if (!is_old(kn_la_core()))
        return NULL;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}
