//===- json_depth.h - JSON that is not nested too deeply --------*- C++ -*-===//

#ifndef PPOPT_RUNTIME_CORE_JSON_DEPTH_H
#define PPOPT_RUNTIME_CORE_JSON_DEPTH_H

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <string>

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

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_CORE_JSON_DEPTH_H
