/* Internals shared by the files of report/compute. compute.h lists the steps that report.c calls;
 * the declarations here are helpers of these steps, one section per file. */
#ifndef KN_REPORT_COMPUTE_INTERNAL_H
#define KN_REPORT_COMPUTE_INTERNAL_H

#include <jansson.h>

#include "report/compute/compute.h"
#include "report/input/records.h"
#include "report/report.h"
#include "report/text/sentence.h"

/* ---- cluster.c ---- */

/* Cluster detection in a z-map: connected responses with |z| above a threshold and the same sign
 * [METHOD 11c]
 *
 * Neighbours are the 26 voxels that share a face, an edge or a corner, or the vertices joined by
 * an edge of the mesh. Union-find over the responses above the threshold, O(T) per map. */

typedef struct kn_clusters kn_clusters;

/* Builds the neighbourhood of T responses. *out is NULL with KN_OK if neighbours are not defined
 * (a table, vertices without their mesh, regions). `space` is borrowed and must outlive *out. */
kn_status kn_clusters_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_clusters **out);
/* Frees the neighbourhood of voxels or vertices that clusters are searched in; NULL is allowed. */
void kn_clusters_free(kn_clusters *c);

/* Result of kn_clusters_find. */
typedef struct kn_cluster_list {
    kn_report_cluster *cluster; /* array of `limit` entries, borrowed from the caller */
    ptrdiff_t limit, n, found;  /* capacity; clusters written; clusters found */
    ptrdiff_t singles;          /* number of clusters of one response */
} kn_cluster_list;

/* Finds the clusters of the map z (T, NaN: missing) beyond |z| = threshold, and writes the first
 * out->limit of them to the caller's array, sorted by size, then |z| of the peak, then its index.
 * Fails only without memory. O(T). */
kn_status kn_clusters_find(kn_ctx *ctx, kn_clusters *c, const float *z, double threshold,
                           kn_cluster_list *out);

/* ---- distinct_participants.c ---- */

/* Maps rows to distinct participants, so that a statistic counts each participant once   [METHOD
 * 11a]
 *
 * Rows with one id are repeated measures of one participant, and so are the pairs of visits of
 * one participant. In the training sample, rows that share noise form one unit, as the model
 * grouped them. */

typedef struct kn_distinct_participants {
    ptrdiff_t n;    /* distinct participants */
    ptrdiff_t rows; /* rows that belong to them */
    /* Participant of each row of the zhist, 0 .. n-1 in order of appearance; -1: not counted. */
    ptrdiff_t *of;
} kn_distinct_participants;

/* Groups the rows that have a z-score: those of the training sample, or the normal ones of the
 * folder. */
kn_status kn_distinct_participants_new(kn_ctx *ctx, const kn_report_job *job, bool training,
                                       kn_distinct_participants *out);
/* Frees the arrays; accepts {0}. */
void kn_distinct_participants_clear(kn_distinct_participants *u);

/* Returns sqrt(1 + n/N), the factor that widens intervals of n participants scored by a model of
 * N others (or groups), because both are uncertain. Returns 1 for the training sample, and if
 * every participant was held out once. */
double kn_distinct_participants_widening(const kn_report_job *job, bool training, ptrdiff_t n);

/* ---- names.c ---- */

/* Returns the name of a term of the covariance for texts: "quadratic" for "curved". */
const char *kn_report_term(const char *term);

/* Replaces the levels in the label of a curve, "sex=0,site=mean", by their names in r->names. */
kn_status kn_names_of_label(kn_ctx *ctx, kn_report *r, const char *label, const char **out);

/* ---- participants_order.c ---- */

/* Order, ranks and selection of the scored participants; these functions read no files. */

/* Fills participants.order and participant.rank, most abnormal first: smallest p, then largest
 * statistic; participants without a value last, ties in table order. [METHOD 11c] */
kn_status kn_participants_sort(kn_ctx *ctx, kn_report *r);

/* Computes p[i] = (1 + #{others >= value})/n among the other n - 1 participants with a value, of
 * its absolute value if `sizes`; NaN for participants without a value, and if there is no other
 * [METHOD 8] */
kn_status kn_participants_rank(kn_ctx *ctx, const double *value, ptrdiff_t n, bool sizes,
                               double *p);

/* Counts the flagged controls (kn_is_flagged) and their expected range: participants that are no
 * cases, not in training and not in the reference sample, each flagged with probability `rate`
 * (kn_reference_population_rate). The range is NaN if no p can be that small. Counts the flagged
 * cases too, and in both groups those with extreme_z_p <= .05.   [METHOD 11c] */
void kn_participants_count(kn_report *r, double rate);

/* Names by which participants can be selected. id: as in the files; participant: NULL, or for
 * change the participant without the visits; where: the file or model that lists them, for the
 * error message. */
typedef struct kn_participant_names {
    const char *const *id;
    const char *const *participant;
    const char *where;
} kn_participant_names;

/* Selects the participants that get a card. selection: a number N of the most abnormal, or ids
 * separated by commas. An unknown id is an error. */
kn_status kn_participants_choose_cards(kn_ctx *ctx, kn_report *r, const char *selection,
                                       const kn_participant_names *named);

/* ---- reference_population.c ---- */

