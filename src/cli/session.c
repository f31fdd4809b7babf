/* A running command: log, progress and Ctrl-C; then what several commands share: opening the
 * inputs, scoring, and messages about a model. There is one session per process, since signal
 * handlers need it. */
#include "cli/internal.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/machine.h"
#include "base/mpi/comm.h"

enum { BAR = 24, EXIT_SIGNAL = 128 }; /* as shells: 128 and the number of the signal */
static volatile sig_atomic_t received = SIGINT;

static struct {
    kn_ctx *ctx; /* for the signal handler */
    const char *command;
    bool terminal, quiet, verbose, line_open;
    char stage[32];
    double stage_began, last_shown;
    kn_warnings warnings; /* with --quiet: printed at the end of a command that succeeds */
} session;

/* Signal handler: cancels the computation of the running session. */
static void on_signal(int signal)
{
    received = signal;
    if (session.ctx)
        kn_cancel(session.ctx);
}

/* Erase the progress bar, if one is on the terminal. */
static void close_line(void)
{
    if (session.line_open)
        fputs("\r\033[K", stderr);
    session.line_open = false;
}

/* Print a message of the library on stderr, with options spelled as on the command line; a warning
 * names the command. */
static void print_message(kn_log_level level, const char *message)
{
    char *spelled = cli_spelled(message);
    const char *text = spelled ? spelled : message;
    if (level == KN_LOG_WARNING)
        fprintf(stderr, "kronorm %s: warning: %s\n", session.command, text);
    else
        fprintf(stderr, "%s\n", text);
    free(spelled);
}

/* Log callback: prints a message; details only with --verbose. With --quiet warnings are kept,
 * since they change how results are read, and nothing else. */
static void on_log(void *user, kn_log_level level, const char *message)
{
    (void)user;
    if (level < KN_LOG_WARNING && (session.quiet || (level == KN_LOG_DETAIL && !session.verbose)))
        return;
    close_line();
    if (level == KN_LOG_WARNING && session.quiet)
        kn_warnings_add(&session.warnings, message);
    else
        print_message(level, message);
}

/* With --quiet: print the kept warnings if there are results to read (results), and free them. */
static void print_kept(bool results)
{
    for (ptrdiff_t i = 0; results && i < session.warnings.n; i++)
        print_message(KN_LOG_WARNING, session.warnings.text[i]);
    kn_warnings_clear(&session.warnings);
}

/* Write seconds as mm:ss or h:mm:ss to out; "--:--" for NaN, negative times and more than 100
 * hours. */
