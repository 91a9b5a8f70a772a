//===- api_test.cpp - Our declarations are those of NVIDIA's headers ------===//
//
// Compiled against cuda.h, cublasLt.h and nccl.h where the build finds them,
// and once more against those of CUDA 12 (PPOPT_CUDA_MAJOR). Nothing is called.
//
//===----------------------------------------------------------------------===//

#include "device/cuda/cublaslt_api.h"
#include "device/cuda/driver_api.h"
#include "device/cuda/nccl_api.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

#if __has_include(<cuda.h>)
#define PPOPT_HAS_CUDA 1
#include <cuda.h>
#endif
#if __has_include(<cublasLt.h>)
#define PPOPT_HAS_CUBLASLT 1
#include <cublasLt.h>
#endif
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#define PPOPT_HAS_NCCL 1
#include <nccl.h>
#endif

#ifdef PPOPT_CUDA_MAJOR
// The compiler may find those of another version by itself.
#if defined(PPOPT_HAS_CUDA) && CUDA_VERSION / 1000 != PPOPT_CUDA_MAJOR
#undef PPOPT_HAS_CUDA
#endif
#if defined(PPOPT_HAS_CUBLASLT) && CUBLAS_VER_MAJOR != PPOPT_CUDA_MAJOR
#undef PPOPT_HAS_CUBLASLT
#endif
#define PPOPT_OF_CUDA " of CUDA 12: cmake -DPPOPT_CUDA12_INCLUDE='A;B'"
#else
#define PPOPT_OF_CUDA ""
#endif

using namespace ppopt;
using namespace ppopt::cuda;

namespace {

template <typename T, typename = void> struct IsComplete : std::false_type {};
template <typename T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};

/// Whether a caller that has `A` may call what is compiled with `B`.
template <typename A, typename B> constexpr bool isCompatible() {
  if constexpr (std::is_same_v<A, B>) {
    return true;
  } else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using ToA = std::remove_pointer_t<A>;
    using ToB = std::remove_pointer_t<B>;
    return std::is_const_v<ToA> == std::is_const_v<ToB> &&
           isCompatible<std::remove_const_t<ToA>, std::remove_const_t<ToB>>();
  } else if constexpr (std::is_class_v<A> && std::is_class_v<B>) {
    // Types of handles are known to their library only.
    if constexpr (IsComplete<A>::value && IsComplete<B>::value)
      return sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
    return true;
  } else if constexpr ((std::is_enum_v<A> || std::is_integral_v<A>) &&
                       (std::is_enum_v<B> || std::is_integral_v<B>)) {
    return sizeof(A) == sizeof(B);
  } else {
    return false;
  }
}

template <typename A, typename B> struct Functions;
template <typename A, typename... As, typename B, typename... Bs>
struct Functions<A (*)(As...), B (*)(Bs...)> {
  static constexpr bool areCompatible() {
    if constexpr (sizeof...(As) == sizeof...(Bs))
      return isCompatible<A, B>() && (isCompatible<As, Bs>() && ...);
    return false;
  }
};

