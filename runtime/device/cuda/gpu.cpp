//===- gpu.cpp - The GPU of a rank ----------------------------------------===//

#include "device/cuda/gpu.h"

#include "base/missing_device.h"
#include "device/cuda/library.h"

namespace ppopt::cuda {
namespace {

constexpr int oldestCapability = 80; ///< of the PTX

} // namespace

std::vector<std::string> identifyGpus() {
  const DriverApi &driver = loadDriver();
  int count = 0;
  check(driver.deviceGetCount(&count), "counting the GPUs");
  if (count == 0)
    throw runtime::MissingDevice(
        "this program was compiled for GPUs, and the driver finds none");
  std::vector<std::string> identities;
  for (int number = 0; number < count; ++number) {
    DeviceNumber device = 0;
    check(driver.deviceGet(&device, number), "opening a GPU");
    Uuid uuid{};
    check(driver.deviceGetUuid(&uuid, device), "the UUID of a GPU");
    std::string text;
    for (unsigned char byte : uuid.bytes)
      text += fmt::format("{:02x}", byte);
    for (size_t dash : {8, 13, 18, 23}) // as nvidia-smi prints it
      text.insert(dash, "-");
    identities.push_back(std::move(text));
  }
  return identities;
}

Gpu::Gpu(const device::GpuChoice &choice)
    : number(choice.number), ranks(choice.ranks) {
  const DriverApi &driver = loadDriver();
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
