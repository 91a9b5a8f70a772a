//===- wrong_document.h - What is wrong with a changed document -----------===//

#ifndef PPOPT_TEST_RUNTIME_PROGRAM_WRONG_DOCUMENT_H
#define PPOPT_TEST_RUNTIME_PROGRAM_WRONG_DOCUMENT_H

#include "base/error.h"
#include "program/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace wrong_document {

using nlohmann::json;

/// Returns the error of reading the document; empty if there is none.
inline std::string errorOf(const json &document) {
  try {
    ppopt::runtime::readProgram(document.dump());
  } catch (const ppopt::runtime::Error &error) {
    return error.what();
  }
  return "";
}

/// A change of a document, and the message of reading it.
struct Wrong {
  const char *pointer; ///< what is replaced (removed where `value` is empty)
  const char *value;
  const char *message;
};

inline void expectMessage(json document, const Wrong &wrong) {
  json::json_pointer pointer(wrong.pointer);
  if (*wrong.value)
    document[pointer] = json::parse(wrong.value);
  else
    document[pointer.parent_pointer()].erase(pointer.back());
  EXPECT_EQ(errorOf(document),
            std::string("program: ") + wrong.message +
                "; the executable does not fit its runtime: compile it again");
}

} // namespace wrong_document

#endif // PPOPT_TEST_RUNTIME_PROGRAM_WRONG_DOCUMENT_H
