//===- json_structure.h - Checks of JSON from untrusted files -------------===//
//
// They read a text once before json::parse reads it. With a callback
// json::parse would take quadratic time: at the end of each object it looks at
// all values of the object or list around it. A text that is no JSON is left to
// json::parse.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_JSON_STRUCTURE_H
#define PPOPT_RUNTIME_BASE_JSON_STRUCTURE_H

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ppopt::runtime {

/// Throws Error if objects and lists of a document are nested deeper than
/// `most`; none of ours is deeper than the default. Printing a document
/// recurses.
void limitDepth(const std::string &path, std::string_view text,
                size_t most = 32);

/// Calls `found` with each repeated key of an object, of which json::parse
/// silently keeps the last, and its depth (1 for the keys of the document's
/// outermost object).
void findRepeatedKeys(
    std::string_view text,
    const std::function<void(size_t depth, const std::string &key)> &found);

/// Returns the text of a parse error without the library's error number.
inline std::string reasonOf(const nlohmann::json::exception &error) {
  // "[json.exception.parse_error.101] parse error at …" -> "parse error at …"
  std::string reason = error.what();
  size_t end = reason.find("] ");
  return end == reason.npos ? reason : reason.substr(end + 2);
}

/// Parses a document. Throws Error, with one line that begins with `path`, if
/// it is not JSON, nested too deeply, or has a key twice in one object.
nlohmann::json parseUnambiguous(const std::string &path, std::string_view text);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_JSON_STRUCTURE_H
