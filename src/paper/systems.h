/* The compared systems, and the options of `fit` that define each of them. A new system needs a
 * row in systems.c, a colour in figure.c and a word of {methods} in options.def. */
#ifndef KN_PAPER_SYSTEMS_H
#define KN_PAPER_SYSTEMS_H

#include "base/options/options.h"

typedef enum kn_system_number { /* in the order of the words of {methods} */
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
    KN_VAR_ISO_EXACT = 1, /* the paper's model with the exact likelihood and the nested optimiser */
    KN_VAR_DEFAULT = 2,   /* the additive model; every pattern counts as new */
    /* The additive model, predicting within training patterns; split by scan only. */
    KN_VAR_KNOWN = 3,
    KN_N_VARIANTS
} kn_variant;
#define KN_VARIANT_WORDS "paper|iso-exact|default|known"

typedef struct kn_system {
    const char *name;    /* in {methods} and results.tsv */
    const char *title;   /* in text and figures */
    const char *options; /* options of fit: "key=value key=value" */
    bool components;     /* accepts numbers of components */
    bool variants;       /* runs in every variant; otherwise only in the default */
    bool outside;        /* needs fewer components than the training scans have */
} kn_system;

typedef struct kn_variant_row {
    const char *name, *options; /* as above */
    bool groups;                /* scans of one pattern share noise, or stay in one fold */
} kn_variant_row;

extern const kn_system kn_systems[KN_N_METHODS];
extern const kn_variant_row kn_variants[KN_N_VARIANTS];

/* Creates the options of fit for a system and variant; *out is owned by the caller. An unknown
 * option is refused as on the command line. */
kn_status kn_system_options(kn_ctx *ctx, int system, int variant, kn_options **out);

#endif
