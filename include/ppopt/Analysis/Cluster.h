//===- Cluster.h - What the estimates of time know of a cluster -*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_CLUSTER_H
#define PPOPT_ANALYSIS_CLUSTER_H

#include "schema/cluster.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace mlir::pp {

using ::ppopt::schema::Cluster;

/// Returns the clusters that are compiled in (docs/clusters.md).
ArrayRef<Cluster> getClusters();
/// Returns one of them by its name; null for other names.
const Cluster *findCluster(StringRef name);

/// Reads a cluster's document. On an error, returns nothing and sets `error` to
/// what is wrong, beginning with the field.
std::optional<Cluster> readCluster(StringRef json, std::string &error);

/// Sets the cluster that the ranks of a module are on; nothing: all ranks are
/// on one machine, whose links are those of the device.
void setCluster(ModuleOp module, const std::optional<Cluster> &cluster);

/// Returns the cluster of the module that `op` is or is in, if it has one.
std::optional<Cluster> getCluster(Operation *op);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_CLUSTER_H
