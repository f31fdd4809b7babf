/* What does not belong together is refused, and a failure leaves nothing. */
#include "support/failing.h"
#include "support/materials.h"

static void other_folders_are_refused(void **state)
{
    (void)state;
    kn_report_input m;
    kn_model *other = fit(&training, "components=1 folds=5");
    assert_sentence(ctx, kn_report_input_open(ctx, NULL, NULL, &m), KN_ERR_ARGUMENT,
                    "there is neither a model nor a folder; give a model or {scored}");
    assert_int_equal(mkdir("out", 0777), 0);
    assert_sentence(
        ctx, kn_report_input_open(ctx, model, "out", &m), KN_ERR_IO,
        "out has no summary.json; either the run did not finish (run it again), or the folder "
        "is not from score, cv or change");
    scratch_text("out/summary.json", "{\"over\": \"age\"}");
    assert_sentence(ctx, kn_report_input_open(ctx, model, "out", &m), KN_ERR_DATA,
                    "out: summary.json was written by another command; give a folder that score, "
                    "cv or change wrote");
    folder_remove("out");
    kn_scores_free(score(model, &scored, "output=out format=csv"));
    assert_refused(ctx, kn_report_input_open(ctx, other, "out", &m), KN_ERR_DATA,
                   "out was made with another model (xxh64:");
    assert_refused(ctx, kn_report_input_open(ctx, other, "out", &m), KN_ERR_DATA,
                   "); give that model, or run the command again with this one");
    assert_sentence(ctx, kn_report_input_open(ctx, NULL, "out", &m), KN_ERR_ARGUMENT,
                    "out was written by score; also name the model that it was made with");
    replace("out/abnormality.tsv", scored.id[2], "nobody");
    assert_sentence(
        ctx, kn_report_input_open(ctx, model, "out", &m), KN_ERR_DATA,
        "out/abnormality.tsv line 4: participant_id is 'nobody', but 's2-2' in "
        "scored_participants.tsv; the files of this folder are from different runs, so run the "
        "command again");
    replace("out/summary.json", "\"model\": \"xxh64:", "\"once\": \"xxh64:");
    assert_sentence(ctx, kn_report_input_open(ctx, model, "out", &m), KN_ERR_DATA,
                    "out: summary.json does not name the model; run score again");
    assert_null(m.files);
    folder_remove("out");
    kn_model_free(other);
}

/* The hash is that of the file: of a model saved and opened again, and of its bytes. */
static void a_model_is_known_again(void **state)
{
    (void)state;
    kn_report_input m;
    kn_model *opened;
    kn_scores_free(score(model, &scored, "output=out"));
    assert_ok(ctx, kn_model_save(ctx, model, "m.safetensors", 1));
    assert_ok(ctx, kn_model_open(ctx, "m.safetensors", &opened));
    assert_ok(ctx, kn_report_input_open(ctx, opened, "out", &m));
    kn_report_input_clear(&m);
    kn_scores_free(score(opened, &scored, "output=out force=true"));
    assert_ok(ctx, kn_report_input_open(ctx, model, "out", &m));
    kn_report_input_clear(&m);
    kn_model_free(opened);
    folder_remove("out");
}

static kn_status everything(const kn_model *of, const char *dir)
{
    kn_report_input m;
    kn_report_input_response r[2];
    const char *over = NULL;
    float z[T];
    kn_status status = kn_report_input_open(ctx, of, dir, &m);
    if (status == KN_OK)
        status = kn_report_input_z(ctx, &m, 1, z);
    if (status == KN_OK)
        status = kn_report_input_choose_over(ctx, &m, NULL, &over);
    if (status == KN_OK && over)
        status = kn_report_input_curves(ctx, &m, over, (ptrdiff_t[]){1, 3}, 2, r);
    kn_report_input_clear(&m);
    return status;
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    return begin(state);
}

static int close_fixture(void **state)
{
    int status = end(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(report_input, open_fixture, close_fixture)
{
    assert_int_equal(fresh(state), 0);
    kn_options *o = options_of(ctx, "cv", "output=crossed folds=3 format=csv");
    kn_data *d = data_of(&training);
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    kn_scores_free(score(model, &scored, "output=out split=true format=csv"));
    for (int n = 0; n < 2; n++) {
        kn_status status = KN_ERR_MEMORY;
        failing f = failing_by(7);
        size_t before = kn_memory_now(ctx);
        while (failing_next(&f, status)) {
            kn_fail_allocation(ctx, f.k);
            status = everything(n ? NULL : model, n ? "crossed" : "out");
            assert_true(kn_memory_now(ctx) == before);
        }
        kn_fail_allocation(ctx, 0);
        assert_ok(ctx, status);
        assert_true(f.k > 50);
    }
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
    folder_remove("crossed");
}

TEST_PROGRAM(report_input_errors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(other_folders_are_refused, fresh),
        cmocka_unit_test_setup(a_model_is_known_again, fresh),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
