/* Cluster detection in a z-map: connected responses with |z| above a threshold and the same sign
 * [METHOD 11c]
 *
 * Neighbours are the 26 voxels that share a face, an edge or a corner, or the vertices joined by
 * an edge of the mesh. Union-find over the responses above the threshold, O(T) per map. */
#ifndef KN_REPORT_COMPUTE_CLUSTER_H
#define KN_REPORT_COMPUTE_CLUSTER_H

#include "report/report.h"

typedef struct kn_clusters kn_clusters;

/* Builds the neighbourhood of T responses. *out is NULL with KN_OK if neighbours are not defined
 * (a table, vertices without their mesh, regions). `space` is borrowed and must outlive *out. */
kn_status kn_clusters_new(kn_ctx *ctx, const kn_report_space *space, ptrdiff_t T,
                          kn_clusters **out);
void kn_clusters_free(kn_clusters *c);

/* Result of kn_clusters_find. */
typedef struct kn_cluster_list {
    kn_report_cluster *cluster; /* array of `most`, of the caller */
    ptrdiff_t most, n, found;   /* capacity; clusters written; clusters found */
    ptrdiff_t singles;          /* number of clusters of one response */
} kn_cluster_list;

/* Finds the clusters of the map z (T, NaN: missing). They are sorted by size, then by |z| of the
 * peak, then by the index of the peak. */
kn_status kn_clusters_find(kn_ctx *ctx, kn_clusters *c, const float *z, double threshold,
                           kn_cluster_list *out);

#endif
