//===- cut_parameters.cpp - What needs whole parameters -------------------===//

#include "app/cut_parameters.h"

#include "base/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ppopt::train {
namespace {

/// The flags whose code takes the copy of one rank for the whole parameter.
constexpr const char *kNeedWhole[] = {
    "--checkpoint",     "--resume",         "--init",     "--export",
    "--dump-gradients", "--check-replicas", "--generate",
};

/// Returns "tp, fsdp".
std::string listAxes(const runtime::Parameter &parameter) {
  std::vector<std::string> axes;
  for (const auto &dimension : parameter.tile->cuts)
    for (const schema::Cut &cut : dimension)
      axes.push_back(cut.axis);
  return fmt::format("{}", fmt::join(axes, ", "));
}

/// Throws UsageError if text is asked for and no rank has the whole model.
void checkGenerates(const runtime::Program &program, const Options &options) {
  auto isPart = [](const runtime::PlaceParameter &held) {
    return held.shards(schema::ShardOf::parameters);
  };
  for (const runtime::Place &place : program.places) {
    auto part =
        std::find_if(place.parameters.begin(), place.parameters.end(), isPart);
    if (options.generate > 0 && part != place.parameters.end() &&
        program.plan.isAsynchronous())
      throw UsageError(
          "--generate: compiled with --sync {}, so each rank has a part of the "
          "parameters: save a checkpoint with --checkpoint FOLDER, and "
          "generate with an executable that is compiled with --sync step, by "
          "--init FOLDER/step-...",
          spell(program.plan.sync));
    if (options.generate > 0 && part != place.parameters.end())
      throw UsageError(
          "--generate: compiled with --zero 3, so no rank has the model, but "
          "a part of parameter '{}' and others: save a checkpoint with "
          "--checkpoint FOLDER, and generate with an executable that is "
          "compiled without --zero 3, by --init FOLDER/step-...",
          program.parameters[part->parameter].name);
  }
}

} // namespace

void checkWholeParameters(const runtime::Program &program,
                          const Options &options) {
  checkGenerates(program, options);
  auto cut = std::find_if(
      program.parameters.begin(), program.parameters.end(),
      [](const runtime::Parameter &parameter) { return parameter.tile; });
  if (cut == program.parameters.end())
    return;
  for (const char *flag : kNeedWhole)
    if (options.given.count(flag))
      throw UsageError("{}: works on whole parameters only, and a rank has a "
                       "part of parameter '{}', which {} cuts: leave out {}, "
                       "or compile without the axis",
                       flag, cut->name, listAxes(*cut), flag);
}

} // namespace ppopt::train
