//===- usage_error.h - An invalid command line ----------------------------===//

#ifndef PPOPT_RUNTIME_BASE_USAGE_ERROR_H
#define PPOPT_RUNTIME_BASE_USAGE_ERROR_H

#include "base/error.h"

namespace ppopt::train {

using runtime::Error;

/// An invalid command line; the executable exits with status 2.
class UsageError : public Error {
public:
  using Error::Error;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_USAGE_ERROR_H
