/* Implements sample.h. Training and application share the steps in gather(): pair rows, encode
 * covariates, select the job part, find groups, read responses. */
#include "data/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash/xxh64.h"
#include "base/mpi/comm.h"
#include "base/suggest.h"
#include "data/canonical_order.h"
#include "data/mpi/gather_responses.h"
#include "data/outlier_checks.h"
#include "data/outlier_fill.h"
#include "data/preloaded.h"
#include "data/read_responses.h"
#include "data/responses/responses.h"
#include "data/scaling.h"
#include "data/table/column_role.h"
#include "data/table/columns.h"
#include "data/table/select_columns.h"
#include "data/table/sessions.h"
#include "data/table/text_list.h"
#include "data/table/warn_suspicious.h"
#include "io/file/path.h"

void kn_sample_clear(kn_sample *p)
{
    kn_outliers_restore(&p->outliers, p->Y, p->own); /* preloaded values are used again */
    kn_outliers_clear(&p->outliers);
    kn_free(p->covariate_row);
    kn_free(p->order);
    kn_free(p->id);
    kn_encoding_clear(&p->encoding);
    kn_mat_clear(&p->X);
    kn_grouping_clear(&p->grouping);
    kn_names_free(p->group_text, p->n);
    kn_space_clear(&p->space);
    kn_scratch_clear(&p->scratch);
    kn_free(p->values);
    kn_free(p->other_row);
    kn_free(p->outlying_row);
    *p = (kn_sample){0};
}

/* ---- job parts ------------------------------------------------------------------------------- */

/* Parses the digits at *text and moves *text behind them. Returns the number, or -1 if there are no
 * digits; more than KN_JOB_PARTS_MAX means too many. */
static ptrdiff_t parse_digits(const char **text)
{
    ptrdiff_t x = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9' && x <= KN_JOB_PARTS_MAX; c++)
        x = 10 * x + (*c - '0');
    ptrdiff_t digits = c - *text;
    *text = c;
    return digits > 0 ? x : -1;
}

kn_status kn_job_part_parse(kn_ctx *ctx, const char *text, kn_job_part *out)
{
    *out = (kn_job_part){0};
    if (!text)
        return KN_OK;
    const char *c = text;
    ptrdiff_t i = parse_digits(&c), n = *c == '/' ? (c++, parse_digits(&c)) : -1;
    if (*c || i < 1 || n < i || n > KN_JOB_PARTS_MAX)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{part} is '%.40s', but must be I/N with I from 1 to N and N up to %d, such as 3/10",
            text, KN_JOB_PARTS_MAX);
    *out = (kn_job_part){i, n};
    return KN_OK;
}

ptrdiff_t kn_job_part_size(kn_job_part p, ptrdiff_t n_participants)
{
    if (p.n == 0)
        return n_participants;
    return n_participants < p.i ? 0 : (n_participants - p.i) / p.n + 1;
}

/* ---- groups of repeated measures ------------------------------------------------------------- */

/* Returns the id of the participant of row i without its session: rows with ids per session still
 * belong to one participant. Borrowed. */
static const char *participant_of(const kn_data *d, const kn_sample *p, ptrdiff_t i)
{
    const char *participant = kn_data_participant(d, p->covariate_row[i]);
    return participant ? participant : p->id[i];
}

/* Sets p->grouping, the rows of a training sample that share noise, by {group}. Explicit sums of
 * kernels have no groups. Warns if ids repeat and rows share no noise. */
static kn_status find_groups(kn_ctx *ctx, const kn_data *d, const kn_settings *s, kn_sample *p)
{
    kn_status status = KN_OK;
    void *participant = NULL;
    if (kn_settings_additive(s)) {
        if (p->id)
            KN_TRY(kn_alloc(ctx, p->n, sizeof(char *), &participant));
        for (ptrdiff_t i = 0; participant && i < p->n; i++)
            ((const char **)participant)[i] = participant_of(d, p, i);
        kn_group_source from = {d->covariates, p->covariate_row, participant, &p->encoding, p->X};
        KN_TRY(kn_grouping_find(ctx, &from, s->group, &p->grouping));
    }
    if (p->grouping.rule == KN_GROUP_NONE && d->match.repeat[1] > 0)
        kn_log(
            ctx, KN_LOG_WARNING,
            "%s: some IDs occur in several rows, which this model treats as different participants",
            kn_table_path(d->covariates));
out:
    kn_free(participant);
    return status;
}

/* Sets p->group_text (n, owned; NULL entries: no group) of new participants from the column that
 * groups the training sample; column "": from their ids. Does nothing if the column or the ids are
 * missing. */
