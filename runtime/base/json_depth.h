//===- json_depth.h - JSON that somebody else may have written ------------===//

#ifndef PPOPT_RUNTIME_BASE_JSON_DEPTH_H
#define PPOPT_RUNTIME_BASE_JSON_DEPTH_H

#include "base/error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace ppopt::runtime {

/// For json::parse of a file that somebody else may have written: throws Error
/// where it is nested deeper than anything of ours, for what prints a document
/// recurses.
inline nlohmann::json::parser_callback_t limitDepth(const std::string &path) {
  return [path](int depth, nlohmann::json::parse_event_t, nlohmann::json &) {
    if (depth > 32)
      throw Error("{}: is nested too deeply", path);
    return true;
  };
}

/// For json::parse, which would silently keep the last of two equal keys of an
/// object: calls `found` with such a key and its depth (1 for
/// those of the whole document's object).
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

/// What a parse error says, without the library's number of it.
inline std::string reasonOf(const nlohmann::json::exception &error) {
  // "[json.exception.parse_error.101] parse error at …" -> "parse error at …"
  std::string reason = error.what();
  size_t end = reason.find("] ");
  return end == reason.npos ? reason : reason.substr(end + 2);
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_JSON_DEPTH_H
