/* Implements sample.h. Training and application share the steps in gather(): pair rows, encode
 * covariates, select the job part, find groups, read responses. */
#include "data/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mpi/comm.h"
#include "data/check_blank.h"
#include "data/mpi/exchange_responses.h"
#include "data/preloaded.h"
#include "data/responses/responses.h"
#include "data/sample_groups.h"
#include "data/table/check_outliers.h"
#include "data/table/check_patients.h"
#include "data/table/column_name_heuristics.h"
#include "data/table/columns.h"
#include "data/table/select_columns.h"
#include "data/table/sessions.h"
#include "data/table/text_list.h"

void kn_sample_clear(kn_sample *p)
{
    kn_free(p->covariate_row);
    kn_free(p->id);
    kn_encoding_clear(&p->recipe);
    kn_mat_clear(&p->X);
    kn_grouping_clear(&p->grouping);
    kn_names_free(p->group_text, p->n);
    kn_space_clear(&p->space);
    kn_scratch_clear(&p->scratch);
    kn_free(p->values);
    kn_free(p->other_row);
    *p = (kn_sample){0};
}

/* State of one kn_sample_train or kn_sample_new. */
typedef struct job {
    kn_data *data;
    const kn_settings *s;
    const kn_encoding *recipe; /* the model's; NULL: learn it (training) */
    const kn_space *space;     /* of the model, or NULL */
    const kn_memory_policy *room;
    const char *group_column; /* of the model, or NULL */
    kn_status (*check)(kn_ctx *ctx, const void *self, const kn_sample *everybody); /* or NULL */
    const void *self;
    bool responses; /* responses are read */
    bool whole;     /* every rank reads all responses, not only its own */
    bool by_people; /* all responses, of this rank's participants only */
    kn_selection selection;
    ptrdiff_t n, *pair; /* n triples {response row, covariate row, index in the match} */
} job;

static int by_response(const void *a, const void *b)
{
    ptrdiff_t x = ((const ptrdiff_t *)a)[0], y = ((const ptrdiff_t *)b)[0];
    return (x > y) - (x < y);
}

/* Sorts participants by rows of the responses, so that images are read from front to back. */
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

/* Collects the ids. Rows paired by position still have the ids of the covariates. */
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
        p->id[i] = m->id ? m->id[j->pair[3 * i + 2]] : kn_data_person(d, j->pair[3 * i + 1]);
        if (!kn_encoding_text_ok(p->id[i])) /* a model file (JSON) cannot hold it */
            return kn_fail(ctx, KN_ERR_DATA, "%s %s %td: the id is not UTF-8 text",
                           kn_table_path(d->covariates), kn_table_unit(d->covariates),
                           kn_table_line(d->covariates, j->pair[3 * i + 1]));
    }
    return KN_OK;
}

/* Encodes the covariates as X; rows with a missing value are excluded if the policy is
 * KN_MISSING_DROP. */
static kn_status make_x(kn_ctx *ctx, const kn_encoding *recipe, job *j, kn_sample *p)
{
    kn_status status;
    kn_mat X = {0};
    void *memory = NULL;
    bool *dropped = NULL;
    ptrdiff_t F = kn_encoding_width(recipe), kept = 0, *index = NULL;
    KN_TRY(kn_mat_new(ctx, j->n, F, &X));
    KN_TRY(kn_alloc(ctx, j->n, sizeof *dropped, &memory));
    dropped = memory;
    KN_TRY(kn_alloc_i(ctx, j->n, &p->covariate_row));
    KN_TRY(kn_alloc_i(ctx, j->n, &index));
    for (ptrdiff_t i = 0; i < j->n; i++)
        p->covariate_row[i] = j->pair[3 * i + 1];
    KN_TRY(kn_encoding_apply(ctx, recipe, j->data->covariates, p->covariate_row, X, dropped));
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
        status = kn_fail(ctx, KN_ERR_DATA, "%s: every row has a missing covariate",
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

/* Selects the participants of {part}. Covariates of all participants are checked first, so that
 * all job parts fail alike. */
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

/* Finds the columns of a table that are the responses of the model. */
static kn_status find_responses(kn_ctx *ctx, job *j)
{
    const kn_data *d = j->data;
    kn_space table = {.kind = KN_SPACE_TABLE};
    if (!j->responses || !d->responses || d->held)
        return KN_OK;
    if (j->space->kind != KN_SPACE_TABLE)
        return kn_space_compare(ctx, kn_data_responses_name(d), &table, j->space);
    return kn_select_named(ctx, d->responses, (const char *const *)j->space->name, j->space->T,
                           &j->selection);
}

/* Decides which columns are covariates and which responses, and learns the encoding. */
static kn_status learn(kn_ctx *ctx, job *j, kn_sample *p)
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
                              .id_col = d->id_col,
                              .rows = d->match.covariate_row,
                              .n_rows = d->match.n};
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
        KN_TRY(d->held    ? kn_preloaded_select(ctx, d, &j->selection)
               : j->space ? find_responses(ctx, j)
                          : kn_select(ctx, d->responses, &so, &j->selection));
    }
    ro.responses = (const char *const *)j->selection.name;
    ro.n_responses = j->selection.n;
    KN_TRY(kn_encoding_learn(ctx, d->covariates, &ro, &p->recipe));
    kn_encoding_tell_names(ctx, d->covariates, &ro);
    bool known = false; /* a diagnosis column is a covariate */
    for (ptrdiff_t k = 0; k < p->recipe.n; k++)
        known = known || kn_column_role_of(p->recipe.column[k].name) == KN_COLUMN_GROUP;
    if (!known)
        kn_patients_warn(ctx, d->covariates, d->match.covariate_row, d->match.n, d->label,
                         "are learned from as healthy");
    kn_encoding_log(ctx, d->covariates, &p->recipe);