static void format_time_left(double seconds, char *out, size_t size)
{
    if (!(seconds >= 0 && seconds < 360000))
        snprintf(out, size, "--:--");
    else if (seconds < 3600)
        snprintf(out, size, "%02d:%02d", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(out, size, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60,
                 (int)seconds % 60);
}

/* Progress callback: prints a bar on a terminal, otherwise a line every ten seconds, on stderr. */
static void on_progress(void *user, const kn_progress *p)
{
    (void)user;
    double now = kn_clock();
    bool fresh = strcmp(session.stage, p->stage) != 0, last = p->total > 0 && p->done >= p->total;
    if (fresh) {
        snprintf(session.stage, sizeof session.stage, "%s", p->stage);
        session.stage_began = now;
    }
    /* at most ten times per second on a terminal; in a log every ten seconds, nothing for short
     * work */
    double wait = session.terminal ? 0.1 : 10;
    bool due = now - session.last_shown >= wait || (session.terminal && (fresh || last));
    if (!due)
        return;
    session.last_shown = now;
    double spent = now - session.stage_began, rate = spent > 0 ? (double)p->done / spent : 0;
    char left[32], lml[48] = "";
    if (isfinite(p->lml))
        snprintf(lml, sizeof lml, "  log-likelihood %.2f", p->lml);
    if (!session.terminal) {
        if (p->total > 0)
            fprintf(stderr, "%s: %td of %td%s\n", p->stage, p->done, p->total, lml);
        else
            fprintf(stderr, "%s: evaluation %td%s\n", p->stage, p->done, lml);
        return;
    }
    if (p->total > 0) {
        int full = (int)(BAR * p->done / p->total);
        format_time_left(rate > 0 ? (double)(p->total - p->done) / rate : NAN, left, sizeof left);
        fprintf(stderr, "\r\033[K%-16s [%.*s%*s] %3d%%  %.3g/s  %s left%s", p->stage, full,
                "########################", BAR - full, "", (int)(100 * p->done / p->total), rate,
                left, lml);
    } else {
        fprintf(stderr, "\r\033[K%-16s evaluation %td  %.3g/s%s", p->stage, p->done, rate, lml);
    }
    fflush(stderr);
    session.line_open = true;
}

void session_begin(cli_run *run, const char *command)
{
    session.ctx = run->ctx;
    session.command = command;
    session.quiet = run->quiet;
    session.verbose = run->verbose;
    session.terminal = isatty(STDERR_FILENO);
    session.stage[0] = '\0';
    session.last_shown = kn_clock();
    if (!run->another)
        kn_set_log(run->ctx, on_log, NULL);
    if (!run->quiet && !run->another)
        kn_set_progress(run->ctx, on_progress, NULL);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is an error like a full disk */
}

/* Exit code of the command for a status: 0, 1, 2 for wrong options, or 128 + signal. ranks: MPI
 * ranks; not all of them receive the signal, but all end alike. */
static int exit_code(kn_status status, int ranks)
{
    switch (status) {
    case KN_OK: return 0;
    case KN_ERR_ARGUMENT: return 2; /* wrong options rather than wrong data */
    case KN_ERR_CANCELLED: return EXIT_SIGNAL + (ranks > 1 ? SIGINT : (int)received);
    default: return 1;
    }
}

int session_end(cli_run *run, kn_status status)
{
    bool unknown =
        status != KN_OK && !kn_comm_error_is_shared(run->ctx); /* not known to other ranks */
    close_line();
    print_kept(status == KN_OK);
    if (unknown || (status != KN_OK && !run->another)) {
        char *sentence = cli_spelled(kn_message(run->ctx));
        fprintf(stderr, "kronorm: %s\n", sentence ? sentence : kn_message(run->ctx));
        free(sentence);
    }
    session.ctx = NULL;
    if (unknown)
        kn_comm_stop(run->ctx, exit_code(status, kn_ctx_comm(run->ctx)->size));
    return exit_code(status, kn_ctx_comm(run->ctx)->size);
}

/* ---- inputs of commands that apply a model to data ---- */

kn_status cli_open(cli_run *run, kn_model **model, kn_data **data)
{
    kn_status status = kn_model_open(run->ctx, kn_options_get(run->options, "model"), model);
    *data = NULL;
    return status == KN_OK ? kn_data_read(run->ctx, run->options, data) : status;
}

/* Print which job part was scored, and the command that joins all parts. model is not used. */
static void print_job_part(const kn_model *model, const kn_scores *s, const kn_options *options)
{
    (void)model;
    printf("%s: part %s, %td of %.0f participants, %.0f files\n", kn_options_get(options, "output"),
           kn_options_get(options, "part"), kn_scores_n_participants(s),
           kn_scores_number(s, "counts.participants_of_all_parts"), kn_scores_number(s, "files"));
    printf("Next: when all parts are complete, run the same command with --join %.0f\n",
           kn_scores_number(s, "part.of"));
}

const char *cli_nouns(const kn_model *model, ptrdiff_t n)
{
    static const char *const NOUNS[][2] = {{"voxel", "voxels"},
                                           {"vertex", "vertices"},
                                           {"response", "responses"}};
    int k = 0;
    while (k < 2 && strcmp(NOUNS[k][0], kn_model_text(model, "response_noun")) != 0)
        k++;
    return NOUNS[k][n != 1];
}

int cli_score(cli_run *run, cli_scoring *work,
              void (*report)(const kn_model *model, const kn_scores *scores,
                             const kn_options *options))
{
    kn_model *model = NULL;
    kn_data *data = NULL;
    kn_scores *scores = NULL;
    kn_status status = cli_open(run, &model, &data);
    if (status == KN_OK)
        status = work(run->ctx, model, data, run->options, &scores);
    int code = session_end(run, status);
    if (status == KN_OK && !run->quiet)
        (kn_options_get(run->options, "part") ? print_job_part : report)(model, scores,
                                                                         run->options);
    kn_scores_free(scores);
    kn_data_free(data);
    kn_model_free(model);
    return code;
}

/* ---- messages that several commands print about a model ---- */

double cli_rounded(double x, int decimals)
{
    return fabs(x) < 0.5 * pow(10, -decimals) ? 0 : x;
}

void cli_print_missing(const kn_model *m)
{
    double out = kn_model_number(m, "missing.people_out");
    double outliers = kn_model_number(m, "missing.outliers");
    double outlying = kn_model_number(m, "missing.outlying_people");
    if (kn_model_number(m, "missing.cells") > 0)
        printf("  Missing values    %.1f%% of the cells of %.0f response%s were imputed (%.0f "
               "rounds, last "
               "change %.3f SD)\n",
               100 * kn_model_number(m, "missing.share"), kn_model_number(m, "missing.responses"),
               kn_plural((ptrdiff_t)kn_model_number(m, "missing.responses")),
               kn_model_number(m, "missing.rounds"), kn_model_number(m, "missing.rms_change"));
    if (outliers > 0)
        printf("  Outliers          %.0f value%s far beyond all others treated as missing: %s\n",
               outliers, outliers == 1 ? "" : "s",
               kn_model_number(m, "missing.cells") > 0 ? "imputed" : "filled from the covariates");
    if (out > 0)
        printf("  Excluded          %.0f participant%s without any response\n", out,
               kn_plural((ptrdiff_t)out));
    if (outlying > 0)
        printf("  Excluded          %.0f participant%s with more than 20%% outlying responses\n",
               outlying, kn_plural((ptrdiff_t)outlying));
}

bool cli_print_line(kn_ctx *ctx, const kn_model *m, const char *topic, const char *title)
{
    char *text = NULL;
    bool found = false;
    if (kn_model_words(ctx, m, &text) == KN_OK)
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (strncmp(line, topic, strlen(topic)) == 0) {
                kn_sanitize_text(line); /* names of columns and levels come from the data */
                printf("  %s%s\n", title, line + strlen(topic));
                found = true;
            }
    kn_text_free(text);
    return found;
}

bool cli_verbose(void)
{
    return session.verbose;
}

/* Print a path on stdout, quoted for the shell if necessary. */
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
    printf("Next: kronorm report ");
    print_quoted(model ? model : folder);
    if (model && folder) {
        printf(" --scored ");
        print_quoted(folder);
    }
    printf(" -o report.html\n");
}

