/* Implements help.h from the option table. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

static void label(const cli_option *o, char *out, size_t size)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, size, "%s--%.40s%s%s", letter, o->name, o->flag ? "" : " ",
             o->flag ? "" : o->arg);
}

/* True if option i begins a new heading. */
static bool new_heading(const cli_option *options, int i)
{
    const char *now = options[i].heading, *before = i > 0 ? options[i - 1].heading : NULL;
    return now && (!before || strcmp(now, before) != 0);
}

/* Prints text wrapped at words, from column `column` on. */
static void wrapped(const char *text, int column, int width)
{
    int at = column;
    for (const char *w = text; *w;) {
        size_t n = strcspn(w, " ");
        if (at + 1 + (int)n > width) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", (int)n, w);
        w += n + (w[n] == ' ');
    }
    putchar('\n');
}

void cli_help(const cli_command *command)
{
    enum { COLUMN = 34, WIDTH = 100 };
    cli_option options[CLI_MAX_OPTIONS];
    int n = cli_options(command->name, options);
    printf("kronorm %s - %s\n\nUsage: kronorm %s %s\n\n%s\n", command->name, command->summary,
           command->name, command->usage, command->description);
    for (int i = 0; i < n; i++) {
        char left[128];
        if (new_heading(options, i))
            printf("\n%s:\n", options[i].heading);
        else if (i == 0)
            putchar('\n');
        label(&options[i], left, sizeof left);
        int at = printf("  %s", left);
        if (at >= COLUMN - 1)
            printf("\n%*s", COLUMN, "");
        else
            printf("%*s", COLUMN - at, "");
        wrapped(options[i].help, COLUMN, WIDTH);
    }
    printf("\nExample:\n");
    for (const char *e = command->example; *e;) {
        size_t length = strcspn(e, "\n");
        printf("  %.*s\n", (int)length, e);
        e += length + (e[length] == '\n');
    }
}

/* Prints text with troff escapes. */
static void troff(const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\\' || *p == '-')
            putchar('\\');
        if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n'))
            fputs("\\&", stdout);
        putchar(*p);
    }
}

void cli_man(const cli_command *command)
{
    cli_option options[CLI_MAX_OPTIONS];
    int n = cli_options(command->name, options);
    printf(".TH KRONORM-%s 1 \"\" \"kronorm %s\"\n.SH NAME\nkronorm\\-%s \\- %s\n.SH SYNOPSIS\n"
           ".B kronorm %s\n",
           command->name, kn_version(), command->name, command->summary, command->name);
    troff(command->usage);
    printf("\n.SH DESCRIPTION\n");
    troff(command->description);
    printf("\n.SH OPTIONS\n");
    for (int i = 0; i < n; i++) {
        char left[128];
        if (new_heading(options, i))
            printf(".SS %s\n", options[i].heading);
        label(&options[i], left, sizeof left);
        printf(".TP\n.B ");
        troff(left + strspn(left, " "));
        putchar('\n');
        troff(options[i].help);
        putchar('\n');
    }
    printf(".SH EXAMPLE\n.nf\n");
    troff(command->example);
    printf("\n.fi\n.SH EXIT STATUS\n0 done; 1 the data or the numerics failed; 2 wrong usage; 130 "
           "stopped by Ctrl\\-C.\n");
}

/* Prints the words of "auto=0|full=-1" without their values. */
static void print_words(const char *words, const char *between)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");
        printf("%s%.*s", w == words ? "" : between, (int)strcspn(w, "=|"), w);
        w += n + (w[n] == '|');
    }
}

/* Prints the literal words of "COLUMN|auto|none", which are in lower case. */
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

/* Prints "--noise: structured iso", and the same for the short option if there is one. */
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
    for (int i = 0; i < n; i++)
        printf(" --%s", options[i].name);
    putchar('\n');
    for (int i = 0; i < n; i++)
        if (options[i].words || (!options[i].flag && strchr(options[i].arg, '|')))
            completion_words(&options[i]);
}

/* Prints a table cell with escaped bars. */
static void cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

void cli_markdown(const cli_command *const *commands, int n)
{
    printf("# Every option\n\n"
           "Made by `kronorm help --options-md` from the library's own table. Keys are what "
           "`kn_options_set`\n"
           "takes; the command writes them with dashes, and `--no-KEY` for a flag that is on by "
           "default.\n");
    for (int c = 0; c < n; c++) {
        cli_option o[CLI_MAX_OPTIONS];
        int count = cli_options(commands[c]->name, o);
        printf("\n## %s\n\n| key | value | default | what |\n|---|---|---|---|\n",
               commands[c]->name);
        for (int i = 0; i < count; i++) {
            if (!o[i].key)
                continue;
            printf("| `%s` | ", o[i].key);
            cell(o[i].flag ? "yes|no" : o[i].arg);
            printf(" | %s | ", o[i].preferred ? o[i].preferred : "");
            cell(o[i].help);
            printf("%s%s |\n", *o[i].without ? ". Not with " : "", o[i].without);
        }
    }
}
