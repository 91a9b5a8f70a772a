//===- MatmulComparison.h - Matmuls of a device against plain loops -------===//

#ifndef PPOPT_TEST_DEVICE_MATMULCOMPARISON_H
#define PPOPT_TEST_DEVICE_MATMULCOMPARISON_H

#include "Emulation.h"
#include "KernelModule.h"

#include "llvm/Support/JSON.h"

namespace emulated {

/// Runs a matmul on random operands (emulateDraw), and compares it with a plain
/// loop in a wider type. Of a large matmul only some
/// blocks are run.
class MatmulComparison {
public:
  MatmulComparison(const MatmulDescription &matmul, const KernelCode &code);

  /// Returns what is wrong, or an empty string.
  std::string run(uint64_t seed, bool isPositive);
  /// Runs the first, middle and last blocks on zeros, and compares nothing.
  std::string runEnds();
  llvm::json::Object getFigures() const;

private:
  struct Side {
    Operand operand;
    uint64_t offset = 0; ///< in bytes
    Bytes contents;
  };

  std::vector<unsigned> chooseBlocks(uint64_t seed) const;
  EmulatedLaunch makeLaunch() const;
  std::string compare(const Bytes &got, bool areAll);

  const MatmulDescription &matmul;
  const KernelCode &code;
  Side a, b, c;
  Counters counters;
  double worst = 0;
  int64_t compared = 0;
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_MATMULCOMPARISON_H
