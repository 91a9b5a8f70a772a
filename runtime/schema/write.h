//===- write.h - Writes a program as its document -------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_WRITE_H
#define PPOPT_RUNTIME_SCHEMA_WRITE_H

#include "schema/program.h"

#include <string>

namespace ppopt::schema {

/// Returns the JSON document. Bytes of texts that are not UTF-8 are replaced.
std::string writeProgram(const Program &program);

/// Returns the document of an executable that cannot generate.
std::string writeRefusedGeneration(int64_t abi, const std::string &reason);

/// Returns a Markdown reference of the document's fields.
std::string writeReference();

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_WRITE_H
