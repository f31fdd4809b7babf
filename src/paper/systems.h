/* The systems that the experiment compares, and the options of `fit` that make each of them. A
 * further one is a row here, a colour in figure.c and a word of {methods} in options.def. */
#ifndef KN_PAPER_SYSTEMS_H
#define KN_PAPER_SYSTEMS_H

#include "base/options/options.h"

typedef enum kn_system_number { /* by their place among the words of {methods} */
                                KN_RUN_SMTGPR,
                                KN_RUN_STGPR,
                                KN_RUN_KRONPROD,
                                KN_RUN_WHITENED,
                                KN_RUN_KRONSUM,
                                KN_RUN_MTGPR,
                                KN_RUN_CONVOLVED,
                                KN_N_METHODS
} kn_system_number;
#define KN_SYSTEM_WORDS "smtgpr|stgpr|kronprod|whitened|kronsum|mtgpr|convolved"

typedef enum kn_variant {
    KN_VAR_PAPER = 0,     /* the paper's likelihood, kernels and optimiser */
    KN_VAR_ISO_EXACT = 1, /* its model, with the exact likelihood and the nested optimiser */
    KN_VAR_DEFAULT = 2,   /* the additive model; every pattern is new */
    KN_VAR_KNOWN = 3, /* the additive model within patterns of training: scans alone have them */
    KN_N_VARIANTS
} kn_variant;
#define KN_VARIANT_WORDS "paper|iso-exact|default|known"

typedef struct kn_system {
    const char *name;    /* as {methods} and results.tsv have it */
    const char *title;   /* in sentences and figures */
    const char *options; /* of fit: "key=value key=value" */
    bool components;     /* it takes numbers of components */
    bool variants;       /* it has every variant; the others are their default alone */
    bool outside;        /* its components may not be all that the training scans have */
} kn_system;

typedef struct kn_variant_row {
    const char *name, *options; /* as above */
    bool groups;                /* scans of one pattern share noise, or stay in one fold */
} kn_variant_row;

extern const kn_system kn_systems[KN_N_METHODS];
extern const kn_variant_row kn_variants[KN_N_VARIANTS];

/* The options of fit for a system in one of its variants; *out is the caller's. A word that no
 * option has is refused as the command would refuse it. */
kn_status kn_system_options(kn_ctx *ctx, int system, int variant, kn_options **out);

#endif
