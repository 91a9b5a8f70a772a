//===- emulator.cpp - Runs kernels for the fake driver --------------------===//

#include "fake/emulator.h"

#include "Device.h"
#include "DeviceCode.h"

#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace llvm;
using namespace ppopt::cuda::fake;

struct DeviceProgram::Code {
  emulated::DeviceCode code;
};

DeviceProgram::DeviceProgram(const std::string &path, bool checksAll,
                             const std::string &objects, std::string &error)
    : checksAll(checksAll) {
  auto text = MemoryBuffer::getFile(path);
  if (!text) {
    error = "can't read '" + path + "': " + text.getError().message();
    return;
  }
  auto loaded = emulated::DeviceCode::read(
      **text, checksAll ? emulated::Checks::All : emulated::Checks::Bounds,
      objects);
  if (!loaded) {
    error = "'" + path + "': " + toString(loaded.takeError());
    return;
  }
  code.reset(new Code{std::move(*loaded)});
  for (const emulated::KernelCode &kernel : code->code.kernels) {
    KernelInfo &info = infos.emplace_back();
    info.name = kernel.name;
    info.threads = kernel.threads;
    info.arguments = kernel.arguments;
    for (const emulated::Variable &variable : kernel.variables)
      if (variable.kind == emulated::Region::Kind::Shared)
        info.sharedBytes += variable.bytes;
  }
}

DeviceProgram::~DeviceProgram() = default;

static emulated::Region makeRegion(const emulated::Variable &variable,
                                   const KernelRun &run, bool hasShadow) {
  emulated::Region region;
  region.kind = variable.kind;
  region.name = variable.name;
  region.begin = variable.address;
  region.bytes = variable.bytes ? variable.bytes : run.sharedBytes;
  region.isWritten = variable.kind == emulated::Region::Kind::Shared;
  region.isInitialised = !region.isWritten;
  region.hasShadow = hasShadow;
  return region;
}

std::string DeviceProgram::run(const KernelRun &run) {
  emulated::KernelCode &kernel = code->code.kernels[run.kernel];
  if (Error error = code->code.compile(&kernel))
    return toString(std::move(error));
  emulated::Device &device = emulated::theDevice();
  device.memory.clear(*kernel.sites);
  for (const MemoryRange &range : run.memory) {
    emulated::Region region;
    region.name = range.name;
    region.begin = reinterpret_cast<uint64_t>(range.begin);
    region.bytes = range.bytes;
    region.elementBytes = kernel.elementBytes;
    region.isWritten = region.isInitialised = true;
    region.hasShadow = checksAll;
    device.memory.add(std::move(region));
  }
  for (const emulated::Variable &variable : kernel.variables)
    device.memory.add(makeRegion(variable, run, checksAll));
  emulated::Launch launch;
  launch.kernel = kernel.name;
  launch.grid = run.grid;
  launch.threads = kernel.threads;
  launch.thread = kernel.thread;
  launch.arguments = const_cast<void **>(run.arguments.data());
  launch.isAlone = kernel.isAlone;
  launch.sites = kernel.sites;
  launch.seed = run.seed;
  launch.order = checksAll      ? emulated::Order::Random
                 : run.seed % 2 ? emulated::Order::Backward
                                : emulated::Order::Forward;
  return device.run(launch);
}