static kn_status read_groups(kn_ctx *ctx, const kn_data *d, const char *column, kn_sample *p)
{
    const kn_table *t = d->covariates;
    bool ids = !*column;
    ptrdiff_t col = ids ? -1 : kn_column_find(t, column);
    void *memory;
    if (ids ? !p->id : col < 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, p->n, sizeof *p->group_text, &memory);
    if (status != KN_OK)
        return status;
    p->group_text = memory;
    for (ptrdiff_t i = 0; i < p->n && status == KN_OK; i++) {
        const char *text =
            ids ? participant_of(d, p, i) : kn_table_cell(t, p->covariate_row[i], col);
        if (ids)
            status = kn_text_copy(ctx, text, strlen(text), &p->group_text[i]);
        else if (!kn_text_is_missing(text))
            status = kn_trimmed(ctx, text, &p->group_text[i]);
    }
    return status;
}

/* ---- training samples and new participants --------------------------------------------------- */

/* State of one kn_sample_train or kn_sample_new. */
typedef struct job {
    kn_data *data;
    const kn_settings *s;
    const kn_encoding *encoding; /* the model's; NULL: learn it (training) */
    const kn_space *space;       /* of the model, or NULL */
    const kn_memory_policy *policy;
    const char *group_column; /* of the model, or NULL */
    kn_status (*check)(kn_ctx *ctx, const void *self, const kn_sample *everybody); /* or NULL */
    const void *self;
    bool responses;       /* responses are read */
    bool as_read;         /* outlying cells stay as they are */
    bool as_checked;      /* images were read and checked before */
    bool whole;           /* cells will be imputed, for which every rank reads all responses */
    bool by_participants; /* all responses, of this rank's participants only */
    kn_selection selection;
    ptrdiff_t n, *pair; /* n triples {response row, covariate row, index in the match} */
} job;

/* Comparison for qsort of triples: by their first number, the row of the responses. */
static int by_response(const void *a, const void *b)
{
    ptrdiff_t x = ((const ptrdiff_t *)a)[0], y = ((const ptrdiff_t *)b)[0];
    return (x > y) - (x < y);
}

/* Sets j->pair, the rows of all matched participants, sorted by row of the responses, so that
 * images are read from front to back. */
static kn_status order_rows(kn_ctx *ctx, job *j)
{
    const kn_match *m = &j->data->match;
    kn_status status = kn_alloc_i(ctx, 3 * m->n, &j->pair);
    if (status != KN_OK)
        return status;
    j->n = m->n;
    for (ptrdiff_t i = 0; i < m->n; i++) {
        j->pair[3 * i] = m->response_row ? m->response_row[i] : m->covariate_row[i];
        j->pair[3 * i + 1] = m->covariate_row[i];
        j->pair[3 * i + 2] = i;
    }
    qsort(j->pair, (size_t)m->n, 3 * sizeof *j->pair, by_response);
    return KN_OK;
}

/* Sets p->id (n; texts borrowed from the data) in the order of j->pair; rows paired by position
 * have the ids of the covariates. KN_ERR_DATA if an id is not UTF-8. */
static kn_status take_ids(kn_ctx *ctx, const job *j, kn_sample *p)
{
    const kn_data *d = j->data;
    const kn_match *m = &d->match;
    void *memory;
    if (!m->id && d->id_col < 0)
        return KN_OK;
    kn_status status = kn_alloc(ctx, j->n, sizeof *p->id, &memory);
    if (status != KN_OK)
        return status;
    p->id = memory;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        p->id[i] = m->id ? m->id[j->pair[3 * i + 2]] : kn_data_participant(d, j->pair[3 * i + 1]);
        if (!kn_encoding_text_ok(p->id[i])) /* a model file (JSON) cannot hold it */
            return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: the ID is not UTF-8 text",
                           kn_table_path(d->covariates), kn_table_unit(d->covariates),
                           kn_table_line(d->covariates, j->pair[3 * i + 1]));
    }
    return KN_OK;
}

/* Sets p->X (n x F) and p->covariate_row by the encoding. With KN_MISSING_DROP rows with a missing
 * covariate are removed from j->pair and p. KN_ERR_DATA if none is left or a cell is invalid. */