out:
    kn_free(names);
    kn_free(taken);
    return status;
}

/* With {split} each row has its own output file, named after its id: ids must be unique. */
static kn_status check_split(kn_ctx *ctx, const job *j)
{
    const kn_data *d = j->data;
    const ptrdiff_t *twice = d->match.repeat, *row = d->match.covariate_row;
    if (!j->s->split || twice[1] == 0)
        return KN_OK;
    return kn_fail(ctx, KN_ERR_DATA,
                   "%s: id %s is on %ss %td and %td, {split} writes one file for each id",
                   kn_table_path(d->covariates), kn_clipped(d->match.id[twice[0]]).text,
                   kn_table_unit(d->covariates), kn_table_line(d->covariates, row[twice[0]]),
                   kn_table_line(d->covariates, row[twice[1]]));
}

/* Reads the values of the rows in use, in the order of the file, and checks them. */
static kn_status read_responses(kn_ctx *ctx, const job *j, kn_sample *p)
{
    ptrdiff_t *row;
    kn_data *d = j->data;
    kn_status status = kn_alloc_i(ctx, j->n, &row);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t i = 0; i < j->n; i++)
        row[i] = j->pair[3 * i];
    bool fill = !j->recipe && j->s->missing_responses == KN_RESPONSES_FILL;
    kn_response_rows rows = {j->n, row, fill ? KN_LEAST_VALUES : 0, j->whole, j->by_people};
    status = d->held        ? kn_preloaded_read(ctx, j->room, d, j->space, &rows, p)
             : d->responses ? kn_read_table(ctx, j->room, d, &j->selection, &rows, p)
             : d->images    ? kn_read_images(ctx, j->room, d, j->space, &rows, p)
             : d->view.data ? kn_read_view(ctx, j->room, d, j->space, &rows, p)
                            : kn_read_array(ctx, j->room, d, &rows, p);
    if (d->held) /* checked when they were preloaded */
        goto out;
    p->dealt = kn_ctx_comm(ctx)->size > 1 && !j->whole && !d->view.data;
    if (!p->dealt)
        p->own = (kn_range){0, p->Y.cols};
    if (status == KN_OK && j->space && !d->images && !d->view.data)
        status = kn_space_compare(ctx, kn_data_responses_name(d), &p->space, j->space);
    if (status == KN_OK && !j->recipe && !fill)
        status = kn_blank_refuse(ctx, d, &rows, p);
    if (status == KN_OK && !j->recipe && d->responses && kn_ctx_comm(ctx)->rank == 0)
        status = kn_outliers_warn(ctx, d->responses, j->selection.col, j->selection.n, row, j->n);
out:
    kn_free(row);
    return status;
}

/* Lists in *keep the *n participants with a value among the responses that will be used. *gaps:
 * cells are missing in these responses. Collective. */
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
    kn_range own = kn_response_range(ctx, &Y);
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

static const char *row_name(ptrdiff_t row, char name[32])
{
    snprintf(name, 32, "row %td", row + 1);
    return name;
}

/* Keeps the n participants `keep` in p and logs the others. Groups are found anew; the caller
 * reads the responses again, so that the default mask does not depend on excluded images. */
static kn_status leave_out(kn_ctx *ctx, job *j, const ptrdiff_t *keep, ptrdiff_t n, kn_sample *p)
{
    kn_status status;
    kn_mat X = {0};
    kn_listing who = {.most = KN_NAMES_LISTED};
    char name[32];
    for (ptrdiff_t i = 0, k = 0; i < p->n; i++)
        if (k < n && keep[k] == i)
            k++;
        else
            kn_listing_add(&who, p->id ? p->id[i] : row_name(p->covariate_row[i], name));
    kn_log(ctx, KN_LOG_WARNING, "%td of %td samples have no finite response and are left out: %s",
           p->n - n, p->n, who.text);
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
    p->n_without = p->n - n;
    j->n = p->n = n;
    kn_grouping_clear(&p->grouping);
    KN_TRY(kn_sample_find_groups(ctx, j->data, j->s, p));
out:
    return status;
}

