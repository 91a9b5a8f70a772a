//===- write.h - Writes a program as its document -------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_WRITE_H
#define PPOPT_RUNTIME_SCHEMA_WRITE_H

#include "schema/cluster.h"
#include "schema/program.h"

#include <string>

namespace ppopt::schema {

/// Returns the JSON document. Bytes of texts that are not UTF-8 are escaped.
std::string writeProgram(const Program &program);

/// Returns the document of an executable that cannot generate.
std::string writeRefusedGeneration(int64_t abi, const std::string &reason);

/// Returns the JSON document of a device or a cluster, over several lines.
std::string writeDevice(const Device &device);
std::string writeCluster(const Cluster &cluster);

/// Returns a Markdown reference of the fields of a program's document, of a
/// device's, or of a cluster's.
std::string writeReference();
std::string writeDeviceReference();
std::string writeClusterReference();

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_WRITE_H
