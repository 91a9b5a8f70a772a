//===- driver_api.h - What we call of NVIDIA's driver ---------------------===//
//
// The driver is a library of the machine, libcuda.so.1, which is loaded when a
// program for GPUs starts. These are our own declarations of its ABI, so that
// building needs no toolkit. Handles are opaque pointers, device memory and
// devices are integers. Source: the CUDA Driver API reference, version 13.0;
// all of it exists since version 12.0.
//
// test/device/fake/api_test.cpp compares them with cuda.h where it is found.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_DRIVER_API_H
#define PPOPT_RUNTIME_DEVICE_CUDA_DRIVER_API_H

#include <cstddef>
#include <cstdint>

namespace ppopt::cuda {

struct ContextHandle;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct EventHandle;
struct GraphHandle;
struct GraphExecHandle;
using Context = ContextHandle *;
using Module = ModuleHandle *;
using Function = FunctionHandle *;
using Stream = StreamHandle *;
using Event = EventHandle *;
using Graph = GraphHandle *;
using GraphExec = GraphExecHandle *;

using DeviceNumber = int;
using DeviceMemory = unsigned long long;

/// Sixteen bytes that name a GPU, or a slice of one.
struct Uuid {
  char bytes[16];
};

enum class DriverResult : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  noDevice = 100,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  systemDriverMismatch = 803,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureUnjoined = 904,
  captureIsolation = 905,
};

enum class DeviceAttribute : int {
  multiprocessors = 16,
  computeMode = 20,
  capabilityMajor = 75,
  capabilityMinor = 76,
  sharedBytesPerBlock = 97, ///< at most, if a kernel asks for it
};

enum class FunctionAttribute : int { maxDynamicSharedBytes = 8 };

/// Of moduleLoadData: where to write messages, and how many bytes.
enum class JitOption : int { errorLog = 5, errorLogBytes = 6 };

enum class CaptureMode : int { threadLocal = 1 };

/// Of streamCreate: not ordered with the default stream.
inline constexpr unsigned streamNonBlocking = 1;
/// Of eventCreate: without a time, which is cheaper.
inline constexpr unsigned eventDefault = 0, eventDisableTiming = 2;

