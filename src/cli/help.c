/* Prints the help of a command from the option table; and the texts of an option that the manual
 * page and the page of commands also print. Text is wrapped at 100 columns. */
#include "cli/internal.h"

#include <stdio.h>
#include <string.h>

void cli_format_label(const cli_option *o, char *out, size_t size)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, size, "%s--%.40s%s%s", letter, o->name, o->flag ? "" : " ",
             o->flag ? "" : o->arg);
}

bool cli_begins_heading(const cli_option *options, int i)
{
    const char *now = options[i].heading, *before = i > 0 ? options[i - 1].heading : NULL;
    return now && (!before || strcmp(now, before) != 0);
}

enum { HELP_COLUMN = 34, HELP_WIDTH = 100 };

/* Print text on stdout, wrapped at words to `width` columns and at its line ends, from column
 * `column` on. */
static void print_wrapped(const char *text, int column, int width)
{
    static const char DEFAULT[] = "[default:";
    int at = column;
    for (const char *w = text; *w;) {
        size_t n = strcspn(w, " \n");
        if (n == strlen(DEFAULT) && memcmp(w, DEFAULT, n) == 0) /* stays with its value */
            n += 1 + strcspn(w + n + 1, " \n");
        if (at > column && at + 1 + (int)n > width) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", (int)n, w);
        w += n;
        if (*w == '\n') {
            printf("\n%*s", w[1] == '\n' ? 0 : column, "");
            at = column;
        }
        w += *w != '\0';
    }
    putchar('\n');
}

const char *cli_option_default(const cli_option *o)
{
    bool mark = o->preferred && (strcmp(o->preferred, "0") == 0 || strcmp(o->preferred, "-1") == 0);
    return o->flag || !o->preferred || mark || strstr(o->help, "[default:") ? "" : o->preferred;
}

void cli_format_help(const cli_option *o, char out[CLI_HELP_TEXT])
{
    const char *preferred = cli_option_default(o), *stated = strstr(o->help, " [default:");
    int n = stated ? (int)(stated - o->help) : (int)strlen(o->help);
    snprintf(out, CLI_HELP_TEXT, "%s%.*s%s%s%s%s%s%s%s", o->off ? "do not " : "", n, o->help,
             *o->alias ? " (also --" : "", o->alias, *o->alias ? ")" : "", stated ? stated : "",
             *preferred ? " [default: " : "", preferred, *preferred ? "]" : "");
}

/* Print the label and the help of an option. */
static void print_option(const cli_option *o)
{
    char left[128], text[CLI_HELP_TEXT];
    cli_format_label(o, left, sizeof left);
    int at = printf("  %s", left);
    if (at >= HELP_COLUMN - 1)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - at, "");
    cli_format_help(o, text);
    print_wrapped(text, HELP_COLUMN, HELP_WIDTH);
}

/* Print the examples of a command, one line each. */
static void print_examples(const cli_command *command)
{
    printf("\nExample:\n");
    for (const char *e = command->example; *e;) {
        size_t length = strcspn(e, "\n");
        printf("  %.*s\n", (int)length, e);
        e += length + (e[length] == '\n');
    }
}

/* The option whose key, or name without a key, is the n first characters of key; NULL if there is
 * none. */
static const cli_option *find_by_key(const cli_option *options, int n_options, const char *key,
                                     size_t n)
{
    for (int i = 0; i < n_options; i++)
        if (options[i].key ? strlen(options[i].key) == n && memcmp(options[i].key, key, n) == 0
                           : strlen(options[i].name) == n && memcmp(options[i].name, key, n) == 0)
            return &options[i];
    return NULL;
}

/* Print the options of keys "a b c", without those in another such list (`but`). title: printed
 * before the first. */
static void print_listed(const cli_option *options, int n, const char *title, const char *keys,
                         const char *but)
{
    for (const char *w = keys; w && *w; w += strcspn(w, " "), w += *w == ' ') {
        size_t length = strcspn(w, " ");
        bool excluded = false;
        for (const char *b = but; b && *b; b += strcspn(b, " "), b += *b == ' ')
            excluded = excluded || (strcspn(b, " ") == length && memcmp(b, w, length) == 0);
        const cli_option *o = find_by_key(options, n, w, length);
        if (!o || excluded)
            continue;
        if (title)
            printf("\n%s:\n", title);
        title = NULL;
        print_option(o);
    }
}

void cli_help_short(const cli_command *command)
{
    cli_option options[CLI_MAX_OPTIONS];
    int n = cli_options(command->name, options);
    printf("%s\n\nUsage: kronorm %s %s\n", command->summary, command->name, command->usage);
    print_examples(command);
    print_listed(options, n, "Required", command->needs, NULL);
    print_listed(options, n, "Frequently used", command->front, command->needs);
    printf("\nAll %d options: kronorm %s --help\n", n, command->name);
}

void cli_help(const cli_command *command)
{
    cli_option options[CLI_MAX_OPTIONS];
    int n = cli_options(command->name, options);
    printf("%s\n\nUsage: kronorm %s %s\n\n", command->summary, command->name, command->usage);
    print_wrapped(command->description, 0, HELP_WIDTH);
    print_examples(command);
    for (int i = 0; i < n; i++) {
        if (cli_begins_heading(options, i))
            printf("\n%s:\n", options[i].heading);
        else if (i == 0)
            putchar('\n');
        print_option(&options[i]);
    }
    if (command->guide)
        printf("\nGuide: %s\n", command->guide);
}

void cli_help_commands(FILE *stream, const cli_command *const *commands, int n)
{
    static const struct {
        const char *title, *first;
    } GROUPS[] = {{"Workflow", "fit"},
                  {"Sites and validation", "adapt"},
                  {"Interpretation", "centiles"},
                  {"Models and test data", "info"}};
    fprintf(stream,
            "kronorm %s: normative modelling of brain maps\n\n"
            "Usage: kronorm <command> [options]\n",
            kn_version());
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof GROUPS / sizeof *GROUPS; k++)
            if (strcmp(GROUPS[k].first, commands[i]->name) == 0)
                fprintf(stream, "\n%s\n", GROUPS[k].title);
        fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(stream, "\nRun 'kronorm <command> -h' for an example and the most used options,\n"
                    "'kronorm <command> --help' for all options.\n");
}
