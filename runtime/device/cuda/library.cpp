//===- library.cpp - NVIDIA's libraries, loaded when a program starts -----===//

#include "device/cuda/library.h"

#include "base/missing_device.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace ppopt::cuda {
namespace {

using runtime::Error;
using runtime::MissingDevice;

constexpr int oldestDriver = 12000; ///< what all functions exist since

/// A library of the machine. It stays loaded: its threads may outlive us.
class Library {
public:
  /// Tries names, then paths, in their order. `missing` receives why none of
  /// them can be loaded.
  Library(const std::vector<std::string> &candidates, std::string &missing) {
    for (const std::string &each : candidates) {
      handle = ::dlopen(each.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) {
        name = each;
        return;
      }
      const char *why = ::dlerror();
      missing += (missing.empty() ? "" : "; ") + std::string(why ? why : each);
    }
  }

  /// Whether it is loaded.
  explicit operator bool() const { return handle; }

  template <typename F> void find(F &function, const char *symbol) const {
    function = reinterpret_cast<F>(::dlsym(handle, symbol));
    if (!function)
      throw MissingDevice("{} has no {}: it is too old for this program; "
                          "update it",
                          name, symbol);
  }

private:
  void *handle = nullptr;
  std::string name;
};

/// Where a library of the toolkit or of Python's wheels is, besides where the
/// loader looks.
std::vector<std::string> candidates(const std::string &name) {
  std::vector<std::string> found = {name};
  if (const char *root = std::getenv("CUDA_HOME"); root && *root)
    for (const char *folder : {"/lib64/", "/lib/"})
      found.push_back(root + (folder + name));
  found.push_back("/usr/local/cuda/lib64/" + name);
  return found;
}

std::string spell(const DriverApi &api, DriverResult result) {
  const char *name = nullptr, *text = nullptr;
  api.getErrorName(result, &name);
  api.getErrorString(result, &text);
  return fmt::format("{} ({})", text ? text : "an unknown error",
                     name ? name : std::to_string(int(result)));
}

DriverApi openDriver() {
  std::string missing;
  Library library({"libcuda.so.1"}, missing);
  if (!library)
    throw MissingDevice("this program was compiled for GPUs, and the driver's "
                        "library libcuda.so.1 can't be loaded; install "
                        "NVIDIA's driver, or set LD_LIBRARY_PATH to its folder "
                        "({})",
                        missing);
  DriverApi api;
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) library.find(api.NAME, SYMBOL);
  PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  DriverResult result = api.init(0);
  if (result == DriverResult::noDevice)
    throw MissingDevice("this program was compiled for GPUs, and the driver "
                        "finds none (CUDA_VISIBLE_DEVICES is {})",
                        std::getenv("CUDA_VISIBLE_DEVICES")
                            ? std::getenv("CUDA_VISIBLE_DEVICES")
                            : "not set");
  if (result != DriverResult::success)
    throw MissingDevice("the driver of the GPUs can't start: {}",
                        spell(api, result));
  int version = 0;
  api.driverGetVersion(&version);
  if (version < oldestDriver)
    throw MissingDevice("the driver of the GPUs supports CUDA {}.{}, and this "
                        "program needs {}.0: update the driver",
                        version / 1000, version % 1000 / 10,
                        oldestDriver / 1000);
  return api;
}

CublasLt openCublasLt(int major) {
  CublasLt opened;
  opened.name = fmt::format("libcublasLt.so.{}", major);
  Library library(candidates(opened.name), opened.missing);
  if (!library)
    return opened;
  CublasLtApi &api = opened.api.emplace();
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) library.find(api.NAME, SYMBOL);
  PPOPT_CUBLASLT(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  library.find(api.getVersion, "cublasLtGetVersion");
  return opened;
}

NcclApi openNccl() {
  std::string missing;
  Library library(candidates("libnccl.so.2"), missing);
  if (!library)
    throw MissingDevice(
        "the ranks of this program exchange data by NCCL, and libnccl.so.2 "
        "can't be loaded; install the package libnccl2 or the wheel "
        "nvidia-nccl, and set CUDA_HOME or LD_LIBRARY_PATH to its folder, or "
        "let data pass through the host with --collectives=ring ({})",
        missing);
  NcclApi api;
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) library.find(api.NAME, SYMBOL);
  PPOPT_NCCL(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  library.find(api.getErrorString, "ncclGetErrorString");
  library.find(api.getLastError, "ncclGetLastError");
  return api;
}

const char *nameOf(BlasResult result) {
  switch (result) {
  case BlasResult::success:
    return "success";
  case BlasResult::notInitialized:
    return "not initialized";
  case BlasResult::allocFailed:
    return "out of memory";
  case BlasResult::invalidValue:
    return "invalid value";
  case BlasResult::archMismatch:
    return "the GPU is not supported";
  case BlasResult::executionFailed:
    return "execution failed";
  case BlasResult::internalError:
    return "internal error";
  case BlasResult::notSupported:
    return "not supported";
  }
  return "an unknown error";
}

} // namespace

const DriverApi &loadDriver() {
  static const DriverApi api = openDriver();
  return api;
}

int driverVersionNumber() {
  int version = 0;
  loadDriver().driverGetVersion(&version);
  return version;
}

std::string driverVersion() {
  int version = driverVersionNumber();
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

const CublasLt &loadCublasLt(int major) {
  if (major == 12) {
    static const CublasLt twelve = openCublasLt(12);
    return twelve;
  }
  static const CublasLt thirteen = openCublasLt(13);
  return thirteen;
}

const NcclApi &loadNccl() {
  static const NcclApi api = openNccl();
  return api;
}

std::string spell(DriverResult result) { return spell(loadDriver(), result); }

void check(DriverResult result, const std::string &what) {
  if (result != DriverResult::success)
    throw Error("{}: {}", what, spell(result));
}

std::string spell(BlasResult result) {
  return fmt::format("{} ({})", nameOf(result), int(result));
}

void check(BlasResult result, const std::string &what) {
  if (result != BlasResult::success)
    throw Error("{}: cuBLASLt: {}", what, spell(result));
}

} // namespace ppopt::cuda
