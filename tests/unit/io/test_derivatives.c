#include "support/failing.h"
#include "support/scratch.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "io/bids/derivatives.h"

/* A folder with these files, whose contents do not matter. */
static void make_folder(void)
{
    static const char *const FILES[] = {
        "d/sub-02/sub-02_hemi-R_space-fsLR_thickness.shape.gii",
        "d/sub-02/sub-02_hemi-L_space-fsLR_thickness.shape.gii",
        "d/sub-01/sub-01_hemi-L_space-fsLR_thickness.shape.gii",
        "d/sub-01/sub-01_hemi-R_space-fsLR_thickness.shape.gii",
        "d/sub-01/sub-01_hemi-L_space-fsLR_thickness.json",
        "d/sub-01/sub-01_hemi-L_space-fsaverage_den-10k_thickness.shape.gii",
        "d/sub-01/sub-01_space-MNI_label-GM_probseg.nii.gz",
        "d/sub-01/sub-01_space-MNI_label-WM_probseg.nii.gz",
        "d/sub-01/sub-01.nii",
        "d/group_thickness.nii",
        "d/sourcedata/sub-03_thickness.nii",
    };
    mkdir("d", 0777);
    mkdir("d/sub-01", 0777);
    mkdir("d/sub-02", 0777);
    mkdir("d/sourcedata", 0777);
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++)
        scratch_text(FILES[k], "");
}

static int remove_folder(void **state)
{
    return system("rm -rf d") == 0 ? scratch_leave(state) : -1;
}

static void hemispheres_of_a_participant_form_a_line(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    char *list, suffixes[KN_BIDS_SUFFIXES];
    make_folder();
    assert_ok(ctx,
              kn_bids_find(ctx, "d", &(kn_bids_query){"thickness", "fsLR", NULL, NULL}, &list));
    assert_string_equal(list, "sub-01\td/sub-01/sub-01_hemi-L_space-fsLR_thickness.shape.gii"
                              "\td/sub-01/sub-01_hemi-R_space-fsLR_thickness.shape.gii\n"
                              "sub-02\td/sub-02/sub-02_hemi-L_space-fsLR_thickness.shape.gii"
                              "\td/sub-02/sub-02_hemi-R_space-fsLR_thickness.shape.gii\n");
    kn_free(list);
    assert_ok(ctx, kn_bids_find(ctx, "d", &(kn_bids_query){.entities = "den=10k,hemi=L"}, &list));
    assert_string_equal(
        list, "sub-01\td/sub-01/sub-01_hemi-L_space-fsaverage_den-10k_thickness.shape.gii\n");
    kn_free(list);
    kn_bids_suffixes(ctx, "d", suffixes);
    assert_non_null(strstr(suffixes, "thickness"));
    assert_non_null(strstr(suffixes, "probseg"));
    assert_null(strstr(suffixes, "group"));
    kn_ctx_free(ctx);
}

static void a_choice_is_refused_with_its_entity(void **state)
{
    (void)state;
    static const struct {
        kn_bids_query query;
        const char *sentence;
    } CASES[] = {
        {{"probseg", NULL, NULL, NULL},
         "d: 2 files fit for sub-01, which differ in label (GM, WM); choose one by "
         "{entities=label=VALUE}"},
        {{"thickness", NULL, NULL, NULL},
         "d: 3 files fit for sub-01, which differ in space (fsLR, fsaverage); choose one by "
         "{space=VALUE}"},
        {{NULL, NULL, NULL, "GM"},
         "{entities} is 'GM', but must be KEY=VALUE,KEY=VALUE, such as den=32k,label=GM"},
    };
    kn_ctx *ctx = kn_ctx_new();
    make_folder();
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        char *list;
        assert_int_not_equal(kn_bids_find(ctx, "d", &CASES[k].query, &list), KN_OK);
        assert_string_equal(kn_message(ctx), CASES[k].sentence);
        assert_null(list);
    }
    kn_ctx_free(ctx);
}

FAILING_CASE(io_derivatives, scratch_enter, remove_folder)
{
    failing f = failing_by(5);
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_OK;
    make_folder();
    while (failing_next(&f, status)) {
        char *list;
        kn_fail_allocation(ctx, f.k);
        status = kn_bids_find(ctx, "d", &(kn_bids_query){"thickness", "fsLR", NULL, NULL}, &list);
        kn_fail_allocation(ctx, 0);
        kn_free(list);
    }
    assert_ok(ctx, status);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_derivatives)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hemispheres_of_a_participant_form_a_line),
        cmocka_unit_test(a_choice_is_refused_with_its_entity),
    };
    return cmocka_run_group_tests(tests, scratch_enter, remove_folder);
}
