/* kronorm: one command with several verbs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"

static const struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} COMMANDS[] = {
    {"fit", "covariates + responses -> one model file", cmd_fit},
    {"predict", "model + covariates -> mean and variance maps", cmd_predict},
    {"score", "model + covariates + responses -> z maps, abnormality, metrics", cmd_score},
    {"simulate", "a cohort with known truth, as real files on disk", cmd_simulate},
    {"reproduce", "the paper's experiment on such files: table and figure", cmd_reproduce},
    {"info", "what is in a model, or how this program was built", cmd_info},
};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void help(FILE *to)
{
    fprintf(to,
            "kronorm %s - normative models of brain maps, all voxels at once\n\n"
            "Usage: kronorm COMMAND [options]\n\n",
            kn_version());
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    fprintf(to, "\n'kronorm COMMAND --help' has the options and an example.\n");
}

/* OpenBLAS that does not know the processor runs at a quarter of its speed, and only the
 * environment before it loads can say better: start again with the variable set, once, and never
 * over the user's own word. */
static void use_the_right_core(char **argv)
{
    const char *better = kn_build_better_core();
    if (!better || getenv("OPENBLAS_CORETYPE") || getenv("KRONORM_RESTARTED"))
        return;
    setenv("OPENBLAS_CORETYPE", better, 1);
    setenv("KRONORM_RESTARTED", "1", 1);
    execv("/proc/self/exe", argv);
    unsetenv("OPENBLAS_CORETYPE"); /* it could not: slower, but right */
}

int main(int argc, char **argv)
{
    use_the_right_core(argv);
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("kronorm %s\n", kn_version());
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        help(stdout);
        return 0;
    }
    return cli_usage_error(NULL, "there is no command '%s'", argv[1]);
}
