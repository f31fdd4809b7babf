/* Implements print.h. */
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

void cli_print_missing(const kn_model *m)
{
    double out = kn_model_number(m, "missing.people_out");
    if (kn_model_number(m, "missing.cells") > 0)
        printf("  %.1f %% of cells missing in %.0f responses, filled in (%.0f rounds, last change "
               "%.3f sd)\n",
               100 * kn_model_number(m, "missing.share"), kn_model_number(m, "missing.responses"),
               kn_model_number(m, "missing.rounds"), kn_model_number(m, "missing.rms_change"));
    if (out > 0)
        printf("  %.0f people without any response left out\n", out);
}

/* Prints a path quoted for the shell. */
static void print_quoted(const char *path)
{
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,";
    if (*path && path[strspn(path, PLAIN)] == '\0') {
        fputs(path, stdout);
        return;
    }
    putchar('\'');
    for (const char *c = path; *c; c++)
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*c);
    putchar('\'');
}

void cli_print_page(const char *model, const char *folder)
{
    printf("  to look at it: kronorm report ");
    print_quoted(model ? model : folder);
    if (model && folder) {
        printf(" --scored ");
        print_quoted(folder);
    }
    printf(" -o report.html\n");
}