// PPOPT_FUNCTION(NAME, "SYMBOL", PARAMETERS...)
#define PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)                                      \
  PPOPT_FUNCTION(init, "cuInit", unsigned flags)                               \
  PPOPT_FUNCTION(driverGetVersion, "cuDriverGetVersion", int *version)         \
  PPOPT_FUNCTION(getErrorName, "cuGetErrorName", DriverResult result,          \
                 const char **name)                                            \
  PPOPT_FUNCTION(getErrorString, "cuGetErrorString", DriverResult result,      \
                 const char **text)                                            \
  PPOPT_FUNCTION(deviceGetCount, "cuDeviceGetCount", int *count)               \
  PPOPT_FUNCTION(deviceGet, "cuDeviceGet", DeviceNumber *device, int ordinal)  \
  PPOPT_FUNCTION(deviceGetName, "cuDeviceGetName", char *name, int bytes,      \
                 DeviceNumber device)                                          \
  PPOPT_FUNCTION(deviceGetUuid, "cuDeviceGetUuid_v2", Uuid *uuid,              \
                 DeviceNumber device)                                          \
  PPOPT_FUNCTION(deviceGetAttribute, "cuDeviceGetAttribute", int *value,       \
                 DeviceAttribute attribute, DeviceNumber device)               \
  PPOPT_FUNCTION(primaryContextRetain, "cuDevicePrimaryCtxRetain",             \
                 Context *context, DeviceNumber device)                        \
  PPOPT_FUNCTION(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2",        \
                 DeviceNumber device)                                          \
  PPOPT_FUNCTION(contextSetCurrent, "cuCtxSetCurrent", Context context)        \
  PPOPT_FUNCTION(memGetInfo, "cuMemGetInfo_v2", size_t *freeBytes,             \
                 size_t *totalBytes)                                           \
  PPOPT_FUNCTION(memAlloc, "cuMemAlloc_v2", DeviceMemory *memory,              \
                 size_t bytes)                                                 \
  PPOPT_FUNCTION(memFree, "cuMemFree_v2", DeviceMemory memory)                 \
  PPOPT_FUNCTION(memAllocHost, "cuMemAllocHost_v2", void **memory,             \
                 size_t bytes)                                                 \
  PPOPT_FUNCTION(memFreeHost, "cuMemFreeHost", void *memory)                   \
  PPOPT_FUNCTION(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", DeviceMemory to,     \
                 const void *from, size_t bytes, Stream stream)                \
  PPOPT_FUNCTION(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void *to,            \
                 DeviceMemory from, size_t bytes, Stream stream)               \
  PPOPT_FUNCTION(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", DeviceMemory to,     \
                 DeviceMemory from, size_t bytes, Stream stream)               \
  PPOPT_FUNCTION(memsetD8Async, "cuMemsetD8Async", DeviceMemory to,            \
                 unsigned char value, size_t bytes, Stream stream)             \
  PPOPT_FUNCTION(streamCreate, "cuStreamCreate", Stream *stream,               \
                 unsigned flags)                                               \
  PPOPT_FUNCTION(streamDestroy, "cuStreamDestroy_v2", Stream stream)           \
  PPOPT_FUNCTION(streamSynchronize, "cuStreamSynchronize", Stream stream)      \
  PPOPT_FUNCTION(streamWaitEvent, "cuStreamWaitEvent", Stream stream,          \
                 Event event, unsigned flags)                                  \
  PPOPT_FUNCTION(eventCreate, "cuEventCreate", Event *event, unsigned flags)   \
  PPOPT_FUNCTION(eventDestroy, "cuEventDestroy_v2", Event event)               \
  PPOPT_FUNCTION(eventRecord, "cuEventRecord", Event event, Stream stream)     \
  PPOPT_FUNCTION(eventQuery, "cuEventQuery", Event event)                      \
  PPOPT_FUNCTION(eventSynchronize, "cuEventSynchronize", Event event)          \
  PPOPT_FUNCTION(eventElapsedTime, "cuEventElapsedTime", float *milliseconds,  \
                 Event begin, Event end)                                       \
  PPOPT_FUNCTION(moduleLoadData, "cuModuleLoadDataEx", Module *module,         \
                 const void *image, unsigned optionCount, JitOption *options,  \
                 void **values)                                                \
  PPOPT_FUNCTION(moduleUnload, "cuModuleUnload", Module module)                \
  PPOPT_FUNCTION(moduleGetFunction, "cuModuleGetFunction", Function *function, \
                 Module module, const char *name)                              \
  PPOPT_FUNCTION(functionSetAttribute, "cuFuncSetAttribute",                   \
                 Function function, FunctionAttribute attribute, int value)    \
  PPOPT_FUNCTION(launchKernel, "cuLaunchKernel", Function function,            \
                 unsigned gridX, unsigned gridY, unsigned gridZ,               \
                 unsigned blockX, unsigned blockY, unsigned blockZ,            \
                 unsigned sharedBytes, Stream stream, void **parameters,       \
                 void **extra)                                                 \
  PPOPT_FUNCTION(streamBeginCapture, "cuStreamBeginCapture_v2", Stream stream, \
                 CaptureMode mode)                                             \
  PPOPT_FUNCTION(streamEndCapture, "cuStreamEndCapture", Stream stream,        \
                 Graph *graph)                                                 \
  PPOPT_FUNCTION(graphInstantiate, "cuGraphInstantiateWithFlags",              \
                 GraphExec *exec, Graph graph, unsigned long long flags)       \
  PPOPT_FUNCTION(graphLaunch, "cuGraphLaunch", GraphExec exec, Stream stream)  \
  PPOPT_FUNCTION(graphExecDestroy, "cuGraphExecDestroy", GraphExec exec)       \
  PPOPT_FUNCTION(graphDestroy, "cuGraphDestroy", Graph graph)

/// The driver's functions.
struct DriverApi {
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) DriverResult (*NAME)(__VA_ARGS__);
  PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_DRIVER_API_H
