//===- kernel_code.cpp - The kernels of a program on a GPU ----------------===//

#include "device/cuda/kernel_code.h"

#include "base/missing_device.h"
#include "device/cuda/library.h"

#include <array>
#include <string_view>

namespace ppopt::cuda {
namespace {

/// Returns the version of PTX text, "8.3".
std::string_view ptxVersion(std::string_view ptx) {
  constexpr std::string_view word = ".version ";
  size_t begin = ptx.find(word);
  if (begin == std::string_view::npos)
    return "?";
  begin += word.size();
  return ptx.substr(begin, ptx.find('\n', begin) - begin);
}

} // namespace

KernelCode::KernelCode(const device::DeviceCode &code,
                       const std::string &architecture, const Gpu &gpu)
    : gpu(gpu) {
  const DriverApi &driver = loadDriver();
  gpu.enter();
  DriverResult cubin = DriverResult::success;
  if (!code.cubin.empty()) {
    cubin =
        driver.moduleLoadData(&module, code.cubin.data(), 0, nullptr, nullptr);
    if (cubin == DriverResult::success) {
      origin = "kernels compiled for " + architecture;
      return;
    }
  }
  if (code.ptx.empty())
    return;
  // That the program is for another GPU is no error; what else the driver
  // refuses, such as a cubin of a later ptxas, it may still compile.
  if (cubin != DriverResult::success && cubin != DriverResult::noBinaryForGpu)
    refusal = fmt::format("the driver ({}) can't load the kernels for {}: {}",
                          driverVersion(), architecture, spell(cubin));
  std::array<char, 4096> log{};
  JitOption options[] = {JitOption::errorLog, JitOption::errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  DriverResult result =
      driver.moduleLoadData(&module, code.ptx.data(), 2, options, values);
  std::string before = refusal.empty() ? "" : refusal + "; ";
  if (result == DriverResult::unsupportedPtxVersion)
    throw runtime::MissingDevice(
        "{}the driver ({}) does not know the version of this program's PTX "
        "({}): update the driver, or compile with --gpu sm_{} where a ptxas of "
        "its version or an older one is installed",
        before, driverVersion(), ptxVersion(code.ptx), gpu.capability);
  if (result != DriverResult::success)
    check(result,
          fmt::format("{}: {}the driver can't compile the kernels{}{}",
                      gpu.describe(), before, log[0] ? ": " : "", log.data()));
  if (!refusal.empty())
    refusal += "; it compiled the program's PTX instead";
  origin = cubin == DriverResult::noBinaryForGpu
               ? fmt::format("kernels compiled by the driver (the program has "
                             "them for {} only)",
                             architecture)
               : "kernels compiled by the driver";
}

KernelCode::~KernelCode() {
  if (module)
    loadDriver().moduleUnload(module);
}

Function KernelCode::find(const std::string &name) const {
  Function function = nullptr;
  DriverResult result =
      module ? loadDriver().moduleGetFunction(&function, module, name.c_str())
             : DriverResult::notFound;
  if (result == DriverResult::notFound)
    throw runtime::Error("the program has no code for kernel {}", name);
  check(result, gpu.describe() + ": kernel " + name);
  return function;
}

} // namespace ppopt::cuda
