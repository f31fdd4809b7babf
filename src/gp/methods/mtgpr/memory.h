/* Memory plan of an MTGPR fit [METHOD 1h]. */
#ifndef KN_GP_METHODS_MTGPR_MEMORY_H
#define KN_GP_METHODS_MTGPR_MEMORY_H

#include "gp/method.h"

enum { KN_MTGPR_MOST = 200 }; /* components, and noise factors, at most */

/* Implement kn_method.need. */
void kn_mtgpr_need_finalise(kn_problem_size *s);
void kn_mtgpr_need_fit(kn_mem_plan *r, const kn_problem_size *s);

#endif