static kn_status make_x(kn_ctx *ctx, const kn_encoding *encoding, job *j, kn_sample *p)
{
    kn_status status;
    kn_mat X = {0};
    void *memory = NULL;
    bool *dropped = NULL;
    ptrdiff_t F = kn_encoding_width(encoding), kept = 0, *index = NULL;
    KN_TRY(kn_mat_new(ctx, j->n, F, &X));
    KN_TRY(kn_alloc(ctx, j->n, sizeof *dropped, &memory));
    dropped = memory;
    KN_TRY(kn_alloc_i(ctx, j->n, &p->covariate_row));
    KN_TRY(kn_alloc_i(ctx, j->n, &index));
    for (ptrdiff_t i = 0; i < j->n; i++)
        p->covariate_row[i] = j->pair[3 * i + 1];
    KN_TRY(kn_encoding_apply(ctx, encoding, j->data->covariates, p->covariate_row, X, dropped));
    for (ptrdiff_t i = 0; i < j->n; i++)
        if (!dropped[i]) {
            index[kept] = i;
            p->covariate_row[kept] = j->pair[3 * i + 1];
            if (p->id)
                p->id[kept] = p->id[i];
            j->pair[3 * kept] = j->pair[3 * i];
            kept++;
        }
    if (kept == 0) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: a covariate is missing in every row",
                         kn_table_path(j->data->covariates));
        goto out;
    }
    j->n = p->n = kept;
    KN_TRY(kn_mat_new(ctx, kept, F, &p->X));
    kn_mat_rows(X, index, p->X);
out:
    kn_free(index);
    kn_free(memory);
    kn_mat_clear(&X);
    return status;
}

/* Keeps only the participants of {part} in p and j->pair; the rows of the others go to
 * p->other_row. Before that j->check tests the covariates of all participants, so that all job
 * parts fail alike. */
static kn_status take_part(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_status status;
    kn_job_part part;
    kn_mat X = {0};
    ptrdiff_t *index = NULL, n, others = 0;
    KN_TRY(kn_job_part_parse(ctx, j->s->part, &part));
    if (part.n == 0)
        return KN_OK;
    if (j->check)
        KN_TRY(j->check(ctx, j->self, p));
    n = kn_job_part_size(part, p->n);
    KN_TRY(kn_alloc_i(ctx, n, &index));
    KN_TRY(kn_alloc_i(ctx, p->n - n, &p->other_row));
    KN_TRY(kn_mat_new(ctx, n, p->X.cols, &X));
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (i % part.n != part.i - 1)
            p->other_row[others++] = p->covariate_row[i];
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t i = index[k] = kn_job_part_participant(part, k);
        p->covariate_row[k] = p->covariate_row[i];
        if (p->id)
            p->id[k] = p->id[i];
        j->pair[3 * k] = j->pair[3 * i];
    }
    kn_mat_rows(p->X, index, X);
    kn_mat_clear(&p->X);
    p->X = X;
    p->n_other = others;
    j->n = p->n = n;
out:
    kn_free(index);
    return status;
}

/* Sets j->selection to the columns of the table that are the responses of the model. KN_ERR_DATA if
 * one is missing, KN_ERR_SHAPE if the model's responses are no table. */
static kn_status find_responses(kn_ctx *ctx, job *j)
{
    const kn_data *d = j->data;
    kn_space table = {.kind = KN_SPACE_TABLE};
    if (!j->responses || !d->responses || d->preloaded)
        return KN_OK;
    if (j->space->kind != KN_SPACE_TABLE)
        return kn_space_compare(ctx, kn_data_responses_name(d), &table, j->space);
    return kn_select_named(ctx, d->responses, (const char *const *)j->space->name, j->space->T,
                           &j->selection);
}

/* Decides which columns are covariates and which are responses (j->selection), learns p->encoding
 * from the training rows, and logs the choice. Warns if the table seems to contain patients. */
