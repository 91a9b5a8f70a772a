//===- Cluster.cpp - The cluster of a module ------------------------------===//

#include "ppopt/Analysis/Cluster.h"

#include "DocumentAttribute.h"

#include "ppopt/Dialect/PP/ClusterAttribute.h"
#include "program/read_device.h"
#include "schema/write.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace schema = ::ppopt::schema;

/// Rates are those that collectives reach on large buffers, not peaks, and
/// latencies those with which NCCL chooses between its algorithms. The sources
/// stand in docs/clusters.md, by the names of the clusters.
static std::vector<Cluster> makeClusters() {
  auto makeLevel = [](const char *name, int64_t size, double latency,
                      double rate) {
    schema::LinkRates link{latency, rate};
    return schema::Level{name, size, link, link};
  };
  return {
      {1,
       "dgx-a100",
       "a100",
       /*trees=*/true,
       {makeLevel("NVLink", 8, 3400, 232),
        makeLevel("InfiniBand", 560, 14000, 24)}},
      {1,
       "hgx-h100-400g",
       "h100",
       /*trees=*/true,
       {makeLevel("NVLink", 8, 3400, 370), makeLevel("RoCE", 3072, 14000, 40)}},
      {1, "pc", "", /*trees=*/true, {makeLevel("PCIe", 4, 5700, 12)}},
      {1,
       "cpu-rack",
       "",
       /*trees=*/false,
       {makeLevel("sockets", 2, 20000, 4),
        makeLevel("Ethernet", 40, 40000, 3)}},
  };
}

ArrayRef<Cluster> pp::getClusters() {
  static const std::vector<Cluster> clusters = makeClusters();
  return clusters;
}

const Cluster *pp::findCluster(StringRef name) {
  const auto *found = llvm::find_if(getClusters(), [&](const Cluster &cluster) {
    return cluster.name == name;
  });
  return found == getClusters().end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

std::optional<Cluster> pp::readCluster(StringRef json, std::string &error) {
  return ::ppopt::runtime::readCluster(json, error);
}

void pp::setCluster(ModuleOp module, const std::optional<Cluster> &cluster) {
  module->removeAttr(kClusterAttr);
  if (cluster)
    module->setAttr(kClusterAttr, parseDocument(schema::writeCluster(*cluster),
                                                module.getContext()));
}

std::optional<Cluster> pp::getCluster(Operation *op) {
  Attribute attribute = getModuleAttribute(op, kClusterAttr);
  if (!attribute)
    return std::nullopt;
  std::string error;
  std::optional<Cluster> cluster = readCluster(writeDocument(attribute), error);
  if (!cluster)
    op->emitError(kClusterAttr) << ": " << error;
  return cluster;
}
