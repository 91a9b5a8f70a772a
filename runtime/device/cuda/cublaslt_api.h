//===- cublaslt_api.h - What we call of cuBLASLt --------------------------===//
//
// Our own declarations of the ABI of libcublasLt.so, which is loaded when a
// program for GPUs starts. Source: the cuBLAS reference, versions 12 and 13.
// test/device/fake/api_test.cpp compares them with cublasLt.h where it is
// found.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_CUBLASLT_API_H
#define PPOPT_RUNTIME_DEVICE_CUDA_CUBLASLT_API_H

#include "device/cuda/driver_api.h"

#include <cstddef>
#include <cstdint>

namespace ppopt::cuda {

struct BlasContext;
struct MatmulDescContext;
struct MatrixLayoutContext;
struct MatmulPreferenceContext;
using BlasHandle = BlasContext *;
using MatmulDesc = MatmulDescContext *;
using MatrixLayout = MatrixLayoutContext *;
using MatmulPreference = MatmulPreferenceContext *;

enum class BlasResult : int {
  success = 0,
  notInitialized = 1,
  allocFailed = 3,
  invalidValue = 7,
  archMismatch = 8,
  executionFailed = 13,
  internalError = 14,
  notSupported = 15,
};

enum class DataType : int { f32 = 0, f64 = 1, bf16 = 14 };
/// f32 is without TF32.
enum class ComputeType : int { f32 = 68, f64 = 70 };
enum class Transpose : int { no = 0, yes = 1 };

/// The values are int32 (Transpose).
enum class DescAttribute : int { transposeA = 3, transposeB = 4 };
/// int32, int64 (elements).
enum class LayoutAttribute : int { batchCount = 5, batchStride = 6 };
/// uint64 (bytes), uint32 each.
enum class PreferenceAttribute : int {
  maxWorkspaceBytes = 1,
  reductionSchemes = 3, ///< a sum of ReductionScheme
  alignmentA = 5,
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8,
};
/// Where products over parts of k are added.
enum ReductionScheme : uint32_t {
  reductionInPlace = 1,
  reductionInComputeType = 2,
  reductionInOutputType = 4,
};

/// Valid for one version of the library.
struct MatmulAlgorithm {
  uint64_t data[8];
};

struct HeuristicResult {
  MatmulAlgorithm algorithm;
  size_t workspaceBytes;
  BlasResult state; ///< the rest is valid if this is success
  float waves;
  int reserved[4];
};

// PPOPT_FUNCTION(NAME, "SYMBOL", PARAMETERS...). Matrices are column-major.
#define PPOPT_CUBLASLT(PPOPT_FUNCTION)                                         \
  PPOPT_FUNCTION(create, "cublasLtCreate", BlasHandle *handle)                 \
  PPOPT_FUNCTION(destroy, "cublasLtDestroy", BlasHandle handle)                \
  PPOPT_FUNCTION(descCreate, "cublasLtMatmulDescCreate", MatmulDesc *desc,     \
                 ComputeType compute, DataType scale)                          \
  PPOPT_FUNCTION(descDestroy, "cublasLtMatmulDescDestroy", MatmulDesc desc)    \
  PPOPT_FUNCTION(descSetAttribute, "cublasLtMatmulDescSetAttribute",           \
                 MatmulDesc desc, DescAttribute attribute, const void *value,  \
                 size_t bytes)                                                 \
  PPOPT_FUNCTION(layoutCreate, "cublasLtMatrixLayoutCreate",                   \
                 MatrixLayout *layout, DataType type, uint64_t rows,           \
                 uint64_t columns, int64_t leading)                            \
  PPOPT_FUNCTION(layoutDestroy, "cublasLtMatrixLayoutDestroy",                 \
                 MatrixLayout layout)                                          \
  PPOPT_FUNCTION(layoutSetAttribute, "cublasLtMatrixLayoutSetAttribute",       \
                 MatrixLayout layout, LayoutAttribute attribute,               \
                 const void *value, size_t bytes)                              \
  PPOPT_FUNCTION(preferenceCreate, "cublasLtMatmulPreferenceCreate",           \
                 MatmulPreference *preference)                                 \
  PPOPT_FUNCTION(preferenceDestroy, "cublasLtMatmulPreferenceDestroy",         \
                 MatmulPreference preference)                                  \
  PPOPT_FUNCTION(preferenceSetAttribute,                                       \
                 "cublasLtMatmulPreferenceSetAttribute",                       \
                 MatmulPreference preference, PreferenceAttribute attribute,   \
                 const void *value, size_t bytes)                              \
  PPOPT_FUNCTION(getHeuristic, "cublasLtMatmulAlgoGetHeuristic",               \
                 BlasHandle handle, MatmulDesc desc, MatrixLayout a,           \
                 MatrixLayout b, MatrixLayout c, MatrixLayout d,               \
                 MatmulPreference preference, int requested,                   \
                 HeuristicResult results[], int *found)                        \
  PPOPT_FUNCTION(checkAlgorithm, "cublasLtMatmulAlgoCheck", BlasHandle handle, \
                 MatmulDesc desc, MatrixLayout a, MatrixLayout b,              \
                 MatrixLayout c, MatrixLayout d,                               \
                 const MatmulAlgorithm *algorithm, HeuristicResult *result)    \
  PPOPT_FUNCTION(matmul, "cublasLtMatmul", BlasHandle handle, MatmulDesc desc, \
                 const void *alpha, const void *a, MatrixLayout aLayout,       \
                 const void *b, MatrixLayout bLayout, const void *beta,        \
                 const void *c, MatrixLayout cLayout, void *d,                 \
                 MatrixLayout dLayout, const MatmulAlgorithm *algorithm,       \
                 void *workspace, size_t workspaceBytes, Stream stream)

/// The library's functions.
struct CublasLtApi {
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) BlasResult (*NAME)(__VA_ARGS__);
  PPOPT_CUBLASLT(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  size_t (*getVersion)(); ///< 130100 is 13.1.0
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_CUBLASLT_API_H
