//===- write.h - Writes a program as its document -------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_WRITE_H
#define PPOPT_RUNTIME_SCHEMA_WRITE_H

#include "schema/device.h"
#include "schema/program.h"

#include <string>

namespace ppopt::schema {

/// Returns the JSON document. Bytes of texts that are not UTF-8 are escaped.
std::string writeProgram(const Program &program);

/// Returns the document of an executable that cannot generate.
std::string writeRefusedGeneration(int64_t abi, const std::string &reason);

/// Returns the JSON document of a device, over several lines.
std::string writeDevice(const Device &device);

/// Returns a Markdown reference of the fields of a program's document, or of a
/// device's.
std::string writeReference();
std::string writeDeviceReference();

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_WRITE_H
