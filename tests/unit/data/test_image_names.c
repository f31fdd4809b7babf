/* Ids of images from their file names. */
#include "support/failing.h"
#include "support/test.h"

#include "data/image_names.h"
#include "data/response_space.h"

static kn_ctx *ctx;

enum { MAX = 4 };

/* path, id and expected: lists that end with NULL; expected[0] NULL: the names do not tell. */
typedef struct example {
    const char *path[MAX + 1], *id[MAX + 1], *expected[MAX + 1];
} example;

static ptrdiff_t length_of(const char *const *list)
{
    ptrdiff_t n = 0;
    while (list[n])
        n++;
    return n;
}

static const example EXAMPLES[] = {
    /* names, in whatever order; an extension more or less, and a dot within the id */
    {{"d/s10.nii", "d/s1.nii.gz", "s2.func.gii"}, {"s1", "s2", "s10"}, {"s10", "s1", "s2"}},
    {{"a.1.nii", "a.2.nii"}, {"a.1", "a.2"}, {"a.1", "a.2"}},
    {{"12.nii", "7.nii"}, {"7", "12"}, {"12", "7"}},
    /* an image of nobody keeps its name, for the message */
    {{"s1.nii", "x.nii"}, {"s1", "s2"}, {"s1", "x"}},
    /* parts of names and folders; the longest counts */
    {{"map_s1_T1.nii", "map_s2_T1.nii"}, {"s2", "s1", "T9"}, {"s1", "s2"}},
    {{"all/s1/map.nii", "all/s2/map.nii"}, {"s1", "s2"}, {"s1", "s2"}},
    {{"1_s-1.nii", "1_s-2.nii"}, {"1", "s-1", "s-2"}, {"s-1", "s-2"}},
    /* not within a word, not with other zeros or case, not in a folder that all share */
    {{"as1.nii", "as2.nii"}, {"s1", "s2"}, {NULL}},
    {{"x001.nii", "x002.nii"}, {"1", "2"}, {NULL}},
    {{"S1.nii", "S2.nii"}, {"s1", "s2"}, {NULL}},
    {{"s1/a.nii", "s1/b.nii"}, {"s1", "s2"}, {NULL}},
    /* one id twice, or one image without */
    {{"s1_a.nii", "s1_b.nii"}, {"s1", "s2"}, {NULL}},
    {{"m_s1.nii", "m_none.nii"}, {"s1", "s2"}, {NULL}},
    {{"one.nii"}, {"s1"}, {NULL}},
};

static void names_tell_ids(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof EXAMPLES / sizeof *EXAMPLES; k++) {
        const example *e = &EXAMPLES[k];
        ptrdiff_t n = length_of(e->path);
        char **found;
        assert_ok(ctx, kn_image_names_find(ctx, e->path, n, e->id, length_of(e->id), &found));
        print_message("# %s\n", e->path[0]);
        assert_true((found != NULL) == (e->expected[0] != NULL));
        for (ptrdiff_t i = 0; found && i < n; i++)
            assert_string_equal(found[i], e->expected[i]);
        kn_names_free(found, n);
    }
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    const example *e = &EXAMPLES[0];
    for (int k = 1;; k++) {
        char **found;
        kn_fail_allocation(ctx, k);
        kn_status status = kn_image_names_find(ctx, e->path, 3, e->id, 3, &found);
        kn_fail_allocation(ctx, 0);
        if (status == KN_OK) {
            kn_names_free(found, 3);
            break;
        }
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_true(k < 20 && !found);
    }
}

TEST_PROGRAM(data_image_names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_ids),
        cmocka_unit_test(no_memory_is_an_error),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
