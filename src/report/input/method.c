/* Texts about the model's method, from its row in the table of methods. */
#include <string.h>

#include "gp/method.h"
#include "model/model.h"
#include "report/input/input.h"

const char *kn_report_input_method(const kn_report_input *m, const char *what)
{
    const kn_method *method = m->model ? m->model->gp.method : NULL;
    if (!method)
        return NULL;
    return strcmp(what, "title") == 0   ? method->title
           : strcmp(what, "words") == 0 ? method->words
           : strcmp(what, "cite") == 0  ? method->cite
           : strcmp(what, "paper") == 0 ? method->paper
                                        : NULL;
}
