/* Scores of parts of the people, each by a model of its own, as one: maps and tables of everybody
 * in an order that is given, metrics and calibration over all of them.
 *
 * What is of a person (z, statistic, p against the reference of that person's model) is taken as it
 * is. Metrics of a response are sums over people in original units, log losses each against the
 * trivial model of its own training. Cost: what is written, once more.            [METHOD 8] */
#ifndef KN_COMMANDS_SCORE_JOIN_JOIN_H
#define KN_COMMANDS_SCORE_JOIN_JOIN_H

#include "commands/score/participants_table.h"
#include "commands/score/provenance.h"
#include "io/file/row_spool.h"

typedef struct kn_join_plan { /* all lent, until the join is free */
    const kn_settings *s;     /* label, format, seed, ... of the whole */
    const kn_space *space;
    ptrdiff_t n;
    const ptrdiff_t *row;            /* n  of the covariates, in the order of the join */
    const bool *abnormal;            /* n  labelled; NULL: nobody can be */
    ptrdiff_t n_rows;                /* of the covariates */
    unsigned write;                  /* KN_MAP_... and KN_WRITE_METRICS */
    const char *scratch;             /* where maps wait in a file; NULL: in memory */
    const kn_exclusions *exclusions; /* of the whole */
} kn_join_plan;

/* What a person's cells add up to, for metrics of some people. */
typedef struct kn_join_person {
    double cells, loss;          /* that count for metrics, and their log loss less the trivial */
    double joint;                /* ln density of the whole map less the null model's */
    double n, sum, sum2, beyond; /* finite z, their sum and squares, and |z| > 1.96 */
    uint64_t values;             /* hash of the responses; 0: not made */
    bool measured;
} kn_join_person;

typedef struct kn_join {
    kn_join_plan plan;
    ptrdiff_t *place; /* n_rows: in the join; -1: not in it */
    kn_scores *scores;
    kn_join_person *person; /* n */
    char *header, **line;   /* people.tsv: n, then one for each who is absent */
    kn_row_spool map[KN_N_MAPS];
    kn_metric_sums *sums; /* T, in original units */
    double *noise_people; /* T  whose models had the response */
    double fdr_people;
    ptrdiff_t n_taken;
    const kn_sample *part; /* under way, lent */
} kn_join;

kn_status kn_join_new(kn_ctx *ctx, const kn_join_plan *plan, kn_join **out);
void kn_join_free(kn_join *j); /* NULL is fine */

/* kn_score of some of the people, into the join; every person once. The options name the maps that
 * the plan has, no label and no output. Ranks share the people (commands/score/mpi.h), and the
 * first alone has the join filled. Collective. */
kn_status kn_score_into(kn_ctx *ctx, const kn_model *model, kn_data *data,
                        const kn_options *options, kn_join *join);

/* After the last: everything over all, and the summary. */
kn_status kn_join_finish(kn_ctx *ctx, kn_join *j, const kn_provenance *from);

/* What _write would refuse, asked before the work; then maps, people.tsv, abnormality.tsv,
 * metrics.tsv and summary.json to a folder that is there. */
kn_status kn_join_check(kn_ctx *ctx, const kn_join *j, const char *dir,
                        const kn_write_options *options);
kn_status kn_join_write(kn_ctx *ctx, kn_join *j, const char *dir, const kn_write_options *options);

/* Bytes that it holds all the while, beside maps in memory. */
double kn_join_bytes(ptrdiff_t n, ptrdiff_t T);

/* ---- for score.c -------------------------------------------------------------------------------
 */

/* Who is labelled among a part, and what is asked of it beside. */
kn_status kn_join_begin(kn_ctx *ctx, kn_join *j, const kn_sample *part, kn_scores *s);
/* Maps of people row .. row + rows - 1 of the part, in the places of kn_map_name. */
kn_status kn_join_rows(kn_ctx *ctx, kn_join *j, const kn_scores *s, ptrdiff_t row, ptrdiff_t rows,
                       float *const *map);
/* All else of a part that is finished. */
kn_status kn_join_take(kn_ctx *ctx, kn_join *j, const kn_participants_table *sheet);

#endif
