/* A fit from images holds no more than it may: what belongs to the files, such as which voxels are
 * responses, is a part of its need [METHOD 6c]. */
#include "support/calls.h"
#include "support/images.h"

#include "base/memory/alloc.h"
#include "base/random.h"
#include "commands/memory/memory_plan.h"

enum { N = 12, SIDE = 23, VOXELS = SIDE * SIDE * SIDE };

static void write_study(void)
{
    static float value[VOXELS];
    kn_rng rng;
    char name[32];
    FILE *participants = fopen("people.csv", "w"), *list = fopen("list.txt", "w");
    kn_nifti_header h = image_header(SIDE, SIDE, SIDE);
    ref_rng_init(&rng, 3, 0);
    fputs("participant_id,age\n", participants);
    for (int i = 0; i < N; i++) {
        for (int v = 0; v < VOXELS; v++)
            value[v] = (float)(5 + kn_rng_normal(&rng));
        snprintf(name, sizeof name, "s%02d.nii", i);
        image_file(name, &h, 1, value, VOXELS);
        fprintf(participants, "s%02d,%d\n", i, 20 + 5 * i);
        fprintf(list, "%s\n", name);
    }
    assert_int_equal(fclose(participants) | fclose(list), 0);
}

/* Bytes at most; 0: it was refused for want of memory. */
static size_t peak_of(const char *options, size_t memory)
{
    char text[256];
    kn_model *model = NULL;
    kn_ctx *ctx = kn_ctx_new();
    kn_set_threads(ctx, 1);
    if (memory > 0)
        kn_set_memory(ctx, memory);
    snprintf(text, sizeof text, "covariates=people.csv responses=list.txt max_evals=2 scratch=. %s",
             options);
    kn_status status = fit_files(ctx, text, &model);
    assert_true(status == KN_OK || (memory > 0 && status == KN_ERR_MEMORY));
    size_t peak = status == KN_OK ? kn_memory_peak(ctx) : 0;
    kn_model_free(model);
    kn_ctx_free(ctx);
    return peak;
}

/* With a byte less than it takes, the fit is another, or none. */
static void a_fit_from_images_stays_within_its_memory(void **state)
{
    static const char *const OPTIONS[] = {"folds=0 components=1 noise=iso", "folds=0 components=1",
                                          "folds=0 components=2 calibrate=none", "folds=0",
                                          "folds=3 components=1"};
    const double program = kn_need_program(1);
    (void)state;
    write_study();
    for (size_t k = 0; k < sizeof OPTIONS / sizeof *OPTIONS; k++) {
        size_t peak = peak_of(OPTIONS[k], 0);
        size_t less = peak_of(OPTIONS[k], (size_t)program + peak - 1);
        if (less >= peak)
            fail_msg("%s: %zu bytes, one more than allowed", OPTIONS[k], less);
    }
}

TEST_PROGRAM(memory_predicted_images)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_from_images_stays_within_its_memory),
    };
    return cmocka_run_group_tests_name("need_images", tests, scratch_enter, scratch_leave);
}
