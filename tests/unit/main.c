/* One program for all unit tests: linking 160 of them would take longer than running most.
 *   unit_tests                  lists the tests
 *   unit_tests NAME [PATTERN]   runs one of them, or those of its cases that match PATTERN (*, ?)
 * gp/test_search.c is the test gp_search; base/test_base.c, which has the name of its folder, is
 * base. A build of a single test needs no NAME. */
#include "support/failing.h"

static test_program *programs;

void register_test_program(test_program *program)
{
    program->next = programs;
    programs = program;
}

static failing_case *failing_cases;

void register_failing_case(failing_case *row)
{
    row->next = failing_cases;
    failing_cases = row;
}

const failing_case *registered_failing_cases(void)
{
    return failing_cases;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_programs(FILE *to)
{
    const char *names[1000];
    size_t n = 0;
    for (test_program *p = programs; p && n < 1000; p = p->next)
        names[n++] = p->name;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s\n", names[i]);
}

int main(int argc, char **argv)
{
    if (argc == 1 && programs && !programs->next)
        return programs->run();
    if (argc == 1) {
        list_programs(stdout);
        return 0;
    }
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    for (test_program *p = programs; p; p = p->next)
        if (strcmp(p->name, argv[1]) == 0)
            return p->run();
    fprintf(stderr, "there is no test '%s'; the tests are\n", argv[1]);
    list_programs(stderr);
    return 2;
}