static kn_status learn_encoding(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_status status;
    const kn_data *d = j->data;
    const char **names = NULL, *group = NULL;
    void *taken = NULL;
    ptrdiff_t n = 0;
    bool additive = kn_settings_additive(j->s);
    if (additive)
        group = kn_group_column(j->s->group);
    ptrdiff_t group_col = group ? kn_column_find(d->covariates, group) : -1;
    if (group_col >= 0) /* as spelled in the table */
        group = kn_table_name(d->covariates, group_col);
    kn_encoding_options ro = {.use = j->s->use,
                              .categorical = j->s->categorical,
                              .numeric = j->s->numeric,
                              .batch = additive ? j->s->batch : NULL,
                              .group = group,
                              .label = d->label,
                              .session = kn_session_is_one(j->s->session) ? NULL : j->s->session,
                              .where = j->s->where,
                              .codes = additive,
                              .missing = (kn_missing)j->s->missing,
                              .one_file = d->responses == d->covariates,
                              .beside = d->responses == d->covariates ? NULL : d->responses,
                              .id_col = d->id_col,
                              .rows = d->match.covariate_row,
                              .n_rows = d->match.n,
                              .responses = (const char *const *)d->view_name,
                              .n_responses = d->view_name ? d->view.cols : 0,
                              .checked = d->preloaded != NULL};
    KN_TRY(kn_encoding_names(ctx, d->covariates, &ro, &names, &n));
    ptrdiff_t n_taken = n;
    if (d->responses) { /* covariates, groups and labels are not responses */
        KN_TRY(kn_alloc(ctx, n + 2, sizeof *names, &taken));
        memcpy(taken, names, (size_t)n * sizeof *names);
        if (group)
            ((const char **)taken)[n_taken++] = group;
        if (d->label)
            ((const char **)taken)[n_taken++] = d->label;
        kn_select_options so = {.targets = j->s->targets,
                                .id_col =
                                    d->responses == d->covariates ? d->id_col : d->response_id_col,
                                .taken = taken,
                                .n_taken = n_taken};
        KN_TRY(d->preloaded ? kn_preloaded_select(ctx, d, &j->selection)
               : j->space   ? find_responses(ctx, j)
                            : kn_select(ctx, d->responses, &so, &j->selection));
    }
    if (j->selection.n > 0) {
        ro.responses = (const char *const *)j->selection.name;
        ro.n_responses = j->selection.n;
    }
    KN_TRY(kn_encoding_learn(ctx, d->covariates, &ro, &p->encoding));
    kn_encoding_log_names(ctx, d->covariates, &ro);
    bool known = false; /* a diagnosis column is a covariate */
    for (ptrdiff_t k = 0; k < p->encoding.n; k++)
        known = known || kn_column_role_of(p->encoding.column[k].name) == KN_COLUMN_GROUP;
    if (!known)
        kn_patients_warn(ctx, d->covariates, d->match.covariate_row, d->match.n, d->label,
                         "are treated as healthy controls");
    kn_encoding_log(ctx, d->covariates, &p->encoding);
out:
    kn_free(names);
    kn_free(taken);
    return status;
}

/* Comparison for qsort of ids: without regard to case, then by bytes. */
static int by_id_any_case(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcasecmp(x, y);
    return order ? order : strcmp(x, y);
}

/* Fails with KN_ERR_DATA if two matched ids differ only in case: they would be one file name on
 * macOS and Windows. O(n log n). */
static kn_status check_case(kn_ctx *ctx, const kn_data *d)
{
    const kn_match *m = &d->match;
    void *memory;
    kn_status status = kn_alloc(ctx, m->n, sizeof *m->id, &memory);
    const char **id = memory;
    if (status != KN_OK)
        return status;
    memcpy(memory, m->id, (size_t)m->n * sizeof *m->id);
    qsort(memory, (size_t)m->n, sizeof *m->id, by_id_any_case);
    for (ptrdiff_t i = 1; status == KN_OK && i < m->n; i++)
        if (strcasecmp(id[i - 1], id[i]) == 0)
            status =
                kn_fail(ctx, KN_ERR_DATA,
                        "%s: IDs %s and %s differ only in case, and some file systems cannot keep "
                        "apart the files that {split} writes; change an ID, or omit {split}",
                        kn_table_path(d->covariates), kn_clipped(id[i - 1]).text,
                        kn_clipped(id[i]).text);
    kn_free(memory);
    return status;
}

/* Returns whether a text has a control character. */
static bool has_control(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ' || *c == 127)
            return true;
    return false;
}

/* With {split}, where each row has its own output file named after its id: fails with KN_ERR_DATA
 * unless ids are unique in any case and without control characters. */
static kn_status check_split(kn_ctx *ctx, const job *j)
{
    const kn_data *d = j->data;
    const ptrdiff_t *twice = d->match.repeat, *row = d->match.covariate_row;
    if (!j->s->split)
        return KN_OK;
    if (twice[1] != 0)
        return kn_fail(ctx, KN_ERR_DATA,
                       "%s: ID %s is on %ss %td and %td, but {split} writes one file per ID; make "
                       "the IDs unique, or omit {split}",
                       kn_table_path(d->covariates), kn_clipped(d->match.id[twice[0]]).text,
                       kn_table_unit(d->covariates), kn_table_line(d->covariates, row[twice[0]]),
                       kn_table_line(d->covariates, row[twice[1]]));
    for (ptrdiff_t i = 0; d->match.id && i < d->match.n; i++)
        if (has_control(d->match.id[i]))
            return kn_fail(ctx, KN_ERR_DATA,
                           "%s %s %td: the ID contains a control character, so {split} cannot use "
                           "it in a file name; change the ID, or omit {split}",
                           kn_table_path(d->covariates), kn_table_unit(d->covariates),
                           kn_table_line(d->covariates, row[i]));
    return d->match.id ? check_case(ctx, d) : KN_OK;
}

