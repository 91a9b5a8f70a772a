//===- Intrinsics.h - Intrinsics that device code may call ----------------===//

#ifndef PPOPT_TEST_DEVICE_INTRINSICS_H
#define PPOPT_TEST_DEVICE_INTRINSICS_H

#include <string>

namespace emulated {

struct Lane;

struct DeviceIntrinsic {
  const char *name;
  /// A C function of the intrinsic's type, or null.
  void *direct;
  /// Else: takes the operands in Lane::in, one in each, and leaves the result,
  /// or the elements of a structure, in Lane::out.
  void (*packed)(Lane &lane);
  bool isWithOthers = true; ///< of those that are packed: threads wait
};

/// Returns null if the emulated device has no intrinsic of this name.
const DeviceIntrinsic *findIntrinsic(const std::string &name);

/// Returns whether an intrinsic of LLVM means the same for every target, and
/// every target has it.
bool isOfEveryTarget(const std::string &name);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_INTRINSICS_H
