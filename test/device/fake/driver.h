//===- driver.h - The functions of the fake driver ------------------------===//
//
// driver_api.h lists them; a definition of NAME here is `api_NAME`, and the
// library has it under the driver's symbol.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_DRIVER_H
#define PPOPT_TEST_DEVICE_FAKE_DRIVER_H

#include "fake/machine.h"

namespace ppopt::cuda::fake {

#define PPOPT_FUNCTION(NAME, SYMBOL, ...)                                      \
  extern "C" PPOPT_FAKE_EXPORT DriverResult api_##NAME(__VA_ARGS__) __asm__(   \
      SYMBOL);                                                                 \
  inline constexpr const char *symbol_##NAME = SYMBOL;
PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION

/// Runs the body of a call of the driver.
template <typename Body>
DriverResult callDriver(const char *symbol, const Body &body) {
  return DriverResult(
      Machine::get().call(symbol, [&] { body(Machine::get()); }));
}

/// Refuses a null pointer.
inline void need(const void *pointer, const char *what) {
  if (!pointer)
    refuse(DriverResult::invalidValue, "{} is null", what);
}

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_DRIVER_H
