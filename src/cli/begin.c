#include "cli/begin.h"

#include <stdio.h>
#include <string.h>

int cli_begin(const cli_command *command, int argc, char **argv, cli_common *common,
              cli_words *words)
{
    *common = (cli_common){.seed = 1};
    if (argc == 1 && strcmp(argv[0], "--man") == 0) {
        cli_man(command);
        return 0;
    }
    if (argc == 1 && strcmp(argv[0], "--completion") == 0) {
        cli_completion(command);
        return 0;
    }
    int status = cli_parse(command, argc, argv, common, words);
    if (status)
        return status;
    if (common->help) {
        cli_help(command);
        return 0;
    }
    if (common->version) {
        printf("kronorm %s\n", kn_version());
        return 0;
    }
    if (common->threads < 0)
        return cli_usage_error(command->name, "--threads is %d, expected 0 or more",
                               common->threads);
    return -1;
}
