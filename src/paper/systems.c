/* Implements systems.h: the tables of systems and variants. A system is a method with the options
 * that the experiment uses. */
#include "paper/systems.h"

#include <stdio.h>
#include <string.h>

const kn_system kn_systems[KN_N_METHODS] = {
    [KN_RUN_SMTGPR] = {"smtgpr", "S-MTGPR", "method=smtgpr", true, true, false},
    [KN_RUN_STGPR] = {"stgpr", "STGPR", "method=stgpr", false, false, false},
    [KN_RUN_KRONPROD] = {"kronprod", "MT-Kronprod", "method=kronprod", false, false, false},
    [KN_RUN_WHITENED] = {"whitened", "S-MTGPR, whitened", "noise=whitened", true, false, true},
    [KN_RUN_KRONSUM] = {"kronsum", "MT-Kronsum", "method=kronsum", false, false, false},
    [KN_RUN_MTGPR] = {"mtgpr", "MTGPR", "method=mtgpr", true, false, false},
    [KN_RUN_CONVOLVED] = {"convolved", "Convolved", "method=convolved", true, false, false},
};

/* 100 evaluations is the default limit of fmin_tnc, the paper's optimiser. */
const kn_variant_row kn_variants[KN_N_VARIANTS] = {
    [KN_VAR_PAPER] = {"paper",
                      "noise=iso likelihood=paper optimiser=tnewton max_evals=100 "
                      "sample_kernel=linear+se+iso task_kernel=linear+se+iso",
                      false},
    [KN_VAR_ISO_EXACT] = {"iso-exact", "noise=iso", false},
    [KN_VAR_DEFAULT] = {"default", "", true},
    [KN_VAR_KNOWN] = {"known", "", true},
};

/* Sets options from a text of key=value pairs with spaces between; KN_ERR_ARGUMENT if one is
 * unknown or malformed. */
static kn_status set_all(kn_ctx *ctx, kn_options *o, const char *pairs)
{
    kn_status status = KN_OK;
    while (status == KN_OK && *pairs) {
        char key[32], value[64];
        int n = 0;
        if (sscanf(pairs, "%31[^=]=%63[^ ]%n", key, value, &n) != 2)
            return kn_fail(ctx, KN_ERR_ARGUMENT, "'%s': expected key=value", pairs);
        status = kn_options_set(ctx, o, key, value);
        pairs += n + (pairs[n] == ' ');
    }
    return status;
}

kn_status kn_system_options(kn_ctx *ctx, int system, int variant, kn_options **out)
{
    kn_status status;
    *out = NULL;
    KN_TRY(kn_options_new(ctx, "fit", out));
    KN_TRY(kn_options_set(ctx, *out, "calibrate", "none")); /* z-scores as in the paper */
    KN_TRY(set_all(ctx, *out, kn_systems[system].options));
    KN_TRY(set_all(ctx, *out, kn_variants[variant].options));
out:
    if (status != KN_OK) {
        kn_options_free(*out);
        *out = NULL;
    }
    return status;
}
