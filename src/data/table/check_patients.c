/* Implements check_patients.h. */
#include "data/table/check_patients.h"

#include "data/table/column_name_heuristics.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

/* Lists the first two distinct values of a column; returns how many there are. */
static ptrdiff_t two_values(const kn_table *t, ptrdiff_t col, const ptrdiff_t *rows, ptrdiff_t n,
                            kn_listing *list)
{
    const char *first = NULL;
    for (ptrdiff_t i = 0; i < n && list->n < 2; i++) {
        const char *cell = kn_table_cell(t, rows[i], col);
        if (kn_text_is_missing(cell) || (first && kn_names_equal(first, cell)))
            continue;
        first = first ? first : cell;
        kn_listing_add(list, cell);
    }
    return list->n;
}

void kn_patients_warn(kn_ctx *ctx, const kn_table *t, const ptrdiff_t *rows, ptrdiff_t n,
                      const char *but, const char *taken)
{
    for (ptrdiff_t col = 0; col < kn_table_cols(t); col++) {
        kn_listing list = {.most = KN_NAMES_LISTED};
        const char *name = kn_table_name(t, col);
        if (!kn_table_named(t, col) || kn_column_role_of(name) != KN_COLUMN_GROUP ||
            (but && kn_names_equal_any_case(but, name)))
            continue;
        if (two_values(t, col, rows, n, &list) > 1)
            kn_log(ctx, KN_LOG_WARNING,
                   "%s: %s of these people is %s: all of them %s ({where} chooses rows)",
                   kn_table_path(t), kn_clipped(name).text, list.text, taken);
    }
}
