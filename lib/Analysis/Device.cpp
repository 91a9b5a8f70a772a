//===- Device.cpp - The device of a module --------------------------------===//

#include "ppopt/Analysis/Device.h"

#include "DocumentAttribute.h"

#include "ppopt/Dialect/PP/DeclaredAttributes.h"
#include "program/read_device.h"
#include "schema/write.h"

using namespace mlir;
using namespace mlir::pp;
namespace schema = ::ppopt::schema;

/// Fitted for one core with AVX-512 while two are busy, to the CPU time of all
/// tasks of five GPTs (width 128 to 768, 128 to 768 tokens, vocabularies of 256
/// and 8192, two and four microbatches). They reproduce these times within 6 %
/// (test/bench). The bytes are those of tasks whose activations fit in the
/// caches, and the elements include ops that only move them. A transfer between
/// processes is a copy into and one out of shared memory.
static Device makeBuiltin() {
  Device device;
  device.name = kBuiltinDevice;
  device.model = "any";
  for (auto type : {::ppopt::MatmulType::f32, ::ppopt::MatmulType::f64,
                    ::ppopt::MatmulType::bf16}) {
    device.matmuls.push_back({type, {1}, {1}, {1}, {105}, {105}, 1});
    device.attention.push_back({type, 105, 105, 10});
    device.elements.push_back({type, 10, 10, 0, 0, 0});
  }
  device.memory.push_back({1, 70});
  schema::LinkRates link{20000, 4};
  device.localThreads = {link, link};
  device.processes = device.localThreads;
  return device;
}

const Device &pp::getBuiltinDevice() {
  static const Device device = makeBuiltin();
  return device;
}

namespace {

/// What a GPU reaches, not its peak: FLOPs, integer instructions and bytes per
/// nanosecond. docs/devices.md has the sources.
struct GpuRates {
  StringRef name, model;
  double bf16, f32, f64, integers, memory, link;
  double attention, attentionGradient; ///< in bf16
  int64_t multiprocessors;
  int64_t mebibytes; ///< of memory, as the driver reports it
};

} // namespace

/// Matmuls of a library without TF32. Peaks are 312, 19.5, 19.5 TFLOP/s and 2.0
/// TB/s of an A100 with 80 GB, 989, 67, 67 and 3.35 of an H100 with NVLink, 4.8
/// TB/s of an H200.
static constexpr GpuRates gpus[] = {
    {"a100", "NVIDIA A100 80GB", 260e3, 17e3, 17e3, 8.5e3, 1.7e3, 200, 73e3,
     55e3, 108, 81920},
    {"h100", "NVIDIA H100 SXM", 835e3, 50e3, 50e3, 12.5e3, 2.9e3, 300, 320e3,
     170e3, 132, 81559},
    {"h200", "NVIDIA H200", 835e3, 50e3, 50e3, 12.5e3, 4.0e3, 300, 320e3, 170e3,
     132, 143771},
};

/// Kernels of attention in f32 and f64 compute without tensor cores, and read
/// two operands from shared memory for three or four products: a quarter of the
/// rate of f32. The gradient computes seven matmuls for the five that are
/// counted. An element's cheap operation is one of about three instructions.
///
/// Four numbers are ten rounds of two multiplications to 64 bits and two xors
/// of three operands. A thread draws those of its neighbours together.
static constexpr double kDrawInstructions = 10;
/// Nanoseconds.
static constexpr double kTileTime = 2000;
/// The blocks of a kernel of NCCL, one for each of its channels.
static constexpr int64_t kNcclBlocks = 24;

static Device makeGpu(const GpuRates &rates) {
  Device device;
  device.name = rates.name;
  device.model = rates.model;
  device.roofline = true;
  device.multiprocessors = {{rates.multiprocessors, kTileTime, kNcclBlocks}};
  device.launch = 1500;
  for (auto [type, rate] : {std::pair(::ppopt::MatmulType::f32, rates.f32),
                            std::pair(::ppopt::MatmulType::f64, rates.f64),
                            std::pair(::ppopt::MatmulType::bf16, rates.bf16)}) {
    double scalar =
        type == ::ppopt::MatmulType::f64 ? rates.f64 / 2 : rates.f32;
    device.matmuls.push_back({type, {1}, {1}, {1}, {rate}, {rate}, 1});
    bool usesTensorCores = type == ::ppopt::MatmulType::bf16;
    double forward = usesTensorCores ? rates.attention : scalar / 4;
    double backward = usesTensorCores ? rates.attentionGradient : scalar / 4;
    device.attention.push_back({type, forward, backward, scalar / 6});
    // A division is some operations, a function of f64 some dozens.
    double operation = 3 / scalar;
    double function = type == ::ppopt::MatmulType::f64 ? 40 : 6;
    device.elements.push_back({type, 1 / operation, 1 / operation, operation,
                               4 * operation, function * operation,
                               kDrawInstructions / rates.integers});
  }
  device.memory.push_back({1, rates.memory});
  schema::LinkRates link{10000, rates.link};
  device.localThreads = {link, link};
  device.processes = device.localThreads;
  return device;
}

ArrayRef<Device> pp::getGpuDevices() {
  static const std::vector<Device> devices = [] {
    std::vector<Device> made;
    for (const GpuRates &rates : gpus)
      made.push_back(makeGpu(rates));
    return made;
  }();
  return devices;
}

const Device *pp::findGpu(StringRef name) {
  const auto *found = llvm::find_if(getGpuDevices(), [&](const Device &device) {
    return device.name == name;
  });
  return found == getGpuDevices().end() ? nullptr : found;
}

std::optional<int64_t> pp::getGpuMemory(StringRef name) {
  for (const GpuRates &rates : gpus)
    if (rates.name == name)
      return rates.mebibytes << 20;
  return std::nullopt;
}

Device pp::shareDevice(const Device &device, int64_t ranks) {
  Device shared = device;
  if (ranks > 1 && device.busy)
    static_cast<schema::ComputeRates &>(shared) = *device.busy;
  shared.busy.reset();
  return shared;
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

void pp::setDevice(ModuleOp module, const Device &device) {
  module->removeAttr(kDeviceAttr);
  if (device.name != kBuiltinDevice)
    module->setAttr(kDeviceAttr, parseDocument(schema::writeDevice(device),
                                               module.getContext()));
}

std::optional<Device> pp::readDevice(StringRef json, std::string &error) {
  return ::ppopt::runtime::readDevice(json, error);
}

Device pp::getDevice(Operation *op) {
  Attribute attribute = getModuleAttribute(op, kDeviceAttr);
  if (!attribute)
    return getBuiltinDevice();
  std::string error;
  if (auto device = readDevice(writeDocument(attribute), error))
    return *device;
  op->emitError(kDeviceAttr) << ": " << error;
  return getBuiltinDevice();
}
