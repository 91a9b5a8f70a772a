//===- usage_error.h - A command line that cannot be meant ------*- C++ -*-===//

#ifndef PPOPT_TRAIN_USAGE_ERROR_H
#define PPOPT_TRAIN_USAGE_ERROR_H

#include "core/error.h"

namespace ppopt::train {

using runtime::Error;

/// A command line that cannot be meant; the executable exits with status 2.
class UsageError : public Error {
public:
  using Error::Error;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_USAGE_ERROR_H
