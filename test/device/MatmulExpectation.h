//===- MatmulExpectation.h - What a matmul must compute -------------------===//

#ifndef PPOPT_TEST_DEVICE_MATMULEXPECTATION_H
#define PPOPT_TEST_DEVICE_MATMULEXPECTATION_H

#include "bundle.h"

namespace emulated {

/// Computes samples of a matmul in a wider type, with the contents that the
/// runner draws. Sets the launch's expectation. Appends two values for each
/// sample: the element, and the sum of the magnitudes of its terms.
void computeExpectation(::ppopt::gpu::Launch &launch, int64_t seed,
                        int64_t samples, std::vector<double> &values);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_MATMULEXPECTATION_H