/* Logs a warning that lists ids which spreadsheet programs take for formulas, since they begin with
 * =, +, - or @. */
static void warn_of_formulas(kn_ctx *ctx, const kn_data *d)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; d->match.id && i < d->match.n; i++)
        if (strchr("=+-@", d->match.id[i][0]) && d->match.id[i][0]) {
            n++;
            kn_listing_add(&list, d->match.id[i]);
        }
    if (n > 0)
        kn_log(ctx, KN_LOG_WARNING,
               "%s: %td ID%s with =, +, - or @, so spreadsheet programs treat them as formulas; "
               "import the output tables as text: %s",
               kn_table_path(d->covariates), n, n == 1 ? " begins" : "s begin", list.text);
}

/* Sets p->Y, p->space, p->own and p->distributed from the files or memory for the rows in j->pair.
 * Training also checks for rows without values and for isolated values. KN_ERR_SHAPE or KN_ERR_DATA
 * if they are not those of the model. Collective. */
static kn_status read_responses(kn_ctx *ctx, const job *j, kn_sample *p)
{
    ptrdiff_t *row;
    kn_data *d = j->data;
    kn_status status = kn_alloc_i(ctx, j->n, &row);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < j->n; i++)
        row[i] = j->pair[3 * i];
    bool fill = !j->encoding && j->s->missing_responses == KN_RESPONSES_FILL;
    kn_response_rows rows = {j->n,
                             row,
                             fill ? KN_MIN_VALUES : 0,
                             j->whole,
                             j->by_participants,
                             !j->encoding && !j->as_checked};
    status = d->preloaded   ? kn_preloaded_read(ctx, j->policy, d, j->space, &rows, p)
             : d->responses ? kn_read_table(ctx, j->policy, d, &j->selection, &rows, p)
             : d->images    ? kn_read_images(ctx, j->policy, d, j->space, &rows, p)
             : d->view.data ? kn_read_view(ctx, j->policy, d, j->space, &rows, p)
                            : kn_read_array(ctx, j->policy, d, &rows, p);
    if (d->preloaded) /* checked when they were preloaded */
        goto out;
    p->distributed = kn_ctx_comm(ctx)->size > 1 && !j->whole && !d->view.data;
    if (!p->distributed)
        p->own = (kn_index_range){0, p->Y.cols};
    if (status == KN_OK && j->space && !d->images && !d->view.data)
        status = kn_space_compare(ctx, kn_data_responses_name(d), &p->space, j->space);
    if (status == KN_OK && !j->encoding && !fill)
        status = kn_blank_refuse(ctx, d, &rows, p);
out:
    kn_free(row);
    return status;
}

/* Lists in *keep (owned by the caller) the *n participants that have a value among the responses
 * which will be used. *gaps: cells are missing in these responses. Collective. */
static kn_status find_values(kn_ctx *ctx, const kn_sample *p, ptrdiff_t **keep, ptrdiff_t *n,
                             bool *gaps)
{
    kn_status status;
    kn_scaling s = {0};
    void *memory = NULL;
    KN_TRY(kn_scaling_observed(ctx, p->Y, false, &s));
    KN_TRY(kn_alloc_i(ctx, p->n, keep));
    KN_TRY(kn_alloc(ctx, p->n, sizeof(bool), &memory));
    bool *value = memory;
    kn_responses Y = kn_responses_of(p->Y, &s);
    kn_index_range own = kn_response_range(ctx, &Y);
    *n = 0;
    *gaps = s.n != NULL;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        value[i] = !s.n || s.n_kept == 0;
        for (ptrdiff_t j = own.first; j < own.last && !value[i]; j++)
            value[i] = isfinite(kn_view_at(p->Y, i, s.kept[j]));
    }
    KN_TRY(kn_allreduce_any(ctx, value, p->n));
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (value[i])
            (*keep)[(*n)++] = i;
out:
    kn_free(memory);
    kn_scaling_clear(&s);
    return status;
}

/* Reads the responses of the participants in p again. */
static kn_status read_again(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_space_clear(&p->space);
    kn_scratch_clear(&p->scratch);
    kn_free(p->values);
    p->values = NULL;
    j->as_checked = true;
    return read_responses(ctx, j, p);
}

