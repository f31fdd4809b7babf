#include "gp/law.h"

void kn_law_clear(kn_law *l)
{
    kn_mat_clear(&l->v);
    kn_free(l->d);
    kn_free(l->v0);
    kn_mat_clear(&l->W);
    *l = (kn_law){0};
}
