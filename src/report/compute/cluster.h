/* Clusters: connected responses with |z| above a threshold, of one sign   [METHOD 11c]
 *
 * Voxels that share a face, an edge or a corner are neighbours (26 of them); vertices that an edge
 * of the mesh joins. Union-find over the responses beyond, O(T) a map. */
#ifndef KN_REPORT_COMPUTE_CLUSTER_H
#define KN_REPORT_COMPUTE_CLUSTER_H

#include "report/report.h"

typedef struct kn_clusters kn_clusters;

/* *out NULL with KN_OK: nothing says which responses are neighbours (a table, vertices without
 * their mesh, regions). space is lent. */
kn_status kn_clusters_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_clusters **out);
void kn_clusters_free(kn_clusters *c);

typedef struct kn_cluster_list {
    kn_report_cluster *cluster; /* room for `most` */
    ptrdiff_t most, n, found;   /* written; how many there are */
    ptrdiff_t singles;          /* of them those of one response */
} kn_cluster_list;

/* Of a map z (T, NaN missing): the largest first, then by the size of the peak, then by its place.
 */
kn_status kn_clusters_find(kn_ctx *ctx, kn_clusters *c, const float *z, double threshold,
                           kn_cluster_list *out);

#endif