/* Keeps the n participants `keep` in p and logs the others, with what they are. Groups are found
 * anew; the caller reads the responses again, so that the default mask does not depend on excluded
 * images. */
static kn_status exclude_participants(kn_ctx *ctx, job *j, const ptrdiff_t *keep, ptrdiff_t n,
                                      const char *what, kn_sample *p)
{
    kn_status status;
    kn_mat X = {0};
    kn_listing listed = {.limit = KN_NAMES_LISTED};
    char name[32];
    for (ptrdiff_t i = 0, k = 0; i < p->n; i++)
        if (k < n && keep[k] == i)
            k++;
        else
            kn_listing_add(&listed, kn_participant_name(p, i, name));
    kn_log(ctx, KN_LOG_WARNING, "%s are excluded, %td of %td: %s", what, p->n - n, p->n,
           listed.text);
    KN_TRY(kn_mat_new(ctx, n, p->X.cols, &X));
    kn_mat_rows(p->X, keep, X);
    kn_mat_clear(&p->X);
    p->X = X;
    for (ptrdiff_t i = 0; i < n; i++) {
        p->covariate_row[i] = p->covariate_row[keep[i]];
        if (p->id)
            p->id[i] = p->id[keep[i]];
        j->pair[3 * i] = j->pair[3 * keep[i]];
    }
    j->n = p->n = n;
    kn_grouping_clear(&p->grouping);
    KN_TRY(find_groups(ctx, j->data, j->s, p));
out:
    return status;
}

/* Excludes training participants without any response [METHOD 0b], and reads the responses again
 * without them. If cells are missing, every rank reads all responses, because one rank imputes
 * them. Collective. */
static kn_status drop_without_values(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_status status;
    ptrdiff_t *keep = NULL, n;
    KN_TRY(find_values(ctx, p, &keep, &n, &j->whole));
    if (n == p->n && !(j->whole && kn_ctx_comm(ctx)->size > 1))
        goto out;
    p->n_without = p->n - n;
    if (n < p->n)
        KN_TRY(exclude_participants(ctx, j, keep, n, "participants without a finite response", p));
    KN_TRY(read_again(ctx, j, p));
out:
    kn_free(keep);
    return status;
}

/* Excludes participants with too many of the outlying cells; *excluded: there were any. */
static kn_status exclude_outlying(kn_ctx *ctx, job *j, const kn_outliers *o, kn_sample *p,
                                  bool *excluded)
{
    kn_status status;
    void *memory = NULL;
    ptrdiff_t *keep = NULL, n, kept = 0;
    KN_TRY(kn_alloc(ctx, p->n, sizeof(bool), &memory));
    bool *out = memory;
    KN_TRY(kn_outliers_participants(ctx, p, o, out, &n));
    *excluded = n > 0;
    if (n == 0)
        goto out;
    KN_TRY(kn_alloc_i(ctx, p->n, &keep));
    void *rows = p->outlying_row;
    status = kn_grow(ctx, p->n_outlying + n, sizeof *p->outlying_row, &rows, &p->outlying_capacity);
    p->outlying_row = rows;
    KN_TRY(status);
    for (ptrdiff_t i = 0; i < p->n; i++)
        if (out[i])
            p->outlying_row[p->n_outlying++] = p->covariate_row[i];
        else
            keep[kept++] = i;
    KN_TRY(exclude_participants(
        ctx, j, keep, kept,
        "participants with more than 20% of their responses far beyond all others", p));
    KN_TRY(read_again(ctx, j, p));
out:
    kn_free(keep);
    kn_free(memory);
    return status;
}

/* Sets *o to the outlying cells of all responses, on every rank. Collective. */
static kn_status find_outliers(kn_ctx *ctx, const kn_sample *p, kn_outliers *o)
{
    kn_status status;
    kn_outliers mine = {0};
    kn_outliers_clear(o);
    KN_TRY(kn_comm_agree_status(ctx, kn_outliers_find(ctx, p->Y, p->own, &mine)));
    if (p->distributed) {
        KN_TRY(kn_outliers_gather(ctx, &mine, o));
    } else {
        *o = mine;
        mine = (kn_outliers){0};
    }
out:
    kn_outliers_clear(&mine);
    return status;
}

/* Returns whether the cell is in the list of outlying cells `self`; a kn_known_cells.has. */
static bool is_known(const void *self, ptrdiff_t row, ptrdiff_t response)
{
    return kn_is_outlier(self, row, response);
}

