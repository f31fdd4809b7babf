#include "support/failing.h"
#include "support/scratch.h"

#include "io/table/table.h"

static kn_status parse(kn_ctx *ctx, const char *name, const char *text, kn_table **t)
{
    return kn_table_of_bytes(ctx, name, text, (ptrdiff_t)strlen(text), t);
}

static void the_first_cell_tells_a_freesurfer_table(void **state)
{
    (void)state;
    static const struct {
        const char *text, *measure;
        char separator;
    } CASES[] = {
        {"lh.aparc.thickness\tlh_x_thickness\nbert\t1\n", "thickness", '\t'},
        {"rh.aparc.a2009s.area,rh_x_area\nbert,1\n", "area", ','},
        {"lh.BA_exvivo.meancurv lh_x_meancurv\n", "meancurv", ' '},
        {"Measure:volume;Left-Amygdala\n", "volume", ';'},
        {"lh.aparc.thickness\n", "", 0}, /* no other cell */
        {"lh.thickness\tx\n", "", 0},    /* no parcellation: a file name */
        {"lh.aparc.thickness.mgh\tx\n", "", 0},
        {"Measure:\tx\n", "", 0},
        {"sub-01\tlh.aparc.thickness\n", "", 0},
        {"", "", 0},
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        char separator = 0, measure[KN_MEASURE_SIZE] = "";
        bool is = kn_freesurfer_header(CASES[k].text, (ptrdiff_t)strlen(CASES[k].text), &separator,
                                       measure);
        assert_int_equal(is, *CASES[k].measure != '\0');
        assert_string_equal(measure, CASES[k].measure);
        assert_int_equal(separator, CASES[k].separator);
    }
}

/* Two tables with rows in other orders, a row that each lacks, and a common column. */
static kn_status join_two(kn_ctx *ctx, const char *second, kn_table **out)
{
    static const char *const of_a[] = {"p1", "p2", "p3"}, *const of_b[] = {"p3", "p4", "p1"};
    kn_table *a = NULL, *b = NULL;
    kn_status status;
    *out = NULL;
    KN_TRY(parse(ctx, "a.txt", "lh.aparc.area\tlh_x_area\teTIV\np1\t1\t10\np2\t2\t20\np3\t3\t30\n",
                 &a));
    KN_TRY(parse(ctx, "b.csv", second, &b));
    KN_TRY(kn_table_set_aside(ctx, a, 2));
    kn_join_part part[] = {{a, of_a, kn_table_id_col(a)}, {b, of_b, 0}};
    KN_TRY(kn_table_join(ctx, "a.txt,b.csv", part, 2, out));
out:
    kn_table_free(a);
    kn_table_free(b);
    return status;
}

static void rows_are_joined_by_id(void **state)
{
    (void)state;
    static const char *const CELLS[4][4] = {{"p1", "1", "10", "7"},
                                            {"p2", "2", "20", ""},
                                            {"p3", "3", "30", "9"},
                                            {"p4", "", "40", "8"}};
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    assert_ok(ctx, join_two(ctx, "id,eTIV,rh\n3,30.0,9\n4,40,8\n1,10,7\n", &t));
    assert_int_equal(kn_table_rows(t), 4);
    assert_int_equal(kn_table_cols(t), 4);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            assert_string_equal(kn_table_cell(t, i, j), CELLS[i][j]);
    assert_int_equal(kn_table_id_col(t), 0);
    assert_string_equal(kn_table_repeated(t, 0), "eTIV");
    assert_null(kn_table_repeated(t, 1));
    assert_true(kn_table_is_aside(t, 2));
    assert_false(kn_table_is_aside(t, 3));
    assert_null(kn_table_absent(t, 0));
    assert_string_equal(kn_table_absent(t, 1), "b.csv");
    assert_string_equal(kn_table_absent(t, 3), "a.txt");
    assert_string_equal(kn_table_cell_path(t, 2, 3), "b.csv");
    assert_int_equal(kn_table_cell_line(t, 2, 3), 2);
    assert_int_equal(kn_table_cell_line(t, 2, 1), 4);
    kn_table_free(t);
    kn_ctx_free(ctx);
}

static void a_common_column_has_the_same_values(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_table *t;
    assert_int_equal(join_two(ctx, "id,eTIV,rh\n3,31,9\n4,40,8\n1,10,7\n", &t), KN_ERR_DATA);
    assert_null(t);
    assert_string_equal(kn_message(ctx), "b.csv line 2: eTIV is '31', but '30' on line 4 of a.txt; "
                                         "rename or remove the column in one of the tables");
    kn_ctx_free(ctx);
}

FAILING_CASE(io_join, NULL, NULL)
{
    failing f = failing_by(7);
    kn_ctx *ctx = kn_ctx_new();
    kn_status status = KN_OK;
    while (failing_next(&f, status)) {
        kn_table *t;
        kn_fail_allocation(ctx, f.k);
        status = join_two(ctx, "id,eTIV,rh\n3,30,9\n4,40,8\n1,10,7\n", &t);
        kn_fail_allocation(ctx, 0);
        kn_table_free(t);
    }
    assert_ok(ctx, status);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(io_join)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cell_tells_a_freesurfer_table),
        cmocka_unit_test(rows_are_joined_by_id),
        cmocka_unit_test(a_common_column_has_the_same_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
