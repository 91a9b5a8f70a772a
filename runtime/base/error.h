//===- error.h - The exception of the runtime -----------------------------===//
//
// Code in the runtime that cannot continue throws `Error`. `main` prints the
// message as one line after "error: " and exits with status 1. A rank that
// throws ends the other ranks too (runtime/comm). The message says what is
// wrong, where, and what to do about it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_ERROR_H
#define PPOPT_RUNTIME_BASE_ERROR_H

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ppopt::runtime {

class Error : public std::runtime_error {
public:
  explicit Error(const std::string &message) : std::runtime_error(message) {}

  template <typename Arg, typename... Args>
  Error(fmt::format_string<Arg, Args...> format, Arg &&arg, Args &&...args)
      : std::runtime_error(fmt::format(format, std::forward<Arg>(arg),
                                       std::forward<Args>(args)...)) {}
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_ERROR_H
