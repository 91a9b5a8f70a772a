//===- collective_words.h - What people call a collective -----------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_COLLECTIVE_WORDS_H
#define PPOPT_RUNTIME_EXECUTOR_COLLECTIVE_WORDS_H

#include "program/program.h"

namespace ppopt::runtime {

/// Returns what logs, profiles and traces call a collective: "sum".
inline const char *describeCollective(Operation operation) {
  switch (operation) {
  case Operation::allReduce:
    return "sum";
  case Operation::allGather:
    return "all-gather";
  case Operation::reduceScatter:
    return "reduce-scatter";
  case Operation::send:
  case Operation::recv:
    break;
  }
  return "transfer";
}

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_COLLECTIVE_WORDS_H
