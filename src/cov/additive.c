/* Implements additive.h: one term per block of the design; the se term follows the linear and
 * square terms. It is the default covariance between participants. */
#include "cov/additive.h"

/* Smallest length-scale as a multiple of the median distance. A shorter one makes se an indicator
 * of equal rows, which fits noise that neighbours have in common. */
static const double MIN_LENGTH = 0.5;

enum { BLOCKS = KN_COV_TERMS };

static const kn_kernel *const KERNEL[] = {
    [KN_DESIGN_LINEAR] = &kn_kernel_linear,
    [KN_DESIGN_QUADRATIC] = &kn_kernel_square,
    [KN_DESIGN_CATEGORY] = &kn_kernel_same,
    [KN_DESIGN_INTERACTION] = &kn_kernel_slopes,
};

static const char *const WORD[] = {
    [KN_DESIGN_LINEAR] = "linear",
    [KN_DESIGN_QUADRATIC] = "quadratic",
    [KN_DESIGN_CATEGORY] = "category",
    [KN_DESIGN_INTERACTION] = "slope",
};

kn_status kn_cov_before_design(kn_ctx *ctx, ptrdiff_t F, kn_cov *out)
{
    return kn_cov_parse(ctx, "linear+se", F, out);
}

kn_status kn_cov_of_design(kn_ctx *ctx, const kn_design *design, kn_cov *out)
{
    kn_design_block block[BLOCKS];
    int n = kn_design_blocks(design, block, BLOCKS), numbers = (design->Fc > 0) + (design->Fq > 0);
    kn_status status = KN_OK;
    *out = (kn_cov){.exact = true, .lowest = MIN_LENGTH};
    if (n > BLOCKS - 1)
        return kn_fail(ctx, KN_ERR_DATA,
                       "there are %d categories and interactions, but at most %d can be used; omit "
                       "some from {use}",
                       n - numbers, BLOCKS - 1 - numbers);
    for (int smooth = 0, k = 0; k < n; k++) {
        bool number = block[k].kind == KN_DESIGN_LINEAR || block[k].kind == KN_DESIGN_QUADRATIC;
        if (!number && !smooth++ && design->Fc > 0) /* se comes after linear and square */
            KN_TRY(kn_cov_add(ctx, out, &kn_kernel_se, 0, design->Fc));
        KN_TRY(kn_cov_add(ctx, out, KERNEL[block[k].kind], block[k].first, block[k].count));
        if (number && k == n - 1)
            KN_TRY(kn_cov_add(ctx, out, &kn_kernel_se, 0, design->Fc));
    }
out:
    return status;
}

kn_term_origin kn_cov_origin(const kn_cov *cov, const kn_design *design, int k)
{
    kn_design_block block[BLOCKS];
    int n = kn_design_blocks(design, block, BLOCKS);
    const kn_term *t = &cov->term[k];
    if (t->kernel == &kn_kernel_se)
        return (kn_term_origin){"smooth", -1, -1};
    for (int b = 0; b < n && b < BLOCKS; b++)
        if (KERNEL[block[b].kind] == t->kernel && block[b].first == t->first)
            return (kn_term_origin){WORD[block[b].kind], block[b].column, block[b].second};
    return (kn_term_origin){NULL, -1, -1};
}