/* Finds the reference sample of the p-values, for the text of the report   [METHOD 8, 11c] */

/* Fills participants.compared, .reference_n, .reference_in_folder and .training_in_sample. summary:
 * summary.json of the folder. */
kn_status kn_reference_population_find(kn_ctx *ctx, const kn_report_job *job,
                                       const json_t *summary);

/* Returns the expected share of normal participants with a rank p-value of .05 or less among n
 * others: floor(.05 (n + 1))/(n + 1); for cv the mean over the models of all folds. NaN if the
 * counted participants are themselves the reference sample. */
double kn_reference_population_rate(const kn_report_job *job);

/* ---- space.c, space_surface.c ---- */

/* The two kinds of response location that kn_compute_space dispatches to. */

/* Fills the space of responses that are voxels of an image: grid, affine, grey background. */
kn_status kn_space_volume(kn_ctx *ctx, const kn_report_job *job);
/* Fills the space of responses on surfaces: meshes, sulcal depth, labels, and the response of each
 * vertex. */
kn_status kn_space_surface(kn_ctx *ctx, const kn_report_job *job);

/* ---- methods_text.c ---- */

/* Paragraphs of the methods section, which methods_section.c assembles; methods_text.c
 * implements them. */

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
    kn_sentence sentence;
} kn_methods;

/* Each adds sentences to m->sentence, or nothing if nothing is known. */
/* Appends sentences on training sample, method, covariance, components and noise, or nothing
 * without a model. */
void kn_methods_model(kn_methods *m);
/* Appends sentences on the z-scores and their calibration to the methods text, or nothing if
 * nothing is known. */
void kn_methods_calibration(kn_methods *m);
/* Appends sentences on the extreme-value statistic, p-values, deviance and false discovery rate, or
 * nothing. */
void kn_methods_abnormality(kn_methods *m);
/* Appends sentences on the scored participants, the comparison of groups, or change. */
void kn_methods_participants(kn_methods *m);
/* Appends the paragraph of results: calibration, accuracy, flagged participants, groups. */
void kn_methods_results(kn_methods *m);

/* ---- warnings_fit.c, warnings_participants.c ---- */

/* Rules of the summary   [METHOD 11b]. Each rule checks one property and adds a warning, or a
 * sentence to the list of good results, or nothing if the property is not known. summary.c calls
 * them in order. */

typedef kn_status (*kn_summary_rule)(kn_ctx *ctx, const kn_report_job *job);

/* Judges the mean z^2 (expected 1); adds a warning or a good result. */
kn_status kn_summary_calibration(kn_ctx *ctx, const kn_report_job *job);
/* Judges the mean z (expected 0); adds a warning or a good result. */
kn_status kn_summary_shift(kn_ctx *ctx, const kn_report_job *job);
/* Judges the outer tenths of the PIT histogram (expected 10 % each); adds a warning or a good
 * result. */
kn_status kn_summary_shape(kn_ctx *ctx, const kn_report_job *job);
/* Judges the gain of the covariates over the null model; adds a warning, a note or a good result.
 */
kn_status kn_summary_gain(kn_ctx *ctx, const kn_report_job *job);
/* Warns if the length of the smooth term is so short that curves may overfit. */
kn_status kn_summary_wiggly(kn_ctx *ctx, const kn_report_job *job);
/* Judges whether too many or too few participants are flagged; adds a warning or a good result. */
kn_status kn_summary_abnormal(kn_ctx *ctx, const kn_report_job *job);
/* Adds a note on the smallest possible p-value if the reference sample is small or sites are
 * unknown. */
kn_status kn_summary_few(kn_ctx *ctx, const kn_report_job *job);

/* warnings_participants.c: which participants need a second look? */
/* Adds a warning that lists participants whose map looks like an error of the data; nothing if
 * there are none. */
kn_status kn_summary_implausible(kn_ctx *ctx, const kn_report_job *job);
/* Warns of participants from sites, or with levels of other categories, that the training sample
 * does not have. */
kn_status kn_summary_sites(kn_ctx *ctx, const kn_report_job *job);
/* Warns of members of the training sample among the scored participants, or notes that there are
 * none. */
kn_status kn_summary_training_participants(kn_ctx *ctx, const kn_report_job *job);
/* Warns if more participants than chance allows have covariates far from the training sample, else
 * notes that they are within. */
kn_status kn_summary_extrapolation(kn_ctx *ctx, const kn_report_job *job);
/* Warnings that score, cv or change recorded in the folder. */
kn_status kn_summary_folder(kn_ctx *ctx, const kn_report_job *job);

/* Returns the number of training participants; 0: not known. */
ptrdiff_t kn_summary_training(const kn_report_job *job);
/* Formats the size of the training sample: "48 participants", or "48 maps in 24 groups" if rows
 * share noise. */
kn_status kn_summary_training_words(kn_ctx *ctx, const kn_report_job *job, const char **out);

/* ---- responses.c ---- */

/* Copies n numbers to *out in the arena of the report; NULL if x is NULL or n is 0. Fails only
 * without memory. */
kn_status kn_report_copy_numbers(kn_ctx *ctx, kn_report *r, const double *x, ptrdiff_t n,
                                 double **out);

#endif
