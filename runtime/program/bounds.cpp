//===- bounds.cpp - Whether a program's fields are within their bounds ----===//

#include "program/bounds.h"

#include <fmt/format.h>

#include <stdexcept>

namespace ppopt::runtime {

using namespace schema;

namespace {

int64_t lengthOf(List list, const Scope &scope) {
  if (!scope.program)
    throw std::logic_error("the document has none of a program's lists");
  const Program &program = *scope.program;
  switch (list) {
  case List::none:
    break;
  case List::stages:
    return int64_t(program.stages.size());
  case List::inputs:
    return int64_t(program.inputs.size());
  case List::parameters:
    return int64_t(program.parameters.size());
  case List::counts:
    return int64_t(program.counts.size());
  case List::metrics:
    return int64_t(program.metrics.size());
  case List::outputs:
    return int64_t(program.outputs.size());
  case List::checks:
    return int64_t(program.checks.size());
  case List::transfers:
    return int64_t(program.transfers.size());
  case List::tasks:
    return int64_t(program.tasks.size());
  case List::places:
    return program.plan.places();
  case List::microbatches:
    return program.plan.microbatches;
  }
  return 0;
}

} // namespace

void checkInteger(int64_t number, const Bounds &bounds, const Scope &scope,
                  const Path &path) {
  int64_t least = bounds.least, most = bounds.most;
  if (bounds.index != List::none)
    most = lengthOf(bounds.index, scope) - 1;
  if (number >= least && number <= most)
    return;
  if (most < mostBytes)
    path.fail(fmt::format("is {}, not in [{}, {}]", number, least, most));
  path.fail(number < least ? fmt::format("is {}, less than {}", number, least)
                           : fmt::format("is {}, more than {}", number, most));
}

void checkShape(const std::vector<int64_t> &shape, const Path &path) {
  int64_t elements = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(elements, size, &elements) ||
        elements > mostBytes)
      path.fail("has too many elements");
}

void checkLength(size_t length, List list, const Scope &scope,
                 const Path &path) {
  int64_t expected = lengthOf(list, scope);
  if (int64_t(length) != expected)
    path.fail(
        fmt::format("has {} elements, and there are {}", length, expected));
}

void checkAddress(const Address &address, const Bounds &bounds,
                  const Scope &scope, const Path &path) {
  if (!scope.program)
    return;
  const Place &place =
      scope.place ? *scope.place : scope.program->places.front();
  auto checkMultiple = [&](int64_t bytes, const Path &field) {
    if (bytes % bounds.alignment != 0)
      field.fail(
          fmt::format("is {}, not a multiple of {}", bytes, bounds.alignment));
  };
  auto checkEnd = [&](int64_t offset, const char *where) {
    if (bounds.bytes > place.arenaBytes ||
        offset > place.arenaBytes - bounds.bytes)
      path.fail(fmt::format("is {}{}: {} bytes there end outside the arena of "
                            "{}",
                            offset, where, bounds.bytes, place.arenaBytes));
  };
  checkMultiple(address.base, path);
  checkEnd(address.base, "");
  int64_t greatest = address.base;
  Path list = path["strides"];
  for (size_t i = 0; i < address.strides.size(); ++i) {
    const AxisStride &each = address.strides[i];
    Path element = list[i];
    checkMultiple(each.stride, element["stride"]);
    greatest += (scope.program->plan.axisSize(each.axis) - 1) * each.stride;
    checkEnd(greatest, " on the last rank");
  }
}

} // namespace ppopt::runtime
