/* A matrix as the public calls take it. */
#ifndef KN_TEST_VIEWS_H
#define KN_TEST_VIEWS_H

#include "support/test.h"

static inline kn_view view(kn_mat m)
{
    return (kn_view){m.data, KN_F64, m.rows, m.cols, 1, m.ld};
}

#endif
