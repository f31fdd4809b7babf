/* How much memory there is, and what is said or done where a fit needs more. */
#include "support/needs.h"
#include "support/scratch.h"

#include <sys/stat.h>

#include "base/machine.h"
#include "base/mpi/comm.h"

static void responses_go_to_a_file_only_when_they_must(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    bool in_file;
    double all = total(PLAIN), rest = all - 4.0 * 600 * 100000 + kn_need_window(&PLAIN);
    kn_mem_budget a = {all, "{memory} allows", false};
    assert_ok(ctx, kn_choose_response_storage(ctx, &a, &PLAIN, false, &in_file));
    assert_false(in_file);
    a.bytes = all - 1;
    assert_ok(ctx, kn_choose_response_storage(ctx, &a, &PLAIN, false, &in_file));
    assert_true(in_file);
    a.bytes = rest;
    assert_ok(ctx, kn_choose_response_storage(ctx, &a, &PLAIN, false, &in_file));
    assert_true(in_file);
    a.bytes = rest - 1;
    assert_refused(ctx, kn_choose_response_storage(ctx, &a, &PLAIN, false, &in_file), KN_ERR_MEMORY,
                   " with the responses in {scratch}");
    a = (kn_mem_budget){all - 1, "the limit of this process (ulimit -v) leaves", true};
    assert_refused(ctx, kn_choose_response_storage(ctx, &a, &PLAIN, false, &in_file), KN_ERR_MEMORY,
                   "(ulimit -v) leaves"); /* a mapped file is address space too */
    kn_ctx_free(ctx);
}

/* What makes it too much are the other processes of the node, or it is not. */
static void ranks_of_a_node_are_counted(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_comm crew = kn_comm_serial;
    kn_problem_size share = PLAIN;
    bool in_file;
    crew.size = 6; /* two nodes, three ranks each */
    crew.local_size = 3;
    crew.nodes = 2;
    kn_ctx_set_comm(ctx, &crew);
    share.threads = 1;
    share.elsewhere = 5 * PLAIN.T / 6;
    double all = total(share);
    kn_mem_budget a = {all, "a rank's part is", false};
    assert_ok(ctx, kn_choose_response_storage(ctx, &a, &share, false, &in_file));
    a.bytes = 0.6 * all;
    assert_refused(ctx, kn_choose_response_storage(ctx, &a, &share, false, &in_file), KN_ERR_MEMORY,
                   " in each of 3 processes of this node (");
    assert_non_null(strstr(kn_message(ctx), "; start one task per node: -n 2 -c 3"));
    a.bytes = 1e6; /* nor has a node so much */
    assert_refused(ctx, kn_choose_response_storage(ctx, &a, &share, false, &in_file), KN_ERR_MEMORY,
                   " in each of 3 processes of this node (");
    assert_null(strstr(kn_message(ctx), "start one task"));
    a.bytes = 0.6 * all;
    kn_set_memory(ctx, (size_t)a.bytes); /* the user's own number: not for us to share out */
    assert_refused(ctx, kn_choose_response_storage(ctx, &a, &share, false, &in_file), KN_ERR_MEMORY,
                   " in each of 3 processes of this node (");
    assert_null(strstr(kn_message(ctx), "start one task"));
    kn_ctx_free(ctx);
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_least_limit_above_a_cgroup_counts(void **state)
{
    (void)state;
    static const char *const folders[] = {"root",
                                          "root/proc",
                                          "root/proc/self",
                                          "root/sys",
                                          "root/sys/fs",
                                          "root/sys/fs/cgroup",
                                          "root/sys/fs/cgroup/job",
                                          "root/sys/fs/cgroup/job/step",
                                          "root/sys/fs/cgroup/memory",
                                          "root/sys/fs/cgroup/memory/old"};
    bool limited;
    double machine = kn_ram("nowhere", &limited);
    assert_true(machine > 1e8);
    assert_false(limited);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0777);
    put_text("root/proc/self/cgroup", "0::/job/step\n");
    put_text("root/sys/fs/cgroup/job/step/memory.max", "max\n");
    assert_true(kn_ram("root", &limited) == machine);
    assert_false(limited);
    put_text("root/sys/fs/cgroup/job/memory.max", "1000000\n");
    assert_true(kn_ram("root", &limited) == 1e6);
    assert_true(limited);
    put_text("root/proc/self/cgroup", "7:cpu:/x\n4:memory:/old\n");
    put_text("root/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "2000000\n");
    assert_true(kn_ram("root", &limited) == 2e6);
    assert_int_equal(system("rm -r root"), 0);
}

TEST_PROGRAM(memory_budget)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_go_to_a_file_only_when_they_must),
        cmocka_unit_test(ranks_of_a_node_are_counted),
        cmocka_unit_test(the_least_limit_above_a_cgroup_counts),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