/* Prints " -y FOLDER --measure thickness" with the given options that say what to read in a folder.
 * Returns false, and prints nothing, if none was given. */
static bool print_folder(const kn_options *options)
{
    static const char *const KEYS[] = {"measure", "atlas", "suffix", "space", "desc", "entities"};
    if (!kn_options_get(options, "measure") && !kn_options_get(options, "suffix"))
        return false;
    printf(" -y FOLDER");
    bool images = kn_options_get(options, "suffix");
    for (size_t k = images ? 2 : 0; k < (images ? sizeof KEYS / sizeof *KEYS : 2); k++) {
        const char *value = kn_options_get(options, KEYS[k]);
        if (value) {
            printf(" --%s ", KEYS[k]);
            print_quoted(value);
        }
    }
    return true;
}

void cli_print_score(const char *model, const kn_options *options)
{
    static const char *const KEYS[] = {"covariates", "responses"};
    static const char *const USUAL[] = {".tsv", ".txt"}, *const TABLES[] = {".csv", ".tsv"};
    printf("Next: kronorm score ");
    print_quoted(model);
    bool folder = print_folder(options);
    for (int k = 0; k < 2 && !folder; k++) {
        const char *path = kn_options_get(options, KEYS[k]), *ending = USUAL[k];
        size_t n = path ? strlen(path) : 0;
        for (int e = 0; e < 2; e++)
            if (n > 4 && strcmp(path + n - 4, TABLES[e]) == 0)
                ending = TABLES[e];
        printf(" -%c NEW%s", k == 0 ? 'c' : 'y', ending);
    }
    printf(" -o scored\n");
}
