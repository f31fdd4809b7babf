/* Canonical order of participants, and draws of responses that do not depend on their order
 * [METHOD 0]. The order depends on what the rows are, and not on where
 * they stand: rows are sorted by a hash of their ids, then of their covariates, then of their
 * responses. Folds and subsamples are drawn in this order, so a table with its rows, or its
 * responses, in another order gives the same model. Only rows that are equal in everything keep the
 * order of the table. */
#ifndef KN_DATA_ROW_ORDER_H
#define KN_DATA_ROW_ORDER_H

#include <stdint.h>

#include "data/responses/responses.h"

/* The rows; all borrowed. */
typedef struct kn_row_source {
    ptrdiff_t n;
    const uint64_t *key; /* n, hashes of the ids; NULL: there are none */
    kn_mat X;            /* n x F encoded covariates, or kn_mat_none() */
    kn_view Y;           /* n x T responses; data NULL: none */
    kn_index_range own;  /* columns of Y that this rank holds */
    bool distributed;    /* other ranks hold the other columns */
} kn_row_source;

/* Sets order[k], n values, to the row at position k of the canonical order. Responses are read only
 * if ids and covariates do not distinguish all rows, and then only those of such rows. O(n ln n + n
 * F), and at most n T. Collective. */
kn_status kn_row_order(kn_ctx *ctx, const kn_row_source *from, ptrdiff_t *order);

/* Adds the order of n rows to the memory plan, and raises its peak by the work space. */
void kn_row_order_need(kn_mem_plan *r, ptrdiff_t n);

/* ---- responses ---- */

/* A draw of at least so many responses takes all of them. */
enum { KN_RESPONSES_DRAWN_MIN = 500 };

/* Sets key[j], Y->T values that are 0 on entry, to a hash of the values of response j in the first
 * rows of `order`. It does not depend on the order of rows or responses. Collective. */
kn_status kn_response_keys(kn_ctx *ctx, const kn_responses *Y, const ptrdiff_t *order,
                           uint64_t *key);

/* Draws t of T responses without replacement, by the seed and the hashes key[T], which do not
 * depend on their order. index (t) gets them ascending. O(T ln T). */
kn_status kn_responses_draw(kn_ctx *ctx, const uint64_t *key, ptrdiff_t T, uint64_t seed,
                            ptrdiff_t t, ptrdiff_t *index);
/* Raises the peak of the memory plan by the work space of kn_responses_draw, which it frees again.
 */
void kn_responses_draw_need(kn_mem_plan *r, ptrdiff_t T);

#endif
