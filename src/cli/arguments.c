/* Parses options by the table in src/options.def, and spells option keys in messages of the
 * library as command-line options. Wrong usage is reported in one line with a suggestion, and the
 * exit code is 2. */
#include "base/context.h"
#include "base/suggest.h"
#include "cli/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool muted;
static char unsaid[1200];

void cli_set_quiet(void)
{
    muted = true;
}

const char *cli_deferred_message(void)
{
    return unsaid;
}

int cli_usage_error(const char *command, const char *format, ...)
{
    char what[1024]; /* arguments may have any length */
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    kn_sanitize_text(what);
    const char *name = command ? command : "", *space = command ? " " : "";
    if (muted)
        snprintf(unsaid, sizeof unsaid, "%s (see 'kronorm %s%s--help')", what, name, space);
    else
        fprintf(stderr, "kronorm%s%s: %s (see 'kronorm %s%s--help')\n", space, name, what, name,
                space);
    return 2;
}

/* ---- options of a command ---- */

/* Spell a key of the library as an option: max_size -> max-size; off: with "no-" before it. */
static void spell_key(const char *key, bool off, char out[CLI_NAME])
{
    snprintf(out, CLI_NAME, "%s%s", off ? "no-" : "", key);
    for (char *c = out; *c; c++)
        if (*c == '_')
            *c = '-';
}

/* An option of the command line only: a flag whose value is at offset `at` of cli_run. letter:
 * short option, 0: none. */
static cli_option make_flag(const char *name, int letter, const char *help, const char *heading,
                            size_t at)
{
    cli_option o = {.flag = true, .letter = letter, .help = help, .heading = heading, .at = at};
    spell_key(name, false, o.name);
    return o;
}

/* The command-line form of an option of the library: name, letter, words and help. Texts are
 * borrowed from i. */
static cli_option option_of_library(const kn_option_info *i)
{
    cli_option o = {.key = i->key,
                    .flag = i->type == KN_OPTION_FLAG,
                    .letter = i->letter,
                    .arg = i->value,
                    .words = i->words,
                    .preferred = i->preferred,
                    .help = i->help,
                    .heading = i->heading};
    if (i->alias)
        spell_key(i->alias, false, o.alias);
    o.off = o.flag && strcmp(i->preferred, "yes") == 0;
    snprintf(o.without, sizeof o.without, "%s", i->without);
    spell_key(i->key, o.off, o.name);
    return o;
}

int cli_options(const char *command, cli_option out[CLI_MAX_OPTIONS])
{
    static const char common[] = "Common options", last[] = "Research variants";
    enum { OWN = 4 }; /* common options that the library does not have */
    kn_ctx *ctx = kn_ctx_new();
    kn_option_info i = {.size = sizeof i};
    int n = 0;
    if (strcmp(command, "info") == 0) {
        out[n++] = make_flag("json", 0, "print everything as JSON", NULL, offsetof(cli_run, json));
        out[n++] = make_flag("build", 0, "print version, BLAS, processor type and threads", NULL,
                             offsetof(cli_run, build));
    }
    for (int research = 0; research < 2; research++) {
        for (int k = 0;
             ctx && n < CLI_MAX_OPTIONS - OWN && kn_option_at(ctx, command, k, &i) == KN_OK; k++)
            if ((i.heading && strcmp(i.heading, last) == 0) == (research == 1))
                out[n++] = option_of_library(&i);
        if (research == 1)
            break;
        out[n++] = make_flag("quiet", 'q', "print warnings and errors only", common,
                             offsetof(cli_run, quiet));
        out[n++] =
            make_flag("verbose", 'v', "print more detail", common, offsetof(cli_run, verbose));
        out[n++] = make_flag("version", 0, "print the version", common, offsetof(cli_run, version));
        out[n++] = make_flag("help", 'h', "--help prints all options, -h the most used ones",
                             common, offsetof(cli_run, help));
    }
    kn_ctx_free(ctx);
    return n;
}

/* ---- {key} in messages ---- */

/* Find an option of any command by its key (n bytes). flags false: only options with a value, since
 * commands may have a flag and a text option of the same name. */
static bool find_known(const char *text, size_t n, bool flags, cli_option *out)
{
#define NAME_OF(name) #name,
    static const char *const commands[] = {CLI_COMMANDS(NAME_OF)};
#undef NAME_OF
    cli_option options[CLI_MAX_OPTIONS];
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (int i = 0, m = cli_options(commands[c], options); i < m; i++)
            if (options[i].key && strlen(options[i].key) == n && (flags || !options[i].flag) &&
                memcmp(options[i].key, text, n) == 0) {
                *out = options[i];
                return true;
            }
    return false;
}

