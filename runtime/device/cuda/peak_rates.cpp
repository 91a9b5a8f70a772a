//===- peak_rates.cpp - What NVIDIA says its GPUs reach at most -----------===//

#include "device/cuda/peak_rates.h"

namespace ppopt::cuda {
namespace {

/// In TFLOP/s and GB/s.
struct DataSheet {
  const char *name;
  double bf16, f32, f64, bytes;
};

// From the data sheets of these GPUs. Of names that begin alike the longer is
// first.
constexpr DataSheet sheets[] = {
    {"NVIDIA A100-SXM4-40GB", 312, 19.5, 19.5, 1555},
    {"NVIDIA A100-PCIE-40GB", 312, 19.5, 19.5, 1555},
    {"NVIDIA A100-SXM4-80GB", 312, 19.5, 19.5, 2039},
    {"NVIDIA A100 80GB PCIe", 312, 19.5, 19.5, 1935},
    {"NVIDIA H100 PCIe", 756, 51, 51, 2000},
    {"NVIDIA H100 NVL", 835, 60, 60, 3900},
    {"NVIDIA H100 80GB HBM3", 989, 67, 67, 3350},
    {"NVIDIA H200 NVL", 835, 60, 60, 4800},
    {"NVIDIA H200", 989, 67, 67, 4800},
};

} // namespace

device::PeakRates findPeakRates(const std::string &gpu) {
  device::PeakRates rates;
  if (gpu.find("MIG") != std::string::npos)
    return rates;
  for (const DataSheet &sheet : sheets) {
    if (gpu.rfind(sheet.name, 0) != 0)
      continue;
    rates.flops[size_t(MatmulType::bf16)] = sheet.bf16 * 1e12;
    rates.flops[size_t(MatmulType::f32)] = sheet.f32 * 1e12;
    rates.flops[size_t(MatmulType::f64)] = sheet.f64 * 1e12;
    rates.bytes = sheet.bytes * 1e9;
    return rates;
  }
  return rates;
}

} // namespace ppopt::cuda