/* Warns of isolated values of a table of responses, such as codes of missing values, that are not
 * outlying cells. */
static kn_status warn_isolated(kn_ctx *ctx, const job *j, const kn_sample *p,
                               const kn_outliers *outliers)
{
    const kn_data *d = j->data;
    ptrdiff_t *row;
    kn_known_cells known = {is_known, outliers};
    if (d->preloaded || !d->responses || kn_ctx_comm(ctx)->rank > 0)
        return KN_OK;
    kn_status status = kn_alloc_i(ctx, p->n, &row);
    for (ptrdiff_t i = 0; status == KN_OK && i < p->n; i++)
        row[i] = j->pair[3 * i];
    if (status == KN_OK)
        status = kn_outliers_warn(ctx, d->responses, j->selection.col, j->selection.n, row, p->n,
                                  &known);
    kn_free(row);
    return status;
}

/* Finds outlying cells and treats them by {outliers} [METHOD 0c]. Participants with too many of
 * them are excluded first, which changes the distributions, so that the others are judged anew. If
 * the fit imputes other cells, it imputes the outlying ones too; else they are filled once, by
 * every rank in its own responses. Collective. */
static kn_status treat_outliers(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_status status;
    kn_outliers found = {0};
    bool again = true;
    kn_outlier_rule rule = (kn_outlier_rule)j->s->outliers;
    if (j->as_read && !j->data->responses)
        return KN_OK; /* only tables have warnings of isolated values */
    KN_TRY(find_outliers(ctx, p, &found));
    while (!j->as_read && rule == KN_OUTLIERS_MISSING && found.n > 0 && again) {
        KN_TRY(kn_outliers_check_units(ctx, j->data, p, &found));
        KN_TRY(exclude_outlying(ctx, j, &found, p, &again));
        if (again)
            KN_TRY(find_outliers(ctx, p, &found));
    }
    KN_TRY(warn_isolated(ctx, j, p, &found));
    if (j->as_read || found.n == 0)
        goto out;
    KN_TRY(kn_outliers_report(ctx, j->data, p, &found, rule));
    if (rule != KN_OUTLIERS_MISSING)
        goto out;
    if (!j->data->preloaded) /* values that are preloaded are restored by kn_sample_clear */
        KN_TRY(kn_responses_own_copy(ctx, j->policy, p));
    p->outliers = found;
    found = (kn_outliers){0};
    if (j->whole)
        kn_outliers_hide(&p->outliers, p->Y, p->own);
    else
        KN_TRY(kn_outliers_fill(ctx, &p->outliers, &(kn_fill_covariates){p->X, &p->encoding}, p->Y,
                                p->own));
out:
    kn_outliers_clear(&found);
    return status;
}

/* Sets p->order, the canonical order of a training sample, from hashes of ids, covariates and
 * responses. Collective. */
static kn_status order_participants(kn_ctx *ctx, kn_sample *p)
{
    kn_status status = KN_OK;
    void *memory = NULL;
    kn_row_source from = {
        .n = p->n, .X = p->X, .Y = p->Y, .own = p->own, .distributed = p->distributed};
    if (p->id)
        KN_TRY(kn_alloc(ctx, p->n, sizeof(uint64_t), &memory));
    uint64_t *key = memory;
    for (ptrdiff_t i = 0; key && i < p->n; i++)
        key[i] = kn_hash(p->id[i], strlen(p->id[i]), 0);
    from.key = key;
    KN_TRY(kn_alloc_i(ctx, p->n, &p->order));
    KN_TRY(kn_row_order(ctx, &from, p->order));
out:
    kn_free(memory);
    return status;
}

/* Makes the sample p: pairs rows, encodes covariates, selects the job part, finds groups, reads
 * responses. Training if j->encoding is NULL. Clears p on failure. Collective. */
