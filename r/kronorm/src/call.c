/* A call of the library in a thread of its own.
 *
 * R's thread waits, 50 ms at a time, and in between shows lines and progress and looks whether the
 * user wants to stop. All of that may longjmp away: R_UnwindProtect then runs `clean`, which
 * cancels the call, waits for its end and frees what it made; only then R goes on unwinding, and an
 * interrupt is the interrupt condition that R itself signals. Log and progress come from the worker
 * and are left under a lock; it holds no signal but those of its own faults, so that SIGINT is R's.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "glue.h"

enum { POLL_MS = 50, STAGE = 64, STACK = 8 << 20 };

typedef struct line {
    struct line *next;
    kn_log_level level;
    char text[];
} line;

typedef struct progress {
    char stage[STAGE];
    ptrdiff_t done, total;
    double lml;
    int fresh;
} progress;

typedef struct watch {
    kr_job *job;
    SEXP say, tick, warnings;
    PROTECT_INDEX index; /* of warnings */
    pthread_t worker;
    int running; /* to be joined */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int done; /* this and what follows: under the lock */
    line *first, **last;
    progress at;
} watch;

/* ---- in the worker ------------------------------------------------------------------------- */

static void on_log(void *user, kn_log_level level, const char *message)
{
    watch *w = user;
    size_t n = strlen(message) + 1;
    line *l = malloc(sizeof *l + n);
    if (!l)
        return; /* a line less */
    l->next = NULL;
    l->level = level;
    memcpy(l->text, message, n);
    pthread_mutex_lock(&w->lock);
    *w->last = l;
    w->last = &l->next;
    pthread_mutex_unlock(&w->lock);
}

