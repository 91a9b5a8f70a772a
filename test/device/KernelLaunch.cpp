//===- KernelLaunch.cpp - How a kernel of a module is launched ------------===//

#include "KernelLaunch.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace emulated;

static LaunchBuffer makeBuffer(std::string name, const Operand &operand) {
  LaunchBuffer buffer;
  buffer.name = std::move(name);
  buffer.bytes = operand.getBytes();
  buffer.elementBytes = operand.getElementBytes();
  if (operand.pitch) {
    buffer.pitch = *operand.pitch;
    buffer.columns = mlir::pp::getColumnCount(operand.type.getShape());
  }
  return buffer;
}

EmulatedLaunch emulated::makeLaunch(const KernelDescription &kernel,
                                    const KernelCode &code,
                                    ArrayRef<Bytes> inputs) {
  EmulatedLaunch launch{&code, kernel.grid, {}, {}, kernel.sharedBytes};
  for (auto [i, operand] : enumerate(kernel.arguments)) {
    LaunchBuffer &buffer = launch.arguments.emplace_back(
        makeBuffer("argument " + std::to_string(i), operand));
    if (!inputs.empty())
      buffer.initial = inputs[i];
    buffer.isInitialised = true;
    buffer.isWritten = is_contained(kernel.inplace, i);
    buffer.offset = operand.isUnaligned ? buffer.elementBytes : 0;
  }
  for (auto [i, operand] : enumerate(kernel.results)) {
    LaunchBuffer &buffer = launch.arguments.emplace_back(
        makeBuffer("result " + std::to_string(i), operand));
    buffer.isWritten = true;
    buffer.sharesBuffer = kernel.inplace[i];
  }
  return launch;
}
