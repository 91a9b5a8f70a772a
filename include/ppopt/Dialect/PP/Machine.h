//===- Machine.h - What code is compiled for ------------------------------===//

#ifndef PPOPT_DIALECT_PP_MACHINE_H
#define PPOPT_DIALECT_PP_MACHINE_H

#include <cstdint>
#include <string>

namespace mlir::pp {

/// What code is compiled for: the fields of #pp.target.
struct Machine {
  std::string name;    ///< of the target
  int64_t threads = 1; ///< per rank
  /// As the target names them (for CPUs as LLVM does); never "native".
  std::string cpu;
  std::string features; ///< "+avx2,-avx512f,…"
  std::string gpu;      ///< "sm_90a"; empty if the target has none
};

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_MACHINE_H
