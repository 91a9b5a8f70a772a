//===- fit_rates.h - Rates of elements, memory, attention -----------------===//

#ifndef PPOPT_TOOLS_FIT_RATES_H
#define PPOPT_TOOLS_FIT_RATES_H

#include "ppopt/Analysis/Cost.h"

#include <vector>

namespace ppopt {

/// A launch of a kernel or a matmul, and the time that it took.
struct TimedLaunch {
  std::string name;
  mlir::pp::Work work;
  double nanoseconds = 0;

  bool isMatmul() const {
    return work.matmuls.size() == 1 &&
           work.matmuls.front().kind == mlir::pp::MatmulWork::Library;
  }
};

/// Sets the device's rates of elements, attention and memory, and the time of a
/// launch: those, none of them negative, with which the predicted times of the
/// kernels are nearest to the measured ones (least squares; of two kernels the
/// one that takes longer counts more).
void fitRates(const std::vector<TimedLaunch> &kernels,
              mlir::pp::Device &device);

} // namespace ppopt

#endif // PPOPT_TOOLS_FIT_RATES_H
