/* A process alone is a group of one; what a rank may use; where a plugin is looked for. What
 * several processes do is in tests/mpi. */
#include "support/test.h"
#include "support/with_context.h"

#include <unistd.h>

#include "base/memory/plan.h"
#include "base/mpi/load_plugin.h"
#include "data/responses/responses.h"

static void a_single_process_gets_its_own_numbers(void **state)
{
    (void)state;
    double x[3] = {1, -2, 3}, y[2] = {0};
    char bytes[4] = "abc", to[8] = "";
    ptrdiff_t n = 4, at = 2;
    assert_int_equal(kn_ctx_comm(ctx)->size, 1);
    assert_ok(ctx, kn_comm_sum(ctx, x, 3));
    assert_ok(ctx, kn_comm_max(ctx, x, 3));
    assert_true(x[0] == 1 && x[1] == -2 && x[2] == 3);
    assert_ok(ctx, kn_comm_broadcast(ctx, bytes, sizeof bytes, 0));
    assert_ok(ctx, kn_comm_send_receive(ctx, bytes, &n, to, &n, &at));
    assert_string_equal(to + at, "abc");
    n = 2 * sizeof *y;
    assert_ok(ctx, kn_comm_gather(ctx, x + 1, n, y, &n));
    assert_true(y[0] == -2 && y[1] == 3);
    assert_ok(ctx, kn_comm_check_equal(ctx, "core", "SkylakeX", ""));
}

static void a_failure_on_the_root_fails_on_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(kn_comm_agree_status(ctx, KN_OK), KN_OK);
    assert_refused(ctx, kn_comm_agree_status(ctx, kn_fail(ctx, KN_ERR_DATA, "mine")), KN_ERR_DATA,
                   "mine");
    assert_true(kn_comm_error_is_shared(ctx));
    kn_comm_stop(ctx, 1); /* there is nobody to stop */
}

static kn_status count(void *self)
{
    return ++*(int *)self == 2 ? kn_fail(ctx, KN_ERR_IO, "the second") : KN_OK;
}

static void a_collective_of_one_rank_is_a_call(void **state)
{
    (void)state;
    int times = 0;
    assert_ok(ctx, kn_comm_on_root(ctx, "this", count, &times));
    assert_refused(ctx, kn_comm_on_root(ctx, "this", count, &times), KN_ERR_IO, "the second");
}

static kn_status memory_inside(void *self)
{
    *(size_t *)self = kn_memory(ctx);
    return kn_ctx_comm(ctx)->size == 1 ? KN_OK : KN_ERR_ARGUMENT;
}

static void a_rank_has_its_part_of_the_node(void **state)
{
    (void)state;
    size_t half = kn_memory(ctx);
    kn_comm four = kn_comm_serial;
    four.size = four.local_size = 4;
    four.threads = 3;
    kn_ctx_set_comm(ctx, &four);
    kn_set_threads(ctx, 0);
    assert_int_equal(kn_threads(ctx), 3);
    assert_false(kn_threads_given(ctx));
    assert_int_equal(kn_memory(ctx), half / 4);
    size_t inside = 0;
    assert_int_equal(kn_comm_local(ctx, memory_inside, &inside), KN_OK);
    assert_int_equal(inside, half / 4); /* the other ranks are there all the same */
    assert_false(kn_memory_given(ctx));
    assert_non_null(strstr(kn_mem_budget_of(ctx).from, "one process's part of half of this "));
    kn_set_threads(ctx, 7);
    kn_set_memory(ctx, 1000);
    assert_int_equal(kn_threads(ctx), 7);
    assert_true(kn_threads_given(ctx));
    assert_int_equal(kn_memory(ctx), 1000);
    kn_set_memory(ctx, 0);
    kn_ctx_set_comm(ctx, &kn_comm_serial);
    kn_set_threads(ctx, 0);
}

static void plugins_are_found_by_whole_paths_and_in_two_folders(void **state)
{
    (void)state;
    char path[4096], folder[] = "/tmp/kn-comm-XXXXXX", file[64], here[4096];
    static const char *const ELSEWHERE[] = {"", "./p.so", "a/p.so", "../p.so"};
    assert_non_null(getcwd(here, sizeof here));
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/p.so", folder);
    assert_refused(ctx, kn_comm_find(ctx, file, path, sizeof path), KN_ERR_IO, "cannot be read");
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("no library", f);
    fclose(f);
    assert_ok(ctx, kn_comm_find(ctx, file, path, sizeof path));
    assert_string_equal(path, file);
    assert_refused(ctx, kn_comm_find(ctx, file, path, 4), KN_ERR_IO, "cannot be read");
    assert_int_equal(chdir(folder), 0);
    assert_refused(ctx, kn_comm_find(ctx, "p.so", path, sizeof path), KN_ERR_IO,
                   "p.so was found neither beside this program nor in its ../lib/kronorm");
    for (size_t i = 0; i < sizeof ELSEWHERE / sizeof *ELSEWHERE; i++)
        assert_refused(ctx, kn_comm_find(ctx, ELSEWHERE[i], path, sizeof path), KN_ERR_ARGUMENT,
                       "but must be none, the name of a plugin or an absolute path");
    assert_int_equal(chdir(here), 0);
    kn_comm c;
    assert_refused(ctx, kn_comm_load(ctx, file, &c), KN_ERR_IO, "the plugin cannot be loaded: ");
    assert_int_equal(c.size, 1);
    remove(file);
    rmdir(folder);
}

static void responses_are_distributed_in_whole_blocks_of_the_mask(void **state)
{
    (void)state;
    static const ptrdiff_t ALL[] = {1, 2047, 2048, 2049, 9001, 20480};
    for (size_t a = 0; a < sizeof ALL / sizeof *ALL; a++)
        for (int ranks = 1; ranks <= 7; ranks++) {
            ptrdiff_t *kept = calloc((size_t)ALL[a], sizeof *kept), n = 0, at = 0, limit = 0;
            for (ptrdiff_t j = 0; j < ALL[a]; j++)
                if (ALL[a] == 1 || (j % 5 != 0 && j / 2048 != 2)) /* a block has none in use */
                    kept[n++] = j;
            kn_scaling s = {.kept = kept, .n_kept = n, .n_all = ALL[a]};
            kn_responses Y = {.scaling = &s, .T = n};
            for (int r = 0; r < ranks; r++) {
                kn_index_range own = kn_response_range_of(&Y, r, ranks);
                assert_int_equal(own.first, at); /* one after the other, none twice */
                assert_true(own.last >= own.first);
                if (own.first > 0 && own.first < n) /* cuts lie between blocks */
                    assert_true(kept[own.first] / KN_BLOCK > kept[own.first - 1] / KN_BLOCK);
                at = own.last;
                limit = own.last - own.first > limit ? own.last - own.first : limit;
            }
            assert_int_equal(at, n);
            ptrdiff_t blocks = (ALL[a] + KN_BLOCK - 1) / KN_BLOCK;
            assert_true(limit <= (blocks + ranks - 1) / ranks * KN_BLOCK);
            free(kept);
        }
}

TEST_PROGRAM(mpi_comm)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_process_gets_its_own_numbers),
        cmocka_unit_test(a_failure_on_the_root_fails_on_all_ranks),
        cmocka_unit_test(a_collective_of_one_rank_is_a_call),
        cmocka_unit_test(a_rank_has_its_part_of_the_node),
        cmocka_unit_test(plugins_are_found_by_whole_paths_and_in_two_folders),
        cmocka_unit_test(responses_are_distributed_in_whole_blocks_of_the_mask),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
