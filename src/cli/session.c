/* Implements session.h. There is one session per process, since signal handlers need it. */
#include "cli/session.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mpi/comm.h"

enum { BAR = 24, EXIT_SIGNAL = 130 };

static struct {
    kn_ctx *ctx; /* for the signal handler */
    const char *command;
    bool terminal, quiet, verbose, line_open;
    char stage[32];
    double stage_began, last_shown;
} session;

static void on_signal(int signal)
{
    if (session.ctx)
        kn_cancel(session.ctx);
    (void)signal;
}

static void close_line(void)
{
    if (session.line_open)
        fputs("\r\033[K", stderr);
    session.line_open = false;
}

/* Log callback: warnings unless --quiet, details only with --verbose. */
static void on_log(void *user, kn_log_level level, const char *message)
{
    (void)user;
    if (level < KN_LOG_WARNING && (session.quiet || (level == KN_LOG_DETAIL && !session.verbose)))
        return;
    if (level == KN_LOG_WARNING && session.quiet)
        return;
    close_line();
    char *spelled = cli_spelled(message);
    const char *text = spelled ? spelled : message;
    if (level == KN_LOG_WARNING)
        fprintf(stderr, "kronorm %s: warning: %s\n", session.command, text);
    else
        fprintf(stderr, "%s\n", text);
    free(spelled);
}

static void time_left(double seconds, char *out, size_t size)
{
    if (!(seconds >= 0 && seconds < 360000))
        snprintf(out, size, "--:--");
    else if (seconds < 3600)
        snprintf(out, size, "%02d:%02d", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(out, size, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60,
                 (int)seconds % 60);
}

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
        time_left(rate > 0 ? (double)(p->total - p->done) / rate : NAN, left, sizeof left);
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

static int exit_code(kn_status status)
{
    switch (status) {
    case KN_OK: return 0;
    case KN_ERR_ARGUMENT: return 2; /* wrong options rather than wrong data */
    case KN_ERR_CANCELLED: return EXIT_SIGNAL;
    default: return 1;
    }
}

int session_end(cli_run *run, kn_status status)
{
    bool unknown =
        status != KN_OK && !kn_comm_error_is_shared(run->ctx); /* not known to other ranks */
    close_line();
    if (unknown || (status != KN_OK && !run->another)) {
        char *sentence = cli_spelled(kn_message(run->ctx));
        fprintf(stderr, "kronorm: %s\n", sentence ? sentence : kn_message(run->ctx));
        free(sentence);
    }
    session.ctx = NULL;
    if (unknown)
        kn_comm_stop(run->ctx, exit_code(status));
    return exit_code(status);
}
