#include "cli/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_usage_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "kronorm%s%s: ", command ? " " : "", command ? command : "");
    vfprintf(stderr, format, args);
    fprintf(stderr, " (see 'kronorm %s%s--help')\n", command ? command : "", command ? " " : "");
    va_end(args);
    return 2;
}

enum { N_COMMON = 9, MAX_OPTIONS = 64 };

/* The command's own rows and the common ones, in one array that ends with name NULL. */
static void all_options(const cli_command *command, cli_common *c, cli_option *out)
{
    const cli_option common[N_COMMON] = {
        {CLI_HEADING, "Common options", 0, NULL, NULL, NULL, NULL},
        {CLI_INT, "threads", 0, "N", "threads to use; default all processors", &c->threads, NULL},
        {CLI_UINT64, "seed", 0, "N", "seed of everything random; default 1", &c->seed, NULL},
        {CLI_FLAG, "force", 0, NULL, "write over outputs that exist", &c->force, NULL},
        {CLI_FLAG, "quiet", 'q', NULL, "only errors", &c->quiet, NULL},
        {CLI_FLAG, "verbose", 'v', NULL, "tell more", &c->verbose, NULL},
        {CLI_FLAG, "version", 0, NULL, "print the version", &c->version, NULL},
        {CLI_FLAG, "help", 'h', NULL, "this page", &c->help, NULL},
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    int n = 0;
    for (const cli_option *o = command->options; o && o->name; o++)
        out[n++] = *o;
    memcpy(out + n, common, sizeof common);
}

static const cli_option *find(const cli_option *options, const char *name, size_t length)
{
    for (const cli_option *o = options; o->name; o++)
        if (o->kind != CLI_HEADING && strlen(o->name) == length &&
            memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const cli_option *find_letter(const cli_option *options, char letter)
{
    for (const cli_option *o = options; o->name; o++)
        if (o->kind != CLI_HEADING && o->letter == letter)
            return o;
    return NULL;
}

static int choice(const char *words, const char *value)
{
    int k = 0;
    for (const char *w = words; *w; k++) {
        size_t n = strcspn(w, "|");
        if (strlen(value) == n && memcmp(w, value, n) == 0)
            return k;
        w += n + (w[n] == '|');
    }
    return -1;
}

/* "1.5G" is 1.5e9 bytes, as sizes are printed; "1.5GiB" counts in powers of two. */
static bool size_of(const char *text, double *bytes)
{
    static const char units[] = "kMGT";
    char *end;
    double x = strtod(text, &end), unit = 1;
    const char *at = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (end == text || !(x > 0 && x < 1e18))
        return false;
    if (at) {
        bool two = strncmp(++end, "iB", 2) == 0;
        for (const char *u = units; u <= at; u++)
            unit *= two ? 1024 : 1000;
        end += two ? 2 : *end == 'B';
    }
    *bytes = x * unit;
    return *end == '\0';
}

static int store(const cli_command *command, const cli_option *o, const char *value)
{
    char *end;
    errno = 0;
    if (o->given)
        *o->given = true;
    switch (o->kind) {
    case CLI_FLAG: *(bool *)o->to = true; return 0;
    case CLI_TEXT: *(const char **)o->to = value; return 0;
    case CLI_INT: {
        long x = strtol(value, &end, 10);
        if (*end || end == value || errno || x < INT32_MIN || x > INT32_MAX)
            return cli_usage_error(command->name, "--%s is '%s', expected a whole number", o->name,
                                   value);
        *(int *)o->to = (int)x;
        return 0;
    }
    case CLI_UINT64: {
        unsigned long long x = strtoull(value, &end, 10);
        if (*end || end == value || errno || *value == '-')
            return cli_usage_error(command->name, "--%s is '%s', expected a whole number", o->name,
                                   value);
        *(uint64_t *)o->to = x;
        return 0;
    }
    case CLI_NUMBER: {
        double x = strtod(value, &end);
        if (*end || end == value)
            return cli_usage_error(command->name, "--%s is '%s', expected a number", o->name,
                                   value);
        *(double *)o->to = x;
        return 0;
    }
    case CLI_SIZE: {
        if (!size_of(value, o->to))
            return cli_usage_error(command->name,
                                   "--%s is '%s', expected a size such as 8G, 1.5G or 512M",
                                   o->name, value);
        return 0;
    }
    case CLI_CHOICE: {
        int k = choice(o->arg, value);
        if (k < 0)
            return cli_usage_error(command->name, "--%s is '%s', expected %s", o->name, value,
                                   o->arg);
        *(int *)o->to = k;
        return 0;
    }
    case CLI_HEADING: break;
    }
    return 2;
}

int cli_parse(const cli_command *command, int argc, char **argv, cli_common *common,
              cli_words *words)
{
    cli_option options[MAX_OPTIONS];
    bool only_words = false;
    all_options(command, common, options);
    words->n = 0;
    for (int i = 0; i < argc; i++) {
        char *a = argv[i], *value = NULL;
        const cli_option *o;
        if (only_words || a[0] != '-' || a[1] == '\0') {
            if (words->n == CLI_MAX_WORDS)
                return cli_usage_error(command->name, "too many arguments");
            words->word[words->n++] = a;
            continue;
        }
        if (strcmp(a, "--") == 0) {
            only_words = true;
            continue;
        }
        if (a[1] == '-') {
            size_t n = strcspn(a + 2, "=");
            o = find(options, a + 2, n);
            if (!o)
                return cli_usage_error(command->name, "there is no option %.*s", (int)n + 2, a);
            if (a[2 + n] == '=')
                value = a + 3 + n;
        } else {
            o = find_letter(options, a[1]);
            if (!o)
                return cli_usage_error(command->name, "there is no option -%c", a[1]);
            if (a[2])
                value = a + 2;
        }
        if (o->kind == CLI_FLAG && value)
            return cli_usage_error(command->name, "--%s takes no value", o->name);
        if (o->kind != CLI_FLAG && !value) {
            if (i + 1 >= argc)
                return cli_usage_error(command->name, "--%s needs a value: %s", o->name, o->arg);
            value = argv[++i];
        }
        int status = store(command, o, value);
        if (status)
            return status;
    }
    return 0;
}

static void label(const cli_option *o, char *out, size_t size)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, size, "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

void cli_help(const cli_command *command)
{
    enum { COLUMN = 34, WIDTH = 100 };
    cli_common unused = {0};
    cli_option options[MAX_OPTIONS];
    all_options(command, &unused, options);
    printf("kronorm %s - %s\n\nUsage: kronorm %s %s\n\n%s\n", command->name, command->summary,
           command->name, command->usage, command->description);
    for (const cli_option *o = options; o->name; o++) {
        if (o->kind == CLI_HEADING) {
            printf("\n%s:\n", o->name);
            continue;
        }
        char left[128];
        label(o, left, sizeof left);
        int at = printf("  %s", left);
        if (at >= COLUMN - 1)
            printf("\n%*s", COLUMN, "");
        else
            printf("%*s", COLUMN - at, "");
        at = COLUMN;
        for (const char *w = o->help; *w;) { /* wrapped at words */
            size_t n = strcspn(w, " ");
            if (at + (int)n >= WIDTH) {
                printf("\n%*s", COLUMN, "");
                at = COLUMN;
            }
            at += printf("%.*s%s", (int)n, w, w[n] ? " " : "");
            w += n + (w[n] == ' ');
        }
        putchar('\n');
    }
    printf("\nExample:\n");
    for (const char *e = command->example; *e;) {
        size_t n = strcspn(e, "\n");
        printf("  %.*s\n", (int)n, e);
        e += n + (e[n] == '\n');
    }
}

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
    cli_common unused = {0};
    cli_option options[MAX_OPTIONS];
    all_options(command, &unused, options);
    printf(".TH KRONORM-%s 1 \"\" \"kronorm %s\"\n.SH NAME\nkronorm\\-%s \\- %s\n.SH SYNOPSIS\n"
           ".B kronorm %s\n",
           command->name, kn_version(), command->name, command->summary, command->name);
    troff(command->usage);
    printf("\n.SH DESCRIPTION\n");
    troff(command->description);
    printf("\n.SH OPTIONS\n");
    for (const cli_option *o = options; o->name; o++) {
        if (o->kind == CLI_HEADING) {
            printf(".SS %s\n", o->name);
            continue;
        }
        char left[128];
        label(o, left, sizeof left);
        printf(".TP\n.B ");
        troff(left + strspn(left, " "));
        putchar('\n');
        troff(o->help);
        putchar('\n');
    }
    printf(".SH EXAMPLE\n.nf\n");
    troff(command->example);
    printf("\n.fi\n.SH EXIT STATUS\n0 done; 1 the data or the numerics failed; 2 wrong usage; 130 "
           "stopped by Ctrl\\-C.\n");
}

void cli_completion(const cli_command *command)
{
    cli_common unused = {0};
    cli_option options[MAX_OPTIONS];
    all_options(command, &unused, options);
    printf("%s:", command->name);
    for (const cli_option *o = options; o->name; o++)
        if (o->kind != CLI_HEADING)
            printf(" --%s", o->name);
    putchar('\n');
}
