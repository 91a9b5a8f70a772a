//===- read_device.h - Reads the documents of devices and clusters --------===//
//
// For the compiler, which has no exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_READ_DEVICE_H
#define PPOPT_RUNTIME_PROGRAM_READ_DEVICE_H

#include "schema/cluster.h"

#include <optional>
#include <string>
#include <string_view>

namespace ppopt::runtime {

/// Fields that a document does not have are errors: a misspelled one would
/// otherwise be missed. On an error, returns nothing and sets `error` to what
/// is wrong, beginning with the field.
std::optional<schema::Device> readDevice(std::string_view json,
                                         std::string &error);
std::optional<schema::Cluster> readCluster(std::string_view json,
                                           std::string &error);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_READ_DEVICE_H
