//===- matmul_kernel.cpp - Generated kernels for small matmuls ------------===//
//
// Uses libxsmm's generator only. Its dispatcher would keep a table of 8 MiB per
// rank, of which a program needs about ten entries.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/matmul_kernel.h"

#include <libxsmm_cpuid.h>
#include <libxsmm_frontend.h>
#include <libxsmm_generator.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace ppopt {

namespace {

/// Returns a copy of `code` that is executable and no longer writable.
void *makeExecutable(const void *code, size_t bytes) {
  auto fail = [](const char *what) {
    throw std::runtime_error(std::string("no executable memory for kernels: ") +
                             what + ": " + std::strerror(errno));
  };
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("mmap");
  std::memcpy(memory, code, bytes);
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, bytes);
    fail("mprotect");
  }
  return memory;
}

void *generate(const libxsmm_gemm_descriptor *descriptor) {
  constexpr unsigned int kMostBytes = 1 << 17;
  constexpr unsigned int kBinary = 2;
  std::vector<char> buffer(kMostBytes);
  libxsmm_generated_code code{};
  code.generated_code = buffer.data();
  code.buffer_size = kMostBytes;
  code.code_type = kBinary;
  code.arch = static_cast<unsigned int>(libxsmm_cpuid());
  libxsmm_generator_gemm_kernel(&code, descriptor);
  if (code.last_error != 0 || code.code_size == 0)
    return nullptr;
  return makeExecutable(buffer.data(), code.code_size);
}

/// Caches kernels by descriptor.
void *findOrGenerate(const libxsmm_descriptor_blob &blob,
                     const libxsmm_gemm_descriptor *descriptor) {
  static std::mutex mutex;
  static std::map<std::string, void *> kernels;
  if (!descriptor)
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  std::string key(blob.data, sizeof(blob.data));
  auto found = kernels.find(key);
  if (found == kernels.end())
    found = kernels.emplace(key, generate(descriptor)).first;
  return found->second;
}

/// The generator's matrices are column-major: its A is our panel of B, its B is
/// our A.
template <typename Element, typename Describe>
MatmulKernel<Element> make(const MatmulKernelShape &shape,
                           const Describe &describe) {
  // There is no kernel for a block larger than the matrix; the generator would
  // report that on standard error.
  if (shape.cStride < shape.columns ||
      shape.aStride < (shape.aIsTransposed ? shape.rows : shape.depth))
    return nullptr;
  libxsmm_descriptor_blob blob{};
  const libxsmm_gemm_descriptor *descriptor =
      describe(&blob, int(shape.columns), int(shape.rows), int(shape.depth),
               int(shape.columns), int(shape.aStride), int(shape.cStride),
               Element(1), Element(shape.accumulate ? 1 : 0),
               shape.aIsTransposed ? LIBXSMM_GEMM_FLAG_TRANS_B : 0,
               LIBXSMM_GEMM_PREFETCH_NONE);
  return reinterpret_cast<MatmulKernel<Element>>(
      findOrGenerate(blob, descriptor));
}

} // namespace

MatmulKernel<float> makeMatmulKernelF32(const MatmulKernelShape &shape) {
  return make<float>(shape, libxsmm_sgemm_descriptor_init);
}

MatmulKernel<double> makeMatmulKernelF64(const MatmulKernelShape &shape) {
  return make<double>(shape, libxsmm_dgemm_descriptor_init);
}

} // namespace ppopt
