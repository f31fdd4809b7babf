#include "cli/inputs.h"

#include <string.h>

int apply_arguments(const char *command, const cli_words *words, const char *write_text,
                    kn_apply_job *job)
{
    static const char *const names[] = {"z", "yhat", "ys2_model"};
    if (words->n == 1 && !job->model)
        job->model = words->word[0];
    else if (words->n)
        return cli_usage_error(command, "'%s' belongs to no option",
                               words->word[words->n > 1 && !job->model ? 1 : 0]);
    if (!job->model || !job->in.covariates || !job->output)
        return cli_usage_error(command, "%s is needed",
                               !job->model           ? "a model file"
                               : !job->in.covariates ? "-c, --covariates"
                                                     : "-o, --output");
    for (const char *w = write_text; w && *w;) {
        size_t n = strcspn(w, ",");
        unsigned bit = 0;
        for (unsigned k = 0; k < 3; k++)
            if (strlen(names[k]) == n && memcmp(w, names[k], n) == 0)
                bit = 1u << k;
        if (!bit)
            return cli_usage_error(command, "--write is '%s', expected some of z,yhat,ys2_model",
                                   write_text);
        job->write |= bit;
        w += n + (w[n] == ',');
    }
    return 0;
}
