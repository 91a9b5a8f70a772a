//===- tasks.cpp - What is run, in its order ------------------------------===//

#include "tasks.h"

#include "base/error.h"

#include <algorithm>
#include <regex>

namespace ppopt::gpu {

std::vector<RunTask> chooseTasks(const LoadedBundle &bundle,
                                 const std::string &only) {
  std::regex filter;
  try {
    filter.assign(only);
  } catch (const std::regex_error &error) {
    throw runtime::Error("'{}' is no regular expression: {}", only,
                         error.what());
  }
  std::vector<RunTask> tasks;
  auto add = [&](const RunTask &task) {
    if (std::regex_search(task.name(), filter))
      tasks.push_back(task);
  };
  for (const Instruction &each : listInstructions())
    if (std::find(bundle.instructions.begin(), bundle.instructions.end(),
                  each.name) != bundle.instructions.end())
      add({nullptr, &each});
  for (const Launch &launch : bundle.launches)
    add({&launch, nullptr});
  if (tasks.empty())
    throw runtime::Error("nothing in {} has a name that matches '{}'",
                         bundle.folder, only);
  return tasks;
}

} // namespace ppopt::gpu
