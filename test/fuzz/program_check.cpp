//===- program_check.cpp - Does the runtime take a document? --------------===//

#include "program_check.h"

#include "base/error.h"
#include "program/program.h"

std::string checkProgram(std::string_view json) {
  try {
    ppopt::runtime::readProgram(json);
  } catch (const ppopt::runtime::Error &error) {
    return error.what();
  }
  return "";
}
