/* Parses --interaction site:age,sex:age and --smooth age,bmi to columns of X (encoding.h). Names
 * are those of covariates of the encoding; errors list what can be chosen. */
#include <string.h>

#include "data/covariates/encoding.h"
#include "data/table/columns.h"
#include "data/table/text_list.h"

/* Returns the index of the covariate with this name, else of the only one that differs in case,
 * else -1. */
static ptrdiff_t find_covariate(const kn_encoding *encoding, const char *name)
{
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        if (kn_names_equal(encoding->column[k].name, name))
            return k;
    ptrdiff_t found = -1, alike = 0; /* ignoring case if that is unique */
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        if (kn_names_equal_any_case(encoding->column[k].name, name)) {
            found = k;
            alike++;
        }
    return alike == 1 ? found : -1;
}

/* Returns the position of the colon in "site:age" that separates the names of two covariates, since
 * a name may itself contain colons; else that of the first colon; NULL if there is none. */
static char *colon_of(const kn_encoding *encoding, char *text)
{
    for (char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        *at = '\0';
        bool known = find_covariate(encoding, text) >= 0 && find_covariate(encoding, at + 1) >= 0;
        *at = ':';
        if (known)
            return at;
    }
    return strchr(text, ':');
}

/* Fails with KN_ERR_ARGUMENT because `name`, in `item` of an option, is no covariate; the message
 * lists the covariates. */
static kn_status refuse_unknown(kn_ctx *ctx, const kn_encoding *encoding, const char *option,
                                kn_clip item, const char *name)
{
    kn_listing list = {.limit = KN_NAMES_LISTED};
    for (ptrdiff_t k = 0; k < encoding->n; k++)
        kn_listing_add(&list, encoding->column[k].name);
    return kn_fail(ctx, KN_ERR_ARGUMENT, "{%s=%s}: no covariate '%s'; choose from %s", option,
                   item.text, kn_clipped(name).text, list.text);
}

/* Checks an interaction: KN_ERR_ARGUMENT unless its covariates are a category and a number,
 * KN_ERR_DATA unless both vary. item: its text, for messages. */
static kn_status check_pair(kn_ctx *ctx, const kn_encoding *encoding, kn_clip item,
                            kn_interaction pair)
{
    const kn_covariate *a = &encoding->column[pair.category], *b = &encoding->column[pair.numeric];
    kn_clip first = kn_clipped(a->name), second = kn_clipped(b->name);
    if (a->kind != KN_COVARIATE_CATEGORY)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{interaction=%s} needs a category before the colon, but %s is a number",
                       item.text, first.text);
    if (b->kind != KN_COVARIATE_NUMERIC)
        return kn_fail(
            ctx, KN_ERR_ARGUMENT,
            "{interaction=%s} needs a number after the colon, but %s is a category%s%s%s",
            item.text, second.text, b->two_valued ? "; {numeric=" : "",
            b->two_valued ? second.text : "", b->two_valued ? "} treats it as a number" : "");
    if (a->levels.n < 2 || b->values == 1)
        return kn_fail(
            ctx, KN_ERR_DATA,
            "{interaction=%s} needs two columns that vary, but %s is the same in every row",
            item.text, a->levels.n < 2 ? first.text : second.text);
    return KN_OK;
}

/* Parses CATEGORY:COLUMN, which it changes, into the indices of two covariates. KN_ERR_ARGUMENT
 * without a colon, for unknown names or wrong kinds; KN_ERR_DATA if one does not vary. */
static kn_status read_pair(kn_ctx *ctx, const kn_encoding *encoding, char *text,
                           kn_interaction *out)
{
    kn_clip item = kn_clipped(text);
    char *colon = colon_of(encoding, text);
    if (!colon)
        return kn_fail(ctx, KN_ERR_ARGUMENT,
                       "{interaction} is '%s', but must be CATEGORY:COLUMN, such as site:age",
                       item.text);
    *colon = '\0';
    *out = (kn_interaction){find_covariate(encoding, text), find_covariate(encoding, colon + 1)};
    if (out->category < 0 || out->numeric < 0)
        return refuse_unknown(ctx, encoding, "interaction", item,
                              out->category < 0 ? text : colon + 1);
    return check_pair(ctx, encoding, item, *out);
}

kn_status kn_encoding_interactions(kn_ctx *ctx, const kn_encoding *encoding, const char *text,
                                   kn_interaction **out, ptrdiff_t *n)
{
    kn_names names = {0};
    void *memory = NULL;
    kn_status status;
    ptrdiff_t count = 0;
    *out = NULL;
    *n = 0;
    KN_TRY(kn_names_split(ctx, "{interaction}", text, &names));
    if (names.n > KN_INTERACTIONS_MAX) {
        status = kn_fail(ctx, KN_ERR_ARGUMENT,
                         "{interaction} names %td pairs, but at most %d are allowed", names.n,
                         KN_INTERACTIONS_MAX);
        goto out;
    }
    KN_TRY(kn_alloc(ctx, names.n, sizeof **out, &memory));
    for (kn_interaction *pair = memory; count < names.n; count++) {
        kn_clip item = kn_clipped(names.name[count]);
        KN_TRY(read_pair(ctx, encoding, names.name[count], &pair[count]));
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

kn_status kn_encoding_smooth(kn_ctx *ctx, const kn_encoding *encoding, const char *text, bool **out)
{
    kn_status status;
    kn_names names = {0};
    void *memory = NULL;
    *out = NULL;
    if (!text)
        return KN_OK;
    KN_TRY(kn_names_split(ctx, "{smooth}", text, &names));
    KN_TRY(kn_alloc(ctx, encoding->n, sizeof(bool), &memory));
    for (ptrdiff_t i = 0; i < names.n; i++) {
        ptrdiff_t k = find_covariate(encoding, names.name[i]);
        if (k < 0)
            KN_TRY(refuse_unknown(ctx, encoding, "smooth", kn_clipped(text), names.name[i]));
        ((bool *)memory)[k] = true;
    }
    *out = memory;
    memory = NULL;
out:
    kn_names_clear(&names);
    kn_free(memory);
    return status;
}