char *cli_spelled(const char *sentence)
{
    size_t capacity = 2 * strlen(sentence) + 64, at = 0;
    char *out = malloc(capacity);
    for (const char *s = sentence; out && *s;) {
        size_t n = *s == '{' ? strcspn(s + 1, "=}") : 0;
        const char *value = s[n + 1] == '=' ? s + n + 2 : NULL, *end = strchr(s, '}');
        cli_option o;
        if (n == 0 || !end ||
            !((value && find_known(s + 1, n, false, &o)) || find_known(s + 1, n, true, &o))) {
            out[at++] = *s++;
            continue;
        }
        at += (size_t)snprintf(out + at, capacity - at, "--%s%s%.*s", o.name,
                               value && !o.flag ? " " : "",
                               value && !o.flag ? (int)(end - value) : 0, value ? value : "");
        s = end + 1;
    }
    if (out)
        out[at] = '\0';
    return out;
}

/* Print the last error of the library, as a usage error if the message begins with an option;
 * returns 2. */
static int print_refusal(const cli_command *command, kn_ctx *ctx)
{
    const char *message = kn_message(ctx);
    char *sentence = cli_spelled(message);
    const char *text = sentence ? sentence : message;
    if (*message == '{')
        cli_usage_error(command->name, "%s", text);
    else if (muted)
        snprintf(unsaid, sizeof unsaid, "%s", text);
    else
        fprintf(stderr, "kronorm: %s\n", text);
    free(sentence);
    return 2;
}

/* ---- the command line ---- */

/* State of the parser. */
typedef struct line {
    const cli_command *command;
    cli_option option[CLI_MAX_OPTIONS];
    int n_options, argc;
    char **argv;
    cli_run *run;
} line;

/* True if `option` is not empty and equals name (`length` bytes). */
static bool is_name(const char *option, const char *name, size_t length)
{
    return *option && strlen(option) == length && memcmp(option, name, length) == 0;
}

/* Option of the command by name or alias (`length` bytes); NULL if there is none. */
static const cli_option *find_option(const line *l, const char *name, size_t length)
{
    for (int i = 0; i < l->n_options; i++)
        if (is_name(l->option[i].name, name, length) || is_name(l->option[i].alias, name, length))
            return &l->option[i];
    return NULL;
}

/* Option of the command by its short form; NULL if there is none. */
static const cli_option *find_letter(const line *l, char letter)
{
    for (int i = 0; i < l->n_options; i++)
        if (l->option[i].letter == letter)
            return &l->option[i];
    return NULL;
}

/* Store an option in the run, or in the library's options. Returns 0, or 2 after a message. */
static int store_option(const line *l, const cli_option *o, const char *value)
{
    cli_run *run = l->run;
    if (!o->key) {
        *(bool *)((char *)run + o->at) = true;
        return 0;
    }
    value = !o->flag ? value : o->off ? "no" : "yes";
    return kn_options_set(run->ctx, run->options, o->key, value) == KN_OK
               ? 0
               : print_refusal(l->command, run->ctx);
}

/* Print the usage error for an unknown option a = "--name" (`length` bytes of name), with a
 * suggestion; returns 2. */
static int unknown_option(const line *l, const char *a, size_t length)
{
    char name[CLI_NAME], suggestion[KN_SUGGESTION_TEXT];
    kn_suggestions near = {.given = name};
    snprintf(name, sizeof name, "%.*s", (int)length, a + 2);
    for (int i = 0; i < l->n_options; i++) {
        kn_suggest(&near, l->option[i].name, strlen(l->option[i].name));
        kn_suggest(&near, l->option[i].alias, strlen(l->option[i].alias));
    }
    return cli_usage_error(l->command->name, "unknown option %.*s%s", (int)length + 2, a,
                           kn_did_you_mean(&near, "--", suggestion));
}

/* Parse the option argv[*i], and its value, which may be the next argument; *i is then advanced.
 * Returns 0, or 2 after a message. */
