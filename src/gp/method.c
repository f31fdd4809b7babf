#include "gp/method.h"

#include <string.h>

#include "gp/kronprod.h"
#include "gp/smtgpr.h"
#include "gp/stgpr.h"

/* In the order of their numbers in kronorm.h. */
static const kn_method *const METHODS[] = {&kn_method_smtgpr, &kn_method_stgpr,
                                           &kn_method_kronprod};
enum { N_METHODS = sizeof METHODS / sizeof *METHODS };

int kn_method_count(void)
{
    return N_METHODS;
}

const kn_method *kn_method_at(int number)
{
    return number >= 0 && number < N_METHODS ? METHODS[number] : NULL;
}

const kn_method *kn_method_find(const char *name)
{
    for (int i = 0; i < N_METHODS; i++)
        if (strcmp(name, METHODS[i]->name) == 0)
            return METHODS[i];
    return NULL;
}

int kn_method_number(const kn_method *method)
{
    int i = 0;
    while (i < N_METHODS && METHODS[i] != method)
        i++;
    return i;
}

kn_status kn_method_check(kn_ctx *ctx, const kn_method *method, kn_is_set is_set, const void *self)
{
    bool plain = is_set(self, "plain");
    for (const kn_misfit *m = method->misfits; m->key; m++) {
        bool concerns = m->when == KN_ALWAYS || plain == (m->when == KN_IF_PLAIN);
        if (concerns && is_set(self, m->key))
            return kn_fail(ctx, KN_ERR_ARGUMENT, "%s has no use for %s: %s", method->title, m->said,
                           m->reason);
    }
    return KN_OK;
}

void kn_fit_problem_clear(kn_fit_problem *p)
{
    kn_gram_clear(&p->gram);
    kn_heldout_clear(&p->held);
}