static void on_progress(void *user, const kn_progress *p)
{
    watch *w = user;
    pthread_mutex_lock(&w->lock);
    strncpy(w->at.stage, p->stage ? p->stage : "", STAGE - 1);
    w->at.done = p->done;
    w->at.total = p->total;
    w->at.lml = p->lml;
    w->at.fresh = 1;
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *user)
{
    watch *w = user;
    w->job->status = w->job->run(w->job);
    pthread_mutex_lock(&w->lock);
    w->done = 1;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- in R's thread ------------------------------------------------------------------------- */

static int start(watch *w)
{
    sigset_t most, before;
    pthread_attr_t attributes;
    sigfillset(&most);
    sigdelset(&most, SIGSEGV);
    sigdelset(&most, SIGBUS);
    sigdelset(&most, SIGFPE);
    sigdelset(&most, SIGILL);
    sigdelset(&most, SIGABRT);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_sigmask(SIG_BLOCK, &most, &before); /* the worker, and whom it starts, inherit it */
    w->running = pthread_create(&w->worker, &attributes, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return w->running;
}

static void join(watch *w)
{
    if (w->running)
        pthread_join(w->worker, NULL);
    w->running = 0;
}

/* Until the end, at most POLL_MS. */
static int wait_a_little(watch *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&w->lock);
    if (!w->done)
        pthread_cond_timedwait(&w->ended, &w->lock, &until);
    int done = w->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}

static void append_warning(watch *w, const char *text)
{
    R_xlen_t n = Rf_xlength(w->warnings);
    SEXP more = PROTECT(Rf_xlengthgets(w->warnings, n + 1));
    SET_STRING_ELT(more, n, kr_char(text));
    REPROTECT(w->warnings = more, w->index);
    UNPROTECT(1);
}

static void tell(watch *w, const line *l)
{
    if (l->level == KN_LOG_WARNING)
        append_warning(w, l->text);
    else if (l->level == KN_LOG_INFO && Rf_isFunction(w->say)) {
        SEXP text = PROTECT(kr_text(l->text));
        SEXP call = PROTECT(Rf_lang2(w->say, text));
        Rf_eval(call, R_GlobalEnv);
        UNPROTECT(2);
    }
}

/* Lines stay in the list until they were told, so that a jump from telling leaks none. */
static void tell_lines(watch *w)
{
    for (;;) {
        pthread_mutex_lock(&w->lock);
        line *l = w->first;
        pthread_mutex_unlock(&w->lock);
        if (!l)
            return;
        tell(w, l);
        pthread_mutex_lock(&w->lock);
        w->first = l->next;
        if (!w->first)
            w->last = &w->first;
        pthread_mutex_unlock(&w->lock);
        free(l);
    }
}

static void show_progress(watch *w)
{
    pthread_mutex_lock(&w->lock);
    progress at = w->at;
    w->at.fresh = 0;
    pthread_mutex_unlock(&w->lock);
    if (!at.fresh || !Rf_isFunction(w->tick))
        return;
    SEXP stage = PROTECT(kr_text(at.stage));
    SEXP done = PROTECT(Rf_ScalarReal((double)at.done));
    SEXP total = PROTECT(Rf_ScalarReal((double)at.total));
    SEXP lml = PROTECT(Rf_ScalarReal(isnan(at.lml) ? NA_REAL : at.lml));
    SEXP call = PROTECT(Rf_lang5(w->tick, stage, done, total, lml));
    Rf_eval(call, R_GlobalEnv);
    UNPROTECT(5);
}

static int working; /* R has one thread */

int kr_working(void)
{
    return working;
}

static SEXP body(void *user)
{
    watch *w = user;
    if (!start(w))
        Rf_error("no thread could be started");
    for (int done = 0; !done;) {
        done = wait_a_little(w);
        tell_lines(w);
        show_progress(w);
        if (!done) /* what has ended is not thrown away any more */
            R_CheckUserInterrupt();
    }
    join(w);
    return w->warnings;
}

static void drop(kr_job *job)
{
    kn_model_free(job->new_model);
    kn_scores_free(job->new_scores);
    kn_bytes_free(job->new_bytes);
    kn_text_free(job->new_text);
    job->new_model = NULL;
    job->new_scores = NULL;
    job->new_bytes = NULL;
    job->new_text = NULL;
}

static void clean(void *user, Rboolean jump)
{
    watch *w = user;
    if (w->running)
        kn_cancel(w->job->ctx);
    join(w);
    kn_set_log(w->job->ctx, NULL, NULL);
    kn_set_progress(w->job->ctx, NULL, NULL);
    for (line *l = w->first, *next; l; l = next) {
        next = l->next;
        free(l);
    }
    w->first = NULL;
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    working--;
    if (jump)
        drop(w->job);
}

SEXP kr_work(kr_job *job, SEXP listen)
{
    int told = Rf_isNewList(listen) && Rf_xlength(listen) == 2;
    watch w = {.job = job,
               .say = told ? VECTOR_ELT(listen, 0) : R_NilValue,
               .tick = told ? VECTOR_ELT(listen, 1) : R_NilValue};
    w.last = &w.first;
    PROTECT_WITH_INDEX(w.warnings = Rf_allocVector(STRSXP, 0), &w.index);
    SEXP token = PROTECT(R_MakeUnwindCont());
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.ended, NULL);
    kn_set_log(job->ctx, on_log, &w);
    kn_set_progress(job->ctx, on_progress, &w);
    working++;
    SEXP warnings = R_UnwindProtect(body, &w, clean, &w, token);
    UNPROTECT(2);
    return warnings;
}

SEXP kr_answer(const kr_job *job, SEXP value, SEXP warnings)
{
    const char *names[] = {"status", "message", "value", "warnings", ""};
    PROTECT(value);
    PROTECT(warnings);
    SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(answer, 0, kr_text(kn_status_name(job->status)));
    SET_VECTOR_ELT(answer, 1, kr_text(job->status == KN_OK ? "" : kn_message(job->ctx)));
    SET_VECTOR_ELT(answer, 2, job->status == KN_OK ? value : R_NilValue);
    SET_VECTOR_ELT(answer, 3, warnings);
    UNPROTECT(3);
    return answer;
}
