//===- driver_devices.cpp - GPUs and contexts -----------------------------===//

#include "fake/driver.h"
#include "fake/graphs.h"
#include "fake/modules.h"

#include <cstring>
#include <unistd.h>
#include <utility>

namespace ppopt::cuda::fake {
namespace {

struct ErrorText {
  int code;
  const char *name, *text;
};

const ErrorText errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing "
     "stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another "
     "thread"},
};

const ErrorText *find(DriverResult result) {
  for (const ErrorText &error : errors)
    if (error.code == int(result))
      return &error;
  return nullptr;
}

FakeGpu &gpuAt(Machine &machine, DeviceNumber device) {
  if (!machine.isInitialized)
    refuse(DriverResult::notInitialized);
  if (device < 0 || size_t(device) >= machine.visible.size())
    refuse(DriverResult(101));
  return *machine.visible[device];
}

template <typename Handle, typename Object>
void removeOf(Handles<Handle, Object> &handles, const FakeContext &context) {
  for (auto each = handles.objects.begin(); each != handles.objects.end();)
    each = each->second->context == &context ? handles.objects.erase(each)
                                             : std::next(each);
}

} // namespace

DriverResult api_init(unsigned flags) {
  return callDriver(symbol_init, [&](Machine &machine) {
    if (flags != 0)
      refuse(DriverResult::invalidValue, "flags is {}, not 0", flags);
    if (machine.visible.empty())
      refuse(DriverResult::noDevice);
    machine.isInitialized = true;
  });
}

DriverResult api_driverGetVersion(int *version) {
  return callDriver(symbol_driverGetVersion, [&](Machine &machine) {
    need(version, "version");
    *version = machine.settings.driverVersion;
  });
}

DriverResult api_getErrorName(DriverResult result, const char **name) {
  const ErrorText *error = find(result);
  *name = error ? error->name : nullptr;
  return error ? DriverResult::success : DriverResult::invalidValue;
}

DriverResult api_getErrorString(DriverResult result, const char **text) {
  const ErrorText *error = find(result);
  *text = error ? error->text : nullptr;
  return error ? DriverResult::success : DriverResult::invalidValue;
}

DriverResult api_deviceGetCount(int *count) {
  return callDriver(symbol_deviceGetCount, [&](Machine &machine) {
    if (!machine.isInitialized)
      refuse(DriverResult::notInitialized);
    need(count, "count");
    *count = int(machine.visible.size());
  });
}

DriverResult api_deviceGet(DeviceNumber *device, int ordinal) {
  return callDriver(symbol_deviceGet, [&](Machine &machine) {
    need(device, "device");
    gpuAt(machine, ordinal);
    *device = ordinal;
  });
}

DriverResult api_deviceGetName(char *name, int bytes, DeviceNumber device) {
  return callDriver(symbol_deviceGetName, [&](Machine &machine) {
    const std::string &text = gpuAt(machine, device).settings.name;
    if (!name || bytes < 1)
      refuse(DriverResult::invalidValue, "no room for the name");
    name[text.copy(name, size_t(bytes) - 1)] = 0;
  });
}

DriverResult api_deviceGetUuid(Uuid *uuid, DeviceNumber device) {
  return callDriver(symbol_deviceGetUuid, [&](Machine &machine) {
    need(uuid, "uuid");
    const FakeGpu &gpu = gpuAt(machine, device);
    *uuid = gpu.uuid;
    pid_t process = getpid();
    if (machine.isPlanted(Plant::Kind::ownUuid, 1, gpu.number))
      std::memcpy(uuid->bytes, &process, sizeof process);
  });
}

DriverResult api_deviceGetAttribute(int *value, DeviceAttribute attribute,
                                    DeviceNumber device) {
  return callDriver(symbol_deviceGetAttribute, [&](Machine &machine) {
    need(value, "value");
    const GpuSettings &gpu = gpuAt(machine, device).settings;
    switch (attribute) {
    case DeviceAttribute::multiprocessors:
      *value = gpu.multiprocessors;
      return;
    case DeviceAttribute::computeMode:
      *value = 0;
      return;
    case DeviceAttribute::capabilityMajor:
      *value = gpu.major;
      return;
    case DeviceAttribute::capabilityMinor:
      *value = gpu.minor;
      return;
    case DeviceAttribute::sharedBytesPerBlock:
      *value = gpu.mostSharedBytes();
      return;
    }
    refuse(DriverResult::invalidValue, "attribute {} is none that is here",
           int(attribute));
  });
}

// A context's handle is its address: it is never destroyed.
DriverResult api_primaryContextRetain(cuda::Context *context,
                                      DeviceNumber device) {
  return callDriver(symbol_primaryContextRetain, [&](Machine &machine) {
    need(context, "context");
    FakeGpu &gpu = gpuAt(machine, device);
    if (!gpu.context) {
      machine.contexts.push_back(std::make_unique<FakeContext>());
      gpu.context = machine.contexts.back().get();
      gpu.context->gpu = &gpu;
    }
    ++gpu.retained;
    *context = reinterpret_cast<cuda::Context>(gpu.context);
  });
}

DriverResult api_primaryContextRelease(DeviceNumber device) {
  return callDriver(symbol_primaryContextRelease, [&](Machine &machine) {
    FakeGpu &gpu = gpuAt(machine, device);
    if (gpu.retained == 0)
      refuse(DriverResult::invalidContext, "the context of GPU {} is not held",
             gpu.number);
    if (--gpu.retained > 0)
      return;
    FakeContext &context = *std::exchange(gpu.context, nullptr);
    context.isReleased = true;
    removeOf(machine.functions, context);
    removeOf(machine.modules, context);
    removeOf(machine.events, context);
    removeOf(machine.streams, context);
    context.memory.clear();
    machine.notify();
  });
}

DriverResult api_contextSetCurrent(cuda::Context context) {
  return callDriver(symbol_contextSetCurrent, [&](Machine &machine) {
    if (!machine.isInitialized)
      refuse(DriverResult::notInitialized);
    auto *wanted = reinterpret_cast<FakeContext *>(context);
    for (const auto &each : machine.contexts)
      if (each.get() == wanted && !each->isReleased) {
        currentContext() = wanted;
        return;
      }
    if (context)
      refuse(DriverResult::invalidContext,
             "{} is no context, or one that was released",
             static_cast<const void *>(context));
    currentContext() = nullptr;
  });
}

} // namespace ppopt::cuda::fake
