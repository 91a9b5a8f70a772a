//===- KernelExpectation.h - What a kernel must compute -------------------===//

#ifndef PPOPT_TEST_DEVICE_KERNELEXPECTATION_H
#define PPOPT_TEST_DEVICE_KERNELEXPECTATION_H

#include "Emulation.h"
#include "ReferenceCode.h"
#include "bundle.h"

namespace emulated {

/// Computes a kernel as the target cpu does, with the contents that the runner
/// draws, and takes samples of its results.
class KernelExpectation {
public:
  /// `samples`: how many elements of each result are compared.
  KernelExpectation(::ppopt::gpu::Launch &launch,
                    const ReferenceCode &reference, int64_t seed,
                    int64_t samples);

  /// Sets the launch's draw and expectations, and appends the values of the
  /// samples.
  void compute(std::vector<double> &values);

private:
  using Buffer = ::ppopt::gpu::Buffer;
  using Expectation = ::ppopt::gpu::Expectation;

  void run();
  void runPerturbed(::ppopt::gpu::ElementType least, uint64_t seed);
  void chooseDraw();
  double rateResults();
  double rate(const Expectation &result) const;
  bool isArgument(const Expectation &result,
                  const std::vector<int64_t> &elements) const;
  void keepResults();
  void describe(Expectation &result);
  double measureNoise(const Expectation &result) const;
  void setTolerances();

  const Buffer &bufferOf(const Expectation &result) const {
    return launch.buffers[result.buffer];
  }
  const char *dataOf(const Expectation &result) const {
    return memory[result.buffer].data();
  }
  double read(const Expectation &result, int64_t element) const;

  ::ppopt::gpu::Launch &launch;
  const ReferenceCode &reference;
  int64_t seed, samples;
  std::vector<emulated::Buffer> memory; ///< of each buffer, without padding
  std::vector<void *> addresses;        ///< of each argument
  std::vector<Bytes> wanted;            ///< of each result
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_KERNELEXPECTATION_H