#define PPOPT_COMPARE(API, NAME, SYMBOL)                                       \
  static_assert(                                                               \
      Functions<decltype(API::NAME), decltype(&SYMBOL)>::areCompatible(),      \
      #NAME " is not " #SYMBOL);                                               \
  compared.insert(#SYMBOL);
#define PPOPT_EQUAL(OURS, THEIRS)                                              \
  static_assert(static_cast<long long>(OURS) ==                                \
                    static_cast<long long>(THEIRS),                            \
                #OURS " is not " #THEIRS)

// The check itself.
using Plain = int (*)(int, const void *, size_t);
static_assert(Functions<Plain, NcclResult (*)(unsigned, const void *,
                                              unsigned long)>::areCompatible());
static_assert(!Functions<Plain, int (*)(int, const void *)>::areCompatible());
static_assert(!Functions<Plain, int (*)(int, void *, size_t)>::areCompatible());
static_assert(
    !Functions<Plain, int (*)(int, const void *, int)>::areCompatible());
static_assert(
    !Functions<Plain, int (*)(int, const int *, size_t)>::areCompatible());
static_assert(
    !Functions<int (*)(Uuid), int (*)(CommunicatorId)>::areCompatible());

TEST(Api, Driver) {
#ifdef PPOPT_HAS_CUDA
  std::set<std::string> compared;
  PPOPT_COMPARE(DriverApi, init, cuInit)
  PPOPT_COMPARE(DriverApi, driverGetVersion, cuDriverGetVersion)
  PPOPT_COMPARE(DriverApi, getErrorName, cuGetErrorName)
  PPOPT_COMPARE(DriverApi, getErrorString, cuGetErrorString)
  PPOPT_COMPARE(DriverApi, deviceGetCount, cuDeviceGetCount)
  PPOPT_COMPARE(DriverApi, deviceGet, cuDeviceGet)
  PPOPT_COMPARE(DriverApi, deviceGetName, cuDeviceGetName)
  PPOPT_COMPARE(DriverApi, deviceGetUuid, cuDeviceGetUuid_v2)
  PPOPT_COMPARE(DriverApi, deviceGetAttribute, cuDeviceGetAttribute)
  PPOPT_COMPARE(DriverApi, primaryContextRetain, cuDevicePrimaryCtxRetain)
  PPOPT_COMPARE(DriverApi, primaryContextRelease, cuDevicePrimaryCtxRelease_v2)
  PPOPT_COMPARE(DriverApi, contextSetCurrent, cuCtxSetCurrent)
  PPOPT_COMPARE(DriverApi, memGetInfo, cuMemGetInfo_v2)
  PPOPT_COMPARE(DriverApi, memAlloc, cuMemAlloc_v2)
  PPOPT_COMPARE(DriverApi, memFree, cuMemFree_v2)
  PPOPT_COMPARE(DriverApi, memAllocHost, cuMemAllocHost_v2)
  PPOPT_COMPARE(DriverApi, memFreeHost, cuMemFreeHost)
  PPOPT_COMPARE(DriverApi, memcpyHtoDAsync, cuMemcpyHtoDAsync_v2)
  PPOPT_COMPARE(DriverApi, memcpyDtoHAsync, cuMemcpyDtoHAsync_v2)
  PPOPT_COMPARE(DriverApi, memcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
  PPOPT_COMPARE(DriverApi, memsetD8Async, cuMemsetD8Async)
  PPOPT_COMPARE(DriverApi, streamCreate, cuStreamCreate)
  PPOPT_COMPARE(DriverApi, streamDestroy, cuStreamDestroy_v2)
  PPOPT_COMPARE(DriverApi, streamSynchronize, cuStreamSynchronize)
  PPOPT_COMPARE(DriverApi, streamWaitEvent, cuStreamWaitEvent)
  PPOPT_COMPARE(DriverApi, eventCreate, cuEventCreate)
  PPOPT_COMPARE(DriverApi, eventDestroy, cuEventDestroy_v2)
  PPOPT_COMPARE(DriverApi, eventRecord, cuEventRecord)
  PPOPT_COMPARE(DriverApi, eventQuery, cuEventQuery)
  PPOPT_COMPARE(DriverApi, eventSynchronize, cuEventSynchronize)
  // A version of it is in this name, too; newer headers call that by default.
  PPOPT_COMPARE(DriverApi, eventElapsedTime, cuEventElapsedTime)
  PPOPT_COMPARE(DriverApi, moduleLoadData, cuModuleLoadDataEx)
  PPOPT_COMPARE(DriverApi, moduleUnload, cuModuleUnload)
  PPOPT_COMPARE(DriverApi, moduleGetFunction, cuModuleGetFunction)
  PPOPT_COMPARE(DriverApi, functionSetAttribute, cuFuncSetAttribute)
  PPOPT_COMPARE(DriverApi, launchKernel, cuLaunchKernel)
  PPOPT_COMPARE(DriverApi, streamBeginCapture, cuStreamBeginCapture_v2)
  PPOPT_COMPARE(DriverApi, streamEndCapture, cuStreamEndCapture)
  PPOPT_COMPARE(DriverApi, graphInstantiate, cuGraphInstantiateWithFlags)
  PPOPT_COMPARE(DriverApi, graphLaunch, cuGraphLaunch)
  PPOPT_COMPARE(DriverApi, graphExecDestroy, cuGraphExecDestroy)
  PPOPT_COMPARE(DriverApi, graphDestroy, cuGraphDestroy)
#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  EXPECT_TRUE(compared.count(SYMBOL)) << SYMBOL;
  PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION

  static_assert(sizeof(Uuid) == sizeof(CUuuid));
  PPOPT_EQUAL(DriverResult::success, CUDA_SUCCESS);
  PPOPT_EQUAL(DriverResult::invalidValue, CUDA_ERROR_INVALID_VALUE);
  PPOPT_EQUAL(DriverResult::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  PPOPT_EQUAL(DriverResult::notInitialized, CUDA_ERROR_NOT_INITIALIZED);
  PPOPT_EQUAL(DriverResult::noDevice, CUDA_ERROR_NO_DEVICE);
  PPOPT_EQUAL(DriverResult::invalidImage, CUDA_ERROR_INVALID_IMAGE);
  PPOPT_EQUAL(DriverResult::invalidContext, CUDA_ERROR_INVALID_CONTEXT);
  PPOPT_EQUAL(DriverResult::noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  PPOPT_EQUAL(DriverResult::invalidPtx, CUDA_ERROR_INVALID_PTX);
  PPOPT_EQUAL(DriverResult::unsupportedPtxVersion,
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  PPOPT_EQUAL(DriverResult::invalidHandle, CUDA_ERROR_INVALID_HANDLE);
  PPOPT_EQUAL(DriverResult::notFound, CUDA_ERROR_NOT_FOUND);
  PPOPT_EQUAL(DriverResult::notReady, CUDA_ERROR_NOT_READY);
  PPOPT_EQUAL(DriverResult::illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  PPOPT_EQUAL(DriverResult::systemDriverMismatch,
              CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  PPOPT_EQUAL(DriverResult::captureUnsupported,
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  PPOPT_EQUAL(DriverResult::captureInvalidated,
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  PPOPT_EQUAL(DriverResult::captureUnjoined,
              CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  PPOPT_EQUAL(DriverResult::captureIsolation,
              CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  PPOPT_EQUAL(DeviceAttribute::multiprocessors,
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  PPOPT_EQUAL(DeviceAttribute::computeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  PPOPT_EQUAL(DeviceAttribute::capabilityMajor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  PPOPT_EQUAL(DeviceAttribute::capabilityMinor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  PPOPT_EQUAL(DeviceAttribute::sharedBytesPerBlock,
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  PPOPT_EQUAL(FunctionAttribute::maxDynamicSharedBytes,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  PPOPT_EQUAL(JitOption::errorLog, CU_JIT_ERROR_LOG_BUFFER);
  PPOPT_EQUAL(JitOption::errorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  PPOPT_EQUAL(CaptureMode::threadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  PPOPT_EQUAL(streamNonBlocking, CU_STREAM_NON_BLOCKING);
  PPOPT_EQUAL(eventDefault, CU_EVENT_DEFAULT);
  PPOPT_EQUAL(eventDisableTiming, CU_EVENT_DISABLE_TIMING);
#else
  GTEST_SKIP() << "the build found no cuda.h" PPOPT_OF_CUDA;
#endif
}

TEST(Api, CublasLt) {
#ifdef PPOPT_HAS_CUBLASLT
  std::set<std::string> compared;
  PPOPT_COMPARE(CublasLtApi, create, cublasLtCreate)
  PPOPT_COMPARE(CublasLtApi, destroy, cublasLtDestroy)
  PPOPT_COMPARE(CublasLtApi, descCreate, cublasLtMatmulDescCreate)
  PPOPT_COMPARE(CublasLtApi, descDestroy, cublasLtMatmulDescDestroy)
  PPOPT_COMPARE(CublasLtApi, descSetAttribute, cublasLtMatmulDescSetAttribute)
  PPOPT_COMPARE(CublasLtApi, layoutCreate, cublasLtMatrixLayoutCreate)
  PPOPT_COMPARE(CublasLtApi, layoutDestroy, cublasLtMatrixLayoutDestroy)
  PPOPT_COMPARE(CublasLtApi, layoutSetAttribute,
                cublasLtMatrixLayoutSetAttribute)
  PPOPT_COMPARE(CublasLtApi, preferenceCreate, cublasLtMatmulPreferenceCreate)
  PPOPT_COMPARE(CublasLtApi, preferenceDestroy, cublasLtMatmulPreferenceDestroy)
  PPOPT_COMPARE(CublasLtApi, preferenceSetAttribute,
                cublasLtMatmulPreferenceSetAttribute)
  PPOPT_COMPARE(CublasLtApi, getHeuristic, cublasLtMatmulAlgoGetHeuristic)
  PPOPT_COMPARE(CublasLtApi, checkAlgorithm, cublasLtMatmulAlgoCheck)
  PPOPT_COMPARE(CublasLtApi, matmul, cublasLtMatmul)
#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  EXPECT_TRUE(compared.count(SYMBOL)) << SYMBOL;
  PPOPT_CUBLASLT(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  PPOPT_COMPARE(CublasLtApi, getVersion, cublasLtGetVersion)

  static_assert(sizeof(MatmulAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
  using Theirs = cublasLtMatmulHeuristicResult_t;
  static_assert(sizeof(HeuristicResult) == sizeof(Theirs));
  PPOPT_EQUAL(offsetof(HeuristicResult, workspaceBytes),
              offsetof(Theirs, workspaceSize));
  PPOPT_EQUAL(offsetof(HeuristicResult, state), offsetof(Theirs, state));
  PPOPT_EQUAL(offsetof(HeuristicResult, waves), offsetof(Theirs, wavesCount));
  PPOPT_EQUAL(BlasResult::success, CUBLAS_STATUS_SUCCESS);
  PPOPT_EQUAL(BlasResult::notInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
  PPOPT_EQUAL(BlasResult::allocFailed, CUBLAS_STATUS_ALLOC_FAILED);
  PPOPT_EQUAL(BlasResult::invalidValue, CUBLAS_STATUS_INVALID_VALUE);
  PPOPT_EQUAL(BlasResult::archMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
  PPOPT_EQUAL(BlasResult::executionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
  PPOPT_EQUAL(BlasResult::internalError, CUBLAS_STATUS_INTERNAL_ERROR);
  PPOPT_EQUAL(BlasResult::notSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  PPOPT_EQUAL(DataType::f32, CUDA_R_32F);
  PPOPT_EQUAL(DataType::f64, CUDA_R_64F);
  PPOPT_EQUAL(DataType::bf16, CUDA_R_16BF);
  PPOPT_EQUAL(ComputeType::f32, CUBLAS_COMPUTE_32F);
  PPOPT_EQUAL(ComputeType::f64, CUBLAS_COMPUTE_64F);
  PPOPT_EQUAL(Transpose::no, CUBLAS_OP_N);
  PPOPT_EQUAL(Transpose::yes, CUBLAS_OP_T);
  PPOPT_EQUAL(DescAttribute::transposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  PPOPT_EQUAL(DescAttribute::transposeB, CUBLASLT_MATMUL_DESC_TRANSB);
  PPOPT_EQUAL(LayoutAttribute::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  PPOPT_EQUAL(LayoutAttribute::batchStride,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  PPOPT_EQUAL(PreferenceAttribute::maxWorkspaceBytes,
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  PPOPT_EQUAL(PreferenceAttribute::reductionSchemes,
              CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  PPOPT_EQUAL(PreferenceAttribute::alignmentA,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  PPOPT_EQUAL(PreferenceAttribute::alignmentB,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  PPOPT_EQUAL(PreferenceAttribute::alignmentC,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  PPOPT_EQUAL(PreferenceAttribute::alignmentD,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  PPOPT_EQUAL(reductionInPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE);
  PPOPT_EQUAL(reductionInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  PPOPT_EQUAL(reductionInOutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
#else
  GTEST_SKIP() << "the build found no cublasLt.h" PPOPT_OF_CUDA;
#endif
}

// NCCL's headers are not of a version of CUDA.
#ifndef PPOPT_CUDA_MAJOR
TEST(Api, Nccl) {
#ifdef PPOPT_HAS_NCCL
  std::set<std::string> compared;
  PPOPT_COMPARE(NcclApi, getVersion, ncclGetVersion)
  PPOPT_COMPARE(NcclApi, getUniqueId, ncclGetUniqueId)
  PPOPT_COMPARE(NcclApi, commInitRank, ncclCommInitRank)
  PPOPT_COMPARE(NcclApi, commDestroy, ncclCommDestroy)
  PPOPT_COMPARE(NcclApi, commAbort, ncclCommAbort)
  PPOPT_COMPARE(NcclApi, commGetAsyncError, ncclCommGetAsyncError)
  PPOPT_COMPARE(NcclApi, allReduce, ncclAllReduce)
  PPOPT_COMPARE(NcclApi, reduceScatter, ncclReduceScatter)
  PPOPT_COMPARE(NcclApi, allGather, ncclAllGather)
  PPOPT_COMPARE(NcclApi, send, ncclSend)
  PPOPT_COMPARE(NcclApi, receive, ncclRecv)
  PPOPT_COMPARE(NcclApi, groupStart, ncclGroupStart)
  PPOPT_COMPARE(NcclApi, groupEnd, ncclGroupEnd)
#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  EXPECT_TRUE(compared.count(SYMBOL)) << SYMBOL;
  PPOPT_NCCL(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  PPOPT_COMPARE(NcclApi, getErrorString, ncclGetErrorString)
  PPOPT_COMPARE(NcclApi, getLastError, ncclGetLastError)

  static_assert(sizeof(CommunicatorId) == NCCL_UNIQUE_ID_BYTES);
  PPOPT_EQUAL(NcclResult::success, ncclSuccess);
  PPOPT_EQUAL(NcclResult::unhandledCudaError, ncclUnhandledCudaError);
  PPOPT_EQUAL(NcclResult::systemError, ncclSystemError);
  PPOPT_EQUAL(NcclResult::internalError, ncclInternalError);
  PPOPT_EQUAL(NcclResult::invalidArgument, ncclInvalidArgument);
  PPOPT_EQUAL(NcclResult::invalidUsage, ncclInvalidUsage);
  PPOPT_EQUAL(NcclResult::remoteError, ncclRemoteError);
  PPOPT_EQUAL(NcclResult::inProgress, ncclInProgress);
  PPOPT_EQUAL(NcclType::bytes, ncclInt8);
  PPOPT_EQUAL(NcclType::i32, ncclInt32);
  PPOPT_EQUAL(NcclType::i64, ncclInt64);
  PPOPT_EQUAL(NcclType::f32, ncclFloat32);
  PPOPT_EQUAL(NcclType::f64, ncclFloat64);
  PPOPT_EQUAL(NcclType::bf16, ncclBfloat16);
  PPOPT_EQUAL(NcclReduction::sum, ncclSum);
  PPOPT_EQUAL(NcclReduction::max, ncclMax);
#else
  GTEST_SKIP() << "the build found no nccl.h and cuda_runtime.h";
#endif
}
#endif

} // namespace
