//===- gpu.cpp - The GPU of a rank ----------------------------------------===//

#include "device/cuda/gpu.h"

#include "base/missing_device.h"
#include "device/cuda/library.h"

namespace ppopt::cuda {
namespace {

constexpr int oldestCapability = 80; ///< of the PTX

} // namespace

int countGpus() {
  int count = 0;
  check(loadDriver().deviceGetCount(&count), "counting the GPUs");
  if (count == 0)
    throw runtime::MissingDevice(
        "this program was compiled for GPUs, and the driver finds none");
  return count;
}

Gpu::Gpu(const device::MachineRank &rank, bool share) {
  const DriverApi &driver = loadDriver();
  int count = countGpus();
  if (rank.count > count && !share)
    throw runtime::Error(
        "{} ranks run on this machine, which has {} GPU{} for them: start one "
        "rank per GPU, or add --share-gpu to let ranks share a GPU",
        rank.count, count, count == 1 ? "" : "s");
  number = rank.index % count;
  ranks = rank.count / count + (number < rank.count % count);
  check(driver.deviceGet(&device, number), "opening a GPU");
  char text[256] = "";
  check(driver.deviceGetName(text, sizeof text, device), "the name of a GPU");
  name = text;
  auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    check(driver.deviceGetAttribute(&value, which, device),
          describe() + ": a property");
    return value;
  };
  capability = 10 * attribute(DeviceAttribute::capabilityMajor) +
               attribute(DeviceAttribute::capabilityMinor);
  multiprocessors = attribute(DeviceAttribute::multiprocessors);
  sharedBytes = attribute(DeviceAttribute::sharedBytesPerBlock);
  if (capability < oldestCapability)
    throw runtime::MissingDevice(
        "{} is an sm_{}, and this program needs sm_{} or later", describe(),
        capability, oldestCapability);
  check(driver.primaryContextRetain(&context, device),
        describe() + ": making a context");
  enter();
  size_t free = 0, total = 0;
  check(driver.memGetInfo(&free, &total), describe() + ": its memory");
  bytes = int64_t(total);
}

Gpu::~Gpu() { loadDriver().primaryContextRelease(device); }

void Gpu::enter() const {
  check(loadDriver().contextSetCurrent(context), describe());
}

int64_t Gpu::freeBytes() const {
  size_t free = 0, total = 0;
  check(loadDriver().memGetInfo(&free, &total), describe() + ": its memory");
  return int64_t(free);
}

std::string Gpu::describe() const {
  return fmt::format("GPU {} ({})", number, name);
}

} // namespace ppopt::cuda
