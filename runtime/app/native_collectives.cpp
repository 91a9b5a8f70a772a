//===- native_collectives.cpp - What --collectives=mpi cannot do ----------===//

#include "app/native_collectives.h"

#include "base/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace ppopt::train {
namespace {

/// Returns the nouns of the collectives that are no all-reduces.
std::set<std::string> listOthers(const runtime::Program &program) {
  std::set<std::string> nouns;
  for (const runtime::Place &place : program.places)
    for (const auto *list : place.lists())
      for (const runtime::Action &action : *list)
        if (action.startsCollective() &&
            action.collective() != geometry::Collective::AllReduce)
          nouns.insert(geometry::nounOf(action.collective()));
  for (const runtime::TaskCollective &collective : program.collectives)
    if (collective.op != geometry::Collective::AllReduce)
      nouns.insert(geometry::nounOf(collective.op));
  return nouns;
}

/// Returns the axes of more than one rank that split the batch.
std::vector<std::string> listBatchAxes(const runtime::Plan &plan) {
  std::vector<std::string> axes;
  for (const geometry::Axis &axis : plan.getMesh())
    if (axis.size > 1 && geometry::useOf(axis.name) == geometry::AxisUse::Batch)
      axes.push_back(axis.name);
  return axes;
}

} // namespace

void checkNativeCollectives(const runtime::Program &program,
                            const Options &options) {
  if (options.collectives != comm::Collectives::Native)
    return;
  std::set<std::string> others = listOthers(program);
  if (others.empty())
    return;
  std::vector<std::string> wayOut, axes = listBatchAxes(program.plan);
  if (program.plan.zero > 0)
    wayOut.push_back("without --zero");
  if (axes.size() > 1)
    wayOut.push_back(
        fmt::format("with only one of {}", fmt::join(axes, " and ")));
  throw UsageError(
      "--collectives=mpi: does all-reduces only, and this program has {}{}: "
      "use "
      "--collectives=ring{}",
      fmt::join(others, " and "),
      program.plan.zero > 0 ? fmt::format(" (--zero {})", program.plan.zero)
                            : "",
      wayOut.empty()
          ? ""
          : fmt::format(", or compile {}", fmt::join(wayOut, " and ")));
}

} // namespace ppopt::train
