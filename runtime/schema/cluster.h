//===- cluster.h - The links between the devices of a cluster -------------===//
//
// The document that `--cluster` takes (docs/clusters.md). Rates are per
// nanosecond, times are in nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_CLUSTER_H
#define PPOPT_RUNTIME_SCHEMA_CLUSTER_H

#include "schema/device.h"

namespace ppopt::schema {

/// The links between units of the level below, the innermost of which are
/// devices.
struct Level {
  static constexpr const char *title = "Level of links";
  std::string name;
  int64_t size = 1;
  LinkRates transfer, collective;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "of the links: NVLink, PCIe, InfiniBand, sockets");
    f("size", self.size,
      "units of the level below, or devices, that one unit of this level has; "
      "the last of several levels joins machines, a single one devices of one",
      positive);
    f("transfer", self.transfer,
      "a value that one device sends to a device of another unit");
    f("collective", self.collective,
      "one hop between units; the rate is that of one device in each "
      "direction while all send");
  }
};

struct Cluster {
  static constexpr const char *title = "Cluster";
  static constexpr int64_t currentVersion = 1;
  int64_t version = currentVersion;
  std::string name, device;
  bool trees = false;
  std::vector<Level> levels;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("version", self.version, "of these fields: 1");
    f("name", self.name, "what reports call it");
    f.optional("device", self.device,
               "the device that `--device` names by default");
    f.optional("trees", self.trees,
               "whether a collective may also go by trees and level by level, "
               "as NCCL's do; otherwise it is one ring, as on CPUs");
    f("levels", self.levels, "from the inside out");
  }

  /// Returns how many devices one machine has.
  int64_t getDevicesOfMachine() const {
    return levels.size() == 1 ? levels[0].size
                              : getDevices() / levels.back().size;
  }

  /// Returns how many devices it has; INT64_MAX for more.
  int64_t getDevices() const {
    int64_t devices = 1;
    for (const Level &level : levels)
      if (__builtin_mul_overflow(devices, level.size, &devices))
        return INT64_MAX;
    return devices;
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_CLUSTER_H
