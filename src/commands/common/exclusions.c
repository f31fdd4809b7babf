/* Implements exclusions.h: compares the rows of the input tables with those that were used.
 * scored_participants.tsv and summary.json list them. */
#include "commands/common/exclusions.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"
#include "io/file/path.h"

void kn_exclusions_clear(kn_exclusions *a)
{
    for (ptrdiff_t i = 0; i < a->n; i++) {
        kn_free(a->absent[i].id);
        kn_free(a->absent[i].why);
    }
    kn_free(a->absent);
    *a = (kn_exclusions){0};
}

void kn_row_name(ptrdiff_t row, char out[KN_ROW_NAME])
{
    snprintf(out, KN_ROW_NAME, "row-%04td", row + 1);
}

/* Append one excluded participant: its id, row of the covariates (-1: none) and reason. Both texts
 * are copied. KN_ERR_MEMORY. */
static kn_status add_exclusion(kn_ctx *ctx, kn_exclusions *a, const char *id, ptrdiff_t row,
                               const char *why)
{
    kn_status status;
    void *memory = a->absent;
    KN_TRY(kn_grow(ctx, a->n + 1, sizeof *a->absent, &memory, &a->capacity));
    a->absent = memory;
    kn_exclusion *one = &a->absent[a->n++];
    *one = (kn_exclusion){.row = row};
    KN_TRY(kn_text_copy(ctx, id, strlen(id), &one->id));
    KN_TRY(kn_text_copy(ctx, why, strlen(why), &one->why));
out:
    return status;
}

/* Allocate n flags, and set those whose indices are in which[0 .. count - 1]. *out is owned by the
 * caller. */
static kn_status new_marks(kn_ctx *ctx, ptrdiff_t n, const ptrdiff_t *which, ptrdiff_t count,
                           bool **out)
{
    void *memory;
    kn_status status = kn_alloc(ctx, n, sizeof **out, &memory);
    *out = memory;
    for (ptrdiff_t i = 0; status == KN_OK && i < count; i++)
        (*out)[which[i]] = true;
    return status;
}

/* Reason why a row was matched but not used, into out: its missing covariates, or else no finite
 * response. */
static void describe_missing(const kn_table *t, const kn_encoding *encoding, ptrdiff_t row,
                             char *out, size_t size)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < encoding->n; k++) {
        ptrdiff_t col = kn_column_find(t, encoding->column[k].name);
        if (col >= 0 && kn_text_is_missing(kn_table_cell(t, row, col)))
            kn_listing_add(&list, encoding->column[k].name);
    }
    if (list.n > 0)
        snprintf(out, size, "missing %s", list.text);
    else /* rows without any finite response are removed in training only */
        snprintf(out, size, "no finite response");
}

static const char *const LEFT[] = {[KN_LEFT_BY_WHERE] = "not chosen by where",
                                   [KN_LEFT_BY_SESSION] = "another session",
                                   [KN_LEFT_BY_FOLD] = "in another fold",
                                   [KN_LEFT_BY_TABLE] = "not in each table of responses"};

/* List the rows of the covariates that are not among the participants p, each with its reason. */
static kn_status add_absent_rows(kn_ctx *ctx, const kn_data *d, const kn_encoding *encoding,
                                 const kn_sample *p, kn_exclusions *out)
{
    kn_status status;
    bool *used = NULL, *matched = NULL, *outlying = NULL;
    const kn_table *t = d->covariates;
    ptrdiff_t n = kn_table_rows(t);
    KN_TRY(new_marks(ctx, n, p->covariate_row, p->n, &used));
    for (ptrdiff_t i = 0; i < p->n_other; i++) /* scored by another job part */
        used[p->other_row[i]] = true;
    KN_TRY(new_marks(ctx, n, d->match.covariate_row, d->match.n, &matched));
    KN_TRY(new_marks(ctx, n, p->outlying_row, p->n_outlying, &outlying));
    for (ptrdiff_t r = 0; r < n; r++) {
        char name[KN_ROW_NAME], why[600];
        if (used[r])
            continue;
        kn_row_name(r, name);
        if (outlying[r])
            snprintf(why, sizeof why, "too many outlying responses");
        else if (matched[r])
            describe_missing(t, encoding, r, why, sizeof why);
        else if (d->left[r] != KN_LEFT_NOT)
            snprintf(why, sizeof why, "%s", LEFT[d->left[r]]);
        else
            snprintf(why, sizeof why, "no %s", d->images ? "image" : "responses");
        KN_TRY(add_exclusion(ctx, out, d->id_col >= 0 ? kn_table_cell(t, r, d->id_col) : name, r,
                             why));
    }
out:
    kn_free(used);
    kn_free(outlying);
    kn_free(matched);
    return status;
}

/* List the ids of responses without a row of covariates, each with its reason; nothing if rows are
 * matched by position. */
static kn_status absent_responses(kn_ctx *ctx, const kn_data *d, kn_exclusions *out)
{
    kn_status status;
    bool *matched = NULL;
    bool table = d->responses && d->responses != d->covariates && d->response_id_col >= 0;
    bool images = d->images && kn_images_id(d->images, 0);
    if (d->match.by_position || d->id_col < 0 || (!table && !images))
        return KN_OK;
    ptrdiff_t n = table ? kn_table_rows(d->responses) : kn_images_count(d->images);
    KN_TRY(new_marks(ctx, n, d->match.response_row, d->match.n, &matched));
    for (ptrdiff_t r = 0; r < n; r++) {
        const char *id =
            table ? kn_table_cell(d->responses, r, d->response_id_col) : kn_images_id(d->images, r);
        kn_left left = d->response_left ? d->response_left[r] : KN_LEFT_NOT;
        if (!matched[r] && left != KN_LEFT_WITH_ROW) /* already listed with their covariate row */
            KN_TRY(add_exclusion(ctx, out, id, -1,
                                 left != KN_LEFT_NOT ? LEFT[left] : "no covariates"));
    }
out:
    kn_free(matched);
    return status;
}

kn_status kn_exclusions_new(kn_ctx *ctx, const kn_data *data, const kn_encoding *encoding,
                            const kn_sample *participants, kn_exclusions *out)
{
    kn_status status;
    *out = (kn_exclusions){0};
    KN_TRY(add_absent_rows(ctx, data, encoding, participants, out));
    KN_TRY(absent_responses(ctx, data, out));
out:
    if (status != KN_OK)
        kn_exclusions_clear(out);
    return status;
}

json_t *kn_exclusions_json(const kn_exclusions *a)
{
    json_t *all = json_object();
    for (ptrdiff_t i = 0; all && i < a->n; i++) {
        const char *why = a->absent[i].why;
        json_int_t before = json_integer_value(json_object_get(all, why));
        if (json_object_set_new(all, why, json_integer(before + 1)) != 0) {
            json_decref(all);
            all = NULL;
        }
    }
    return all;
}