static int take_option(const line *l, int *i)
{
    const char *a = l->argv[*i], *value = NULL, *command = l->command->name;
    const cli_option *o;
    if (a[1] == '-') {
        size_t length = strcspn(a + 2, "=");
        o = find_option(l, a + 2, length);
        if (!o)
            return unknown_option(l, a, length);
        value = a[2 + length] == '=' ? a + 3 + length : NULL;
    } else {
        o = find_letter(l, a[1]);
        if (!o)
            return cli_usage_error(command, "unknown option -%c", a[1]);
        l->run->short_help = l->run->short_help || a[1] == 'h';
        value = a[2] ? a + 2 : NULL;
    }
    if (o->flag && value)
        return cli_usage_error(command, "--%s takes no value", o->name);
    if (!o->flag && !value) {
        if (*i + 1 >= l->argc)
            return cli_usage_error(command, "--%s needs a value: %s", o->name, o->arg);
        value = l->argv[++*i];
    }
    return store_option(l, o, value);
}

/* True if the command has the option --dry-run and it is given. */
static bool is_dry_run(const line *l)
{
    const char *given = find_option(l, "dry-run", strlen("dry-run"))
                            ? kn_options_get(l->run->options, "dry_run")
                            : NULL;
    return given && strcmp(given, "yes") == 0;
}

/* True if the responses are in a folder that tells the covariates: participants.tsv is then looked
 * for in it, above it and beside it. */
static bool is_from_folder(const line *l)
{
    struct stat info;
    const char *path = kn_options_get(l->run->options, "responses");
    return kn_options_get(l->run->options, "measure") ||
           kn_options_get(l->run->options, "suffix") ||
           (path && stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* Print the usage error for a word that belongs to no option; returns 2. After a name of an image
 * it is probably one of the files of a pattern that the shell expanded. */
static int refuse_word(const line *l, const char *word)
{
    const char *y = kn_options_get(l->run->options, "responses");
    const char *dot = strrchr(word, '.'), *end = y ? strrchr(y, '.') : NULL;
    if (dot && end && strcmp(dot, end) == 0)
        return cli_usage_error(l->command->name,
                               "'%s' belongs to no option; if it is one of the files of a pattern, "
                               "quote the pattern: --responses 'PATTERN'",
                               word);
    return cli_usage_error(l->command->name, "'%s' belongs to no option", word);
}

/* Check the positional argument and the required options. Returns 0, or 2 after a message. */
static int check_needs(const line *l)
{
    const cli_command *c = l->command;
    cli_run *run = l->run;
    const char *first = c->model ? "model" : c->folder;
    const char *given = first ? kn_options_get(run->options, first) : NULL;
    if (first && !given && run->n_words == 1) {
        given = run->word[0];
        if (kn_options_set(run->ctx, run->options, first, given) != KN_OK)
            return print_refusal(c, run->ctx);
    } else if (c->needs && run->n_words) {
        return refuse_word(l, run->word[first && !given && run->n_words > 1]);
    }
    if (first && !given)
        return c->model ? cli_usage_error(c->name, "the name of a model file is missing")
                        : cli_usage_error(c->name, "the name of a %s folder is missing", first);
    for (const char *w = c->needs; w && *w; w += strcspn(w, " "), w += *w == ' ') {
        char key[CLI_NAME];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(w, " "), w);
        const cli_option *o = find_option(l, key, strlen(key));
        if (!kn_options_get(run->options, key) &&
            !(strcmp(key, "covariates") == 0 && is_from_folder(l)) &&
            !(strcmp(key, "output") == 0 && is_dry_run(l)))
            return o->letter ? cli_usage_error(c->name, "option -%c (--%s) is required", o->letter,
                                               o->name)
                             : cli_usage_error(c->name, "option --%s is required", o->name);
    }
    return c->check && c->check(run->ctx, run->options) != KN_OK ? print_refusal(c, run->ctx) : 0;
}

int cli_parse(const cli_command *command, int argc, char **argv, cli_run *run)
{
    line l = {.command = command, .argc = argc, .argv = argv, .run = run};
    int status = 0;
    bool only_words = false;
    l.n_options = cli_options(command->name, l.option);
    for (int i = 0; i < argc && status == 0; i++) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            status = take_option(&l, &i);
        } else {
            if (run->n_words == CLI_MAX_WORDS && kn_options_get(run->options, "responses"))
                return refuse_word(&l, argv[i]);
            if (run->n_words == CLI_MAX_WORDS)
                return cli_usage_error(command->name, "too many arguments");
            run->word[run->n_words++] = argv[i];
        }
    }
    return status || run->help || run->version ? status : check_needs(&l);
}
