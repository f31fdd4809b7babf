/* What compute_words.c is made of. */
#ifndef KN_REPORT_COMPUTE_METHODS_TEXT_H
#define KN_REPORT_COMPUTE_METHODS_TEXT_H

#include <jansson.h>

#include "report/compute/compute.h"
#include "report/text/sentence.h"

/* Papers that a paragraph may cite; the method of the model has its own. */
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
    json_t *model, *folder; /* their records; NULL: none */
    bool cited[KN_PAPERS];
    kn_sentence say;
} kn_methods;

/* Each adds sentences to m->say, or nothing where nothing is known. */
void kn_methods_model(
    kn_methods *m); /* the people, the method, the covariance, components, noise */
void kn_methods_calibration(kn_methods *m); /* z, and how well it is calibrated */
void kn_methods_abnormality(kn_methods *m); /* statistic, p, deviance, false discoveries */
void kn_methods_people(kn_methods *m);      /* who was scored; groups; change */
void kn_methods_cite(kn_methods *m, kn_paper paper,
                     const char *words); /* " (Kia & Marquand, 2018)" */

#endif
