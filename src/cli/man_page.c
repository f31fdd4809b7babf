/* Prints the manual page of a command in troff, from the option table. The build calls it once per
 * command (man/meson.build), so that pages and options agree. */
#include "cli/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Print text with troff escapes; `paragraph` begins each line after the first. */
static void print_troff(const char *text, const char *paragraph)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\\' || *p == '-')
            putchar('\\');
        if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n'))
            fputs("\\&", stdout);
        putchar(*p);
        if (*p == '\n')
            fputs(paragraph, stdout);
    }
}

void cli_man(const cli_command *command)
{
    cli_option options[CLI_MAX_OPTIONS];
    char name[32];
    int n = cli_options(command->name, options), k = 0;
    for (; command->name[k] && k < (int)sizeof name - 1; k++)
        name[k] = (char)toupper((unsigned char)command->name[k]);
    name[k] = '\0';
    printf(".TH KRONORM-%s 1 \"\" \"kronorm %s\"\n.SH NAME\nkronorm\\-%s \\- %c", name,
           kn_version(), command->name, tolower((unsigned char)*command->summary));
    print_troff(command->summary + 1, "");
    printf("\n.SH SYNOPSIS\n.B kronorm %s\n", command->name);
    print_troff(command->usage, "");
    printf("\n.SH DESCRIPTION\n");
    print_troff(command->description, ".PP\n");
    printf("\n.SH EXAMPLE\n.nf\n");
    print_troff(command->example, "");
    printf("\n.fi\n.SH OPTIONS\n");
    for (int i = 0; i < n; i++) {
        char left[128], text[CLI_HELP_TEXT];
        if (cli_begins_heading(options, i))
            printf(".SS %s\n", options[i].heading);
        cli_format_label(&options[i], left, sizeof left);
        printf(".TP\n.B ");
        print_troff(left + strspn(left, " "), "");
        putchar('\n');
        cli_format_help(&options[i], text);
        print_troff(text, "");
        putchar('\n');
    }
    printf(
        ".SH EXIT STATUS\n0 success; 1 error in the data or the computation; 2 wrong usage; "
        "130, 143 or 129 stopped by Ctrl\\-C, SIGTERM or SIGHUP.\n.SH SEE ALSO\n.BR kronorm (1)\n");
    if (command->guide)
        printf(".PP\nGuide: %s\n", command->guide);
}
