//===- contradiction.cpp - What a runtime would refuse in a program -------===//

#include "check/contradiction.h"

#include "check/check_fields.h"
#include "check/check_program.h"

namespace ppopt::runtime {

std::string findContradiction(schema::Program program) {
  Path root(nullptr, nullptr);
  try {
    checkFields(program, root, {});
    checkProgram(program, root);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace ppopt::runtime