/* Excludes participants without any response from training [METHOD 0b], and reads again without
 * them. If cells are missing, every rank reads all responses, because one rank imputes them.
 * Collective. */
static kn_status drop_without_values(kn_ctx *ctx, job *j, kn_sample *p)
{
    kn_status status;
    ptrdiff_t *keep = NULL, n;
    KN_TRY(find_values(ctx, p, &keep, &n, &j->whole));
    if (n == p->n && !(j->whole && kn_ctx_comm(ctx)->size > 1))
        goto out;
    if (n < p->n)
        KN_TRY(leave_out(ctx, j, keep, n, p));
    kn_space_clear(&p->space);
    kn_scratch_clear(&p->scratch);
    kn_free(p->values);
    p->values = NULL;
    KN_TRY(read_responses(ctx, j, p));
out:
    kn_free(keep);
    return status;
}

/* Runs all steps for training or application; clears p on failure. Collective. */
static kn_status gather(kn_ctx *ctx, job *j, kn_sample *p)
{
    enum { LEAST = 3 }; /* participants that training needs */
    kn_status status;
    *p = (kn_sample){0};
    KN_TRY(kn_data_finalise(ctx, j->s, j->data));
    if (j->responses && !kn_data_has_responses(j->data)) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "these people have no responses");
        goto out;
    }
    if (!j->recipe && j->data->match.n < LEAST) {
        status = kn_fail(ctx, KN_ERR_DATA, "%s: %td samples with responses, expected at least %d",
                         kn_table_path(j->data->covariates), j->data->match.n, LEAST);
        goto out;
    }
    if (j->recipe)
        KN_TRY(check_split(ctx, j));
    KN_TRY(order_rows(ctx, j));
    KN_TRY(take_ids(ctx, j, p));
    KN_TRY(j->recipe ? find_responses(ctx, j) : learn(ctx, j, p));
    kn_encoding recipe = j->recipe ? *j->recipe : p->recipe;
    recipe.missing = (kn_missing)j->s->missing;
    recipe.unseen = j->recipe && j->s->unseen == KN_UNSEEN_PRIOR;
    KN_TRY(make_x(ctx, &recipe, j, p));
    if (j->recipe)
        KN_TRY(take_part(ctx, j, p));
    if (!j->recipe)
        KN_TRY(kn_sample_find_groups(ctx, j->data, j->s, p));
    else if (j->group_column)
        KN_TRY(kn_sample_read_groups(ctx, j->data, j->group_column, p));
    if (j->responses && j->n > 0)
        KN_TRY(read_responses(ctx, j, p));
    if (!j->recipe && j->s->missing_responses == KN_RESPONSES_FILL)
        KN_TRY(drop_without_values(ctx, j, p));
out:
    kn_free(j->pair);
    kn_selection_clear(&j->selection);
    if (status != KN_OK)
        kn_sample_clear(p);
    return status;
}

kn_status kn_sample_train(kn_ctx *ctx, kn_data *data, const kn_settings *s,
                          const kn_memory_policy *room, kn_sample *out)
{
    job j = {.data = data, .s = s, .room = room, .responses = true};
    if (!data->view.data && !data->held) /* preloaded data were read with this space */
        j.space = data->space;
    return gather(ctx, &j, out);
}

kn_status kn_sample_new(kn_ctx *ctx, kn_data *data, const kn_settings *s, kn_sample_spec known,
                        const kn_memory_policy *room, kn_sample *out)
{
    job j = {.data = data,
             .s = s,
             .recipe = known.recipe,
             .space = known.space,
             .room = room,
             .group_column = known.group_column,
             .check = known.check,
             .self = known.self,
             .by_people = known.by_people,
             .responses = known.space != NULL};
    return gather(ctx, &j, out);
}

kn_status kn_sample_flag(kn_ctx *ctx, const kn_data *d, const kn_sample *p, const char *option,
                         const char *text, bool *rows)
{
    char column[256];
    const char *eq = strchr(text, '='), *path = kn_table_path(d->covariates);
    size_t n = eq ? (size_t)(eq - text) : 0;
    if (!eq || n == 0 || n >= sizeof column || !eq[1])
        return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s} is '%s', expected COLUMN=VALUE", option, text);
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
    if (hits == 0)
        return kn_fail(ctx, KN_ERR_DATA, "%s: nobody has %s '%s', which {%s} asks for", path,
                       column, eq + 1, option);
    return KN_OK;
}
