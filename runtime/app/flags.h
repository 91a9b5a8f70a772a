//===- flags.h - Values of an executable's flags --------------------------===//

#ifndef PPOPT_RUNTIME_APP_FLAGS_H
#define PPOPT_RUNTIME_APP_FLAGS_H

#include "flags/flags.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ppopt::train {

// Parsers of flag values. Each throws UsageError that names the flag, the value
// and what is wrong with it.

double parseNumber(const std::string &flag, const std::string &text);
/// Returns an integer of at least `least`.
int64_t parseInteger(const std::string &flag, const std::string &text,
                     int64_t least);
/// Returns an amount of bytes as parseByteAmount (ppopt/byte_amount.h) reads
/// it.
int64_t parseBytes(const std::string &flag, const std::string &text);
/// Returns the index of `text` in `choices`.
size_t parseChoice(const std::string &flag, const std::string &text,
                   const std::vector<std::string> &choices);

/// Flags of an executable, which wrong values end with UsageError.
class TrainFlags : public Flags {
public:
  using Flags::Flags;

  void integer(const std::string &flag, int64_t &into, int64_t least,
               const std::string &help);
  /// A number in [least, below).
  void number(const std::string &flag, double &into, double least, double below,
              const std::string &help);
  void value(const std::string &flag, const std::string &kind,
             const std::string &help,
             const std::function<void(const std::string &)> &read);
  /// A flag with an optional value; the default is the first choice.
  void optionalChoice(const std::string &flag,
                      const std::vector<std::string> &choices,
                      const std::string &help,
                      const std::function<void(size_t)> &read);

  static double inRange(const std::string &flag, double value,
                        const std::string &text, double least, double below);
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_FLAGS_H
