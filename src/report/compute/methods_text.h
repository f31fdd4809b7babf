/* Paragraphs of the methods section, which methods_section.c assembles; methods_text.c
 * implements them. */
#ifndef KN_REPORT_COMPUTE_METHODS_TEXT_H
#define KN_REPORT_COMPUTE_METHODS_TEXT_H

#include <jansson.h>

#include "report/compute/compute.h"
#include "report/text/sentence.h"

/* Papers that a paragraph may cite; KN_PAPER_METHOD is the paper of the fitted method. */
typedef enum kn_paper {
    KN_PAPER_METHOD,
    KN_PAPER_NORMATIVE,
    KN_PAPER_PROCESSES,
    KN_PAPER_SHASH,
    KN_PAPER_FDR,
    KN_PAPER_AUC,
    KN_PAPER_MODERATED,
    KN_PAPERS
} kn_paper;

typedef struct kn_methods {
    const kn_report_job *job;
    json_t *model, *folder; /* records of the model and of the folder; NULL: none */
    bool cited[KN_PAPERS];
    kn_sentence say;
} kn_methods;

/* Each adds sentences to m->say, or nothing if nothing is known. */
/* Training sample, method, covariance, components, noise. */
void kn_methods_model(kn_methods *m);
void kn_methods_calibration(kn_methods *m); /* z-scores and their calibration */
void kn_methods_abnormality(kn_methods *m); /* statistic, p, deviance, false discoveries */
void kn_methods_people(kn_methods *m);      /* scored participants, groups, change */
/* Appends `words`, such as " (Kia & Marquand, 2018)", and marks the paper as cited. */
void kn_methods_cite(kn_methods *m, kn_paper paper, const char *words);

#endif
