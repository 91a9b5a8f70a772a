//===- json_depth.h - Parsing JSON from untrusted files -------------------===//

#ifndef PPOPT_RUNTIME_BASE_JSON_DEPTH_H
#define PPOPT_RUNTIME_BASE_JSON_DEPTH_H

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace ppopt::runtime {

/// A callback for json::parse of an untrusted file. Throws Error if the file is
/// nested deeper than any of ours: printing a document recurses.
inline nlohmann::json::parser_callback_t limitDepth(const std::string &path) {
  return [path](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
    if (depth > 32)
      throw Error("{}: is nested too deeply", path);
    return true;
  };
}

/// A callback for json::parse, which silently keeps the last of two equal keys
/// of an object. Calls `found` with each repeated key and its depth (1 for the
/// keys of the document's outermost object).
inline nlohmann::json::parser_callback_t
findRepeatedKeys(std::function<void(int depth, const std::string &key)> found) {
  // keys[d] holds the keys of the object that is open at depth d.
  return
      [found = std::move(found), keys = std::vector<std::set<std::string>>()](
          int depth, nlohmann::json::parse_event_t event,
          nlohmann::json &parsed) mutable {
        using Event = nlohmann::json::parse_event_t;
        if (event == Event::object_start) {
          keys.resize(depth + 1);
          keys.emplace_back();
        } else if (event == Event::key &&
                   !keys.at(depth).insert(parsed.get<std::string>()).second) {
          found(depth, parsed.get<std::string>());
        }
        return true;
      };
}

/// Returns the text of a parse error without the library's error number.
inline std::string reasonOf(const nlohmann::json::exception &error) {
  // "[json.exception.parse_error.101] parse error at …" -> "parse error at …"
  std::string reason = error.what();
  size_t end = reason.find("] ");
  return end == reason.npos ? reason : reason.substr(end + 2);
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_JSON_DEPTH_H
