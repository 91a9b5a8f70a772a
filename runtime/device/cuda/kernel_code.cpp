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
  if (!code.cubin.empty()) {
    DriverResult result =
        driver.moduleLoadData(&module, code.cubin.data(), 0, nullptr, nullptr);
    if (result == DriverResult::success) {
      origin = "kernels compiled for " + architecture;
      return;
    }
    if (result != DriverResult::noBinaryForGpu)
      check(result,
            gpu.describe() + ": loading the kernels for " + architecture);
  }
  if (code.ptx.empty())
    return;
  std::array<char, 4096> log{};
  JitOption options[] = {JitOption::errorLog, JitOption::errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  DriverResult result =
      driver.moduleLoadData(&module, code.ptx.data(), 2, options, values);
  if (result == DriverResult::unsupportedPtxVersion)
    throw runtime::MissingDevice(
        "the driver ({}) does not know the version of this program's PTX ({}): "
        "update the driver, or compile with --gpu sm_{} where ptxas is "
        "installed",
        driverVersion(), ptxVersion(code.ptx), gpu.capability);
  if (result != DriverResult::success)
    check(result, fmt::format("{}: the driver can't compile the kernels: {}",
                              gpu.describe(), log.data()));
  origin = code.cubin.empty()
               ? "kernels compiled by the driver"
               : fmt::format("kernels compiled by the driver (the program has "
                             "them for {} only)",
                             architecture);
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
