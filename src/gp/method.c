/* The table of methods, in the order of METHODS; a new method is added here. Commands find the
 * method of an option or of a model file here. */
#include "gp/method.h"

#include <string.h>

#include "gp/methods/methods.h"

static const kn_method *const METHODS[] = {&kn_method_smtgpr,   &kn_method_stgpr,
                                           &kn_method_kronprod, &kn_method_mtgpr,
                                           &kn_method_kronsum,  &kn_method_convolved};
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

const kn_method *kn_method_of(const char *name, kn_noise noise)
{
    const kn_method *m = kn_method_find(name);
    return m == METHODS[0] ? kn_smtgpr_with(noise) : m;
}
