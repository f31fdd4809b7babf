#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/begin.h"
#include "cli/commands.h"
#include "cli/session.h"

enum { MOST_COMPONENTS = 64 };
static const char *const METHODS[] = {"smtgpr", "stgpr", "kronprod", NULL};
static const char *const VARIANTS[] = {"paper", "iso-exact", "default", NULL};

/* "a,c" of {a, b, c} as bits 0 and 2. 0 when all is well. */
static int words_to_bits(const char *option, const char *text, const char *const *words,
                         unsigned *out)
{
    *out = 0;
    for (const char *w = text;; w++) {
        size_t n = strcspn(w, ",");
        int k = 0;
        while (words[k] && (strlen(words[k]) != n || memcmp(words[k], w, n) != 0))
            k++;
        if (!words[k])
            return cli_usage_error("reproduce", "--%s has '%.*s', expected %s, %s or %s", option,
                                   (int)n, w, words[0], words[1], words[2]);
        *out |= 1u << k;
        w += n;
        if (!*w)
            return 0;
    }
}

/* "10,25" as numbers; how many, or -1. */
static int numbers(const char *text, int *out)
{
    for (int n = 0; n < MOST_COMPONENTS;) {
        char *end;
        long x = strtol(text, &end, 10);
        if (end == text || x < 1 || x > 1000000 || (*end && *end != ','))
            return -1;
        out[n++] = (int)x;
        if (!*end)
            return n;
        text = end + 1;
    }
    return -1;
}

int cmd_reproduce(int argc, char **argv)
{
    kn_reproduce_job job = {.size = sizeof job, .repeats = 10};
    kn_reproduce_result result;
    const char *components = NULL, *methods = NULL, *variants = NULL;
    int split = 0, P[MOST_COMPONENTS];
    cli_common common;
    cli_words words;
    const cli_option options[] = {
        {CLI_TEXT, "data", 0, "DIR",
         "folder in the layout of the Miyawaki 2008 data set: func, label, mask", &job.data, NULL},
        {CLI_INT, "repeats", 0, "K", "random splits into training and test; default 10",
         &job.repeats, NULL},
        {CLI_TEXT, "components", 0, "P1,P2,...",
         "numbers of basis functions for smtgpr; default 10,25,50,100,250,500,1000. More than the "
         "training scans have becomes the most they have",
         &components, NULL},
        {CLI_TEXT, "methods", 0, "smtgpr,stgpr,kronprod", "default all three", &methods, NULL},
        {CLI_TEXT, "variants", 0, "paper,iso-exact,default",
         "of smtgpr: the paper's settings; its model with the exact likelihood; structured noise. "
         "Default all three; stgpr and kronprod have one, called default",
         &variants, NULL},
        {CLI_CHOICE, "split", 0, "scan|pattern|both",
         "what is dealt to training and test: scans (default, the paper's), or patterns with all "
         "their scans",
         &split, NULL},
        {CLI_TEXT, "output", 'o', "DIR", "folder for results.tsv, results.json and figure.svg",
         &job.output, NULL},
        {CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    const cli_command command = {
        "reproduce",
        "the paper's experiment: table and figure",
        "--data DIR -o DIR [options]",
        "Models visual cortex from the pattern on the screen, trained on random patterns, and asks "
        "how\n"
        "well unseen ones are predicted and figures are told from them. Each run of scans is\n"
        "detrended, shifted by two scans, and freed of rest; 600 of 1320 scans train.\n"
        "\n"
        "results.tsv grows by a row per run. Stopped at any moment, the same command takes up "
        "from\n"
        "there; --force starts again.",
        "kronorm simulate --kind miyawaki --size full -o visual\n"
        "kronorm reproduce --data visual --methods smtgpr --repeats 2 -o results",
        options};
    int done = cli_begin(&command, argc, argv, &common, &words);
    if (done >= 0)
        return done;
    if (words.n)
        return cli_usage_error("reproduce", "'%s' belongs to no option", words.word[0]);
    if (!job.data || !job.output)
        return cli_usage_error("reproduce", "%s is needed", job.data ? "-o, --output" : "--data");
    if (job.repeats < 1)
        return cli_usage_error("reproduce", "--repeats is %d, expected 1 or more", job.repeats);
    if (components) {
        job.n_components = numbers(components, P);
        if (job.n_components < 0)
            return cli_usage_error("reproduce",
                                   "--components is '%s', expected up to %d numbers from 1 with "
                                   "commas",
                                   components, MOST_COMPONENTS);
        job.components = P;
    }
    if ((methods && words_to_bits("methods", methods, METHODS, &job.methods)) ||
        (variants && words_to_bits("variants", variants, VARIANTS, &job.variants)))
        return 2;
    job.splits = (unsigned)split + 1; /* scan 1, pattern 2, both 3 */
    job.seed = common.seed;
    job.force = common.force;
    kn_ctx *ctx = session_begin(&common, "reproduce");
    if (!ctx)
        return 1;
    kn_status status = kn_reproduce_files(ctx, &job, &result);
    int code = session_end(ctx, status);
    if (status == KN_OK && !common.quiet)
        printf("%s: results.tsv, results.json and figure.svg of %td runs\n", job.output,
               result.n_runs);
    return code;
}
