//===- program_check.h - Does the runtime take a document? ----------------===//

#ifndef PPOPT_TEST_FUZZ_PROGRAM_CHECK_H
#define PPOPT_TEST_FUZZ_PROGRAM_CHECK_H

#include <string>
#include <string_view>

/// What the runtime has against a program's document; empty if nothing. Apart
/// from code on MLIR, which is built without exceptions.
std::string checkProgram(std::string_view json);

#endif // PPOPT_TEST_FUZZ_PROGRAM_CHECK_H
