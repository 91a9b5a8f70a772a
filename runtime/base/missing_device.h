//===- missing_device.h - The exception for a machine without a GPU -------===//

#ifndef PPOPT_RUNTIME_BASE_MISSING_DEVICE_H
#define PPOPT_RUNTIME_BASE_MISSING_DEVICE_H

#include "base/error.h"

namespace ppopt::runtime {

/// The machine lacks what the program was compiled for: a driver, a GPU, a
/// library. `main` exits with a status of its own (docs/running.md), so that
/// scripts tell it from a failure.
class MissingDevice : public Error {
public:
  using Error::Error;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_BASE_MISSING_DEVICE_H
