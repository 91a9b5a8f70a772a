//===- write.cpp - Writes a program as its document -----------------------===//

#include "schema/write.h"

#include "schema/write_fields.h"

namespace ppopt::schema {

std::string writeProgram(const Program &program) {
  return toJson(program).dump();
}

std::string writeRefusedGeneration(int64_t abi, const std::string &reason) {
  OrderedJson document = {{"abi", abi},
                          {"generation", {{"refused", escapeNonUtf8(reason)}}}};
  return document.dump();
}

std::string writeDevice(const Device &device) {
  return toJson(device).dump(/*indent=*/1) + "\n";
}

std::string writeCluster(const Cluster &cluster) {
  return toJson(cluster).dump(/*indent=*/1) + "\n";
}

} // namespace ppopt::schema
