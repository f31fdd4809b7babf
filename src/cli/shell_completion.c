/* Prints the option names and choices of a command, from which the shell completes a line.
 * man/kronorm.bash calls it, so that completion never differs from the options of the program. */
#include "cli/internal.h"

#include <stdio.h>
#include <string.h>

/* Print the words of "auto=0|full=-1" without their values, separated by `between`. */
static void print_words(const char *words, const char *between)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");
        printf("%s%.*s", w == words ? "" : between, (int)strcspn(w, "=|"), w);
        w += n + (w[n] == '|');
    }
}

/* Print the literal words of "COLUMN|auto|none", which are those in lower case. */
static void print_small(const char *arg)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz";
    bool any = false;
    for (const char *w = arg; *w;) {
        size_t n = strcspn(w, "|");
        if (n > 0 && strspn(w, small) >= n) {
            printf("%s%.*s", any ? " " : "", (int)n, w);
            any = true;
        }
        w += n + (w[n] == '|');
    }
}

/* Print "--noise: structured iso", and the same for the short option if there is one. */
static void completion_words(const cli_option *o)
{
    const char *names[2] = {o->name, NULL};
    char letter[2] = {(char)o->letter, '\0'};
    names[1] = o->letter ? letter : NULL;
    for (int k = 0; k < 2 && names[k]; k++) {
        printf("%s%s: ", k == 0 ? "--" : "-", names[k]);
        if (o->words)
            print_words(o->words, " ");
        else
            print_small(o->arg);
        putchar('\n');
    }
}

void cli_completion(const cli_command *command)
{
    cli_option options[CLI_MAX_OPTIONS];
    int n = cli_options(command->name, options);
    printf("%s:", command->name);
    for (int i = 0; i < n; i++) {
        printf(" --%s", options[i].name);
        if (*options[i].alias)
            printf(" --%s", options[i].alias);
    }
    putchar('\n');
    for (int i = 0; i < n; i++)
        if (options[i].words || (!options[i].flag && strchr(options[i].arg, '|')))
            completion_words(&options[i]);
}
