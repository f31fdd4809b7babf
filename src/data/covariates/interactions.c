/* Parses --interaction site:age,sex:age and --smooth age,bmi to columns of X (encoding.h). */
#include <string.h>

#include "data/covariates/encoding.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

static ptrdiff_t find(const kn_encoding *recipe, const char *name)
{
    for (ptrdiff_t k = 0; k < recipe->n; k++)
        if (kn_names_equal(recipe->column[k].name, name))
            return k;
    ptrdiff_t found = -1, alike = 0; /* ignoring case if that is unique */
    for (ptrdiff_t k = 0; k < recipe->n; k++)
        if (kn_names_equal_any_case(recipe->column[k].name, name)) {
            found = k;
            alike++;
        }
    return alike == 1 ? found : -1;
}

/* Returns the colon that separates two known covariates, since a name may itself contain colons;
 * else the first one. */
static char *colon_of(const kn_encoding *recipe, char *text)
{
    for (char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        *at = '\0';
        bool known = find(recipe, text) >= 0 && find(recipe, at + 1) >= 0;
        *at = ':';
        if (known)
            return at;
    }
    return strchr(text, ':');
}

static kn_status unknown(kn_ctx *ctx, const kn_encoding *recipe, const char *option, kn_clip item,
                         const char *name)
{
    kn_listing list = {.most = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < recipe->n; k++)
        kn_listing_add(&list, recipe->column[k].name);
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s=%s}: no covariate '%s', there %s %s", option,
                   item.text, kn_clipped(name).text, recipe->n == 1 ? "is" : "are", list.text);
}

/* Checks that a pair is a category and a numeric covariate, and that both vary. */
static kn_status check_pair(kn_ctx *ctx, const kn_encoding *recipe, kn_clip item,
                            kn_interaction pair)
{
    const kn_covariate *a = &recipe->column[pair.category], *b = &recipe->column[pair.numeric];
    kn_clip first = kn_clipped(a->name), second = kn_clipped(b->name);
    if (a->kind != KN_COVARIATE_CATEGORY)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{interaction=%s}: %s is a number, expected a category before the colon",
                       item.text, first.text);
    if (b->kind != KN_COVARIATE_NUMERIC)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{interaction=%s}: %s is a category, expected a number behind the colon%s%s%s",
            item.text, second.text, b->two_valued ? " ({numeric=" : "",
            b->two_valued ? second.text : "", b->two_valued ? "} would take it as one)" : "");
    if (a->levels.n < 2 || b->values == 1)
        return kn_fail(ctx, KN_ERR_DATA,
                       "{interaction=%s}: %s is the same in every row, expected two that vary",
                       item.text, a->levels.n < 2 ? first.text : second.text);
    return KN_OK;
}

static kn_status read_pair(kn_ctx *ctx, const kn_encoding *recipe, char *text, kn_interaction *out)
{
    kn_clip item = kn_clipped(text);
    char *colon = colon_of(recipe, text);
    if (!colon)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{interaction} has '%s', expected CATEGORY:COLUMN such as site:age",
                       item.text);
    *colon = '\0';
    *out = (kn_interaction){find(recipe, text), find(recipe, colon + 1)};
    if (out->category < 0 || out->numeric < 0)
        return unknown(ctx, recipe, "interaction", item, out->category < 0 ? text : colon + 1);
    return check_pair(ctx, recipe, item, *out);
}

kn_status kn_encoding_interactions(kn_ctx *ctx, const kn_encoding *recipe, const char *text,
                                   kn_interaction **out, ptrdiff_t *n)
{
    kn_names names = {0};
    void *memory = NULL;
    kn_status status;
    ptrdiff_t count = 0;
    *out = NULL;
    *n = 0;
    KN_TRY(kn_names_split(ctx, "{interaction}", text, &names));
    if (names.n > KN_INTERACTIONS_MOST) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT, "{interaction} names %td pairs, expected at most %d",
                         names.n, KN_INTERACTIONS_MOST);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, names.n, sizeof **out, &memory));
    for (kn_interaction *pair = memory; count < names.n; count++) {
        kn_clip item = kn_clipped(names.name[count]);
        KN_TRY(read_pair(ctx, recipe, names.name[count], &pair[count]));
        for (ptrdiff_t i = 0; i < count; i++)
            if (pair[i].category == pair[count].category &&
                pair[i].numeric == pair[count].numeric) {
                status = kn_fail(ctx, KN_ERR_ARGUMENT, "{interaction} names '%s' twice", item.text);
                goto out;
            }
    }
out:
    kn_names_clear(&names);
    if (status == KN_OK) {
        *out = memory;
        *n = count;
    } else {
        kn_free(memory);
    }
    return status;
}

kn_status kn_encoding_smooth(kn_ctx *ctx, const kn_encoding *recipe, const char *text, bool **out)
{
    kn_status status;
    kn_names names = {0};
    void *memory = NULL;
    *out = NULL;
    if (!text)
        return KN_OK;
    KN_TRY(kn_names_split(ctx, "{smooth}", text, &names));
    KN_TRY(kn_alloc(ctx, recipe->n, sizeof(bool), &memory));
    for (ptrdiff_t i = 0; i < names.n; i++) {
        ptrdiff_t k = find(recipe, names.name[i]);
        if (k < 0)
            KN_TRY(unknown(ctx, recipe, "smooth", kn_clipped(text), names.name[i]));
        ((bool *)memory)[k] = true;
    }
    *out = memory;
    memory = NULL;
out:
    kn_names_clear(&names);
    kn_free(memory);
    return status;
}