static kn_status gather_sample(kn_ctx *ctx, job *j, kn_sample *p)
{
    enum { MIN = 3 }; /* participants that training needs */
    kn_status status;
    *p = (kn_sample){0};
    KN_TRY(kn_data_finalise(ctx, j->s, j->data));
    if (j->responses && !kn_data_has_responses(j->data)) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "these participants have no responses");
        goto out;
    }
    if (!j->encoding && j->data->match.n < MIN) {
        status = kn_fail(ctx, KN_ERR_DATA,
                         "%s: %td participant%s with responses, but at least %d are needed",
                         kn_table_path(j->data->covariates), j->data->match.n,
                         j->data->match.n == 1 ? "" : "s", MIN);
        goto out;
    }
    if (j->encoding) {
        KN_TRY(check_split(ctx, j));
        warn_of_formulas(ctx, j->data);
    }
    KN_TRY(order_rows(ctx, j));
    KN_TRY(take_ids(ctx, j, p));
    KN_TRY(j->encoding ? find_responses(ctx, j) : learn_encoding(ctx, j, p));
    kn_encoding encoding = j->encoding ? *j->encoding : p->encoding;
    encoding.missing = (kn_missing)j->s->missing;
    encoding.unseen = j->encoding && j->s->unseen == KN_UNSEEN_PRIOR;
    KN_TRY(make_x(ctx, &encoding, j, p));
    if (j->encoding)
        KN_TRY(take_part(ctx, j, p));
    if (!j->encoding)
        KN_TRY(find_groups(ctx, j->data, j->s, p));
    else if (j->group_column)
        KN_TRY(read_groups(ctx, j->data, j->group_column, p));
    if (j->responses && j->n > 0)
        KN_TRY(read_responses(ctx, j, p));
    if (!j->encoding && j->s->missing_responses == KN_RESPONSES_FILL)
        KN_TRY(drop_without_values(ctx, j, p));
    if (!j->encoding)
        KN_TRY(treat_outliers(ctx, j, p));
    if (!j->encoding)
        KN_TRY(order_participants(ctx, p));
out:
    kn_free(j->pair);
    kn_selection_clear(&j->selection);
    if (status != KN_OK)
        kn_sample_clear(p);
    return status;
}

kn_status kn_sample_train(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *policy, kn_sample *out)
{
    job j = {.data = data, .s = s, .policy = policy, .responses = true};
    if (!data->view.data && !data->preloaded) /* preloaded data were read with this space */
        j.space = data->space;
    return gather_sample(ctx, &j, out);
}

kn_status kn_sample_train_all(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                              const kn_memory_policy *policy, kn_sample *out)
{
    job j = {.data = data, .s = s, .policy = policy, .responses = true, .as_read = true};
    if (!data->view.data)
        j.space = data->space;
    return gather_sample(ctx, &j, out);
}

kn_status kn_sample_new(kn_ctx *ctx, kn_data *data, const kn_settings *s, kn_sample_spec known,
                        const kn_memory_policy *policy, kn_sample *out)
{
    job j = {.data = data,
             .s = s,
             .encoding = known.encoding,
             .space = known.space,
             .policy = policy,
             .group_column = known.group_column,
             .check = known.check,
             .self = known.self,
             .by_participants = known.by_participants,
             .responses = known.space != NULL};
    return gather_sample(ctx, &j, out);
}

/* Fails with KN_ERR_DATA because no participant has this value in column `col`; the message
 * suggests similar values. option: its name, for the message. */
static kn_status fail_flag(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const char *option,
                           ptrdiff_t col, const char *value)
{
    char text[KN_SUGGESTION_TEXT];
    kn_suggestions near = {.given = value};
    for (ptrdiff_t i = 0; i < p->n + p->n_other; i++) {
        const ptrdiff_t row = i < p->n ? p->covariate_row[i] : p->other_row[i - p->n];
        const char *cell = kn_table_cell(d->covariates, row, col);
        kn_suggest(&near, cell, strlen(cell));
    }
    return kn_fail(ctx, KN_ERR_DATA, "%s: no participant has %s '%s' (named in {%s})%s",
                   kn_table_path(d->covariates), kn_table_name(d->covariates, col), value, option,
                   kn_did_you_mean(&near, "", text));
}

kn_status kn_sample_flag(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const char *option,
                         const char *text, bool *rows)
{
    char column[256];
    const char *eq = strchr(text, '='), *path = kn_table_path(d->covariates);
    size_t n = eq ? (size_t)(eq - text) : 0;
    if (!eq || n == 0 || n >= sizeof column || !eq[1])
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', but must be COLUMN=VALUE", option,
                       text);
    snprintf(column, sizeof column, "%.*s", (int)n, text);
    ptrdiff_t col = kn_column_find(d->covariates, column), hits = 0;
    if (col < 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s has no column '%s' for {%s}", path, column, option);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        rows[i] = strcmp(kn_table_cell(d->covariates, p->covariate_row[i], col), eq + 1) == 0;
        hits += rows[i];
    }
    for (ptrdiff_t i = 0; hits == 0 && i < p->n_other; i++)
        hits += strcmp(kn_table_cell(d->covariates, p->other_row[i], col), eq + 1) == 0;
    return hits > 0 ? KN_OK : fail_flag(ctx, d, p, option, col, eq + 1);
}
