/* Every case of failing allocations [support/failing.h], in the order of their names. */
#include "support/failing.h"

enum { MAX_CASES = 200 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

TEST_PROGRAM(base_failing_allocations)
{
    static struct CMUnitTest tests[MAX_CASES];
    size_t n = 0;
    for (const failing_case *row = registered_failing_cases(); row && n < MAX_CASES;
         row = row->next)
        tests[n++] = (struct CMUnitTest){row->name, row->run, row->setup, row->teardown, NULL};
    qsort(tests, n, sizeof *tests, compare_names);
    return _cmocka_run_group_tests("failing_allocations", tests, n, NULL, NULL);
}
