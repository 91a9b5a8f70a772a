//===- settings.cpp - What the environment asks of the fake device --------===//

#include "device/fake/settings.h"

#include "base/error.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace ppopt::fake {
namespace {

std::string_view read(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

template <typename Number> bool parse(std::string_view text, Number &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

Settings readSettings() {
  Settings settings;
  std::string_view seed = read("PPOPT_FAKE_SEED");
  if (!seed.empty() && !parse(seed, settings.seed))
    throw runtime::Error("PPOPT_FAKE_SEED is '{}', not a number", seed);
  settings.report = read("PPOPT_FAKE_REPORT");

  std::string_view plant = read("PPOPT_FAKE_PLANT");
  if (plant.empty())
    return settings;
  size_t colon = plant.find(':');
  std::string_view what = plant.substr(0, colon);
  int64_t *number = what == "drop-wait"   ? &settings.dropWait
                    : what == "drop-sync" ? &settings.dropSynchronize
                                          : nullptr;
  if (!number || colon == plant.npos ||
      !parse(plant.substr(colon + 1), *number) || *number < 1)
    throw runtime::Error("PPOPT_FAKE_PLANT is '{}', not drop-wait:N or "
                         "drop-sync:N with N counted from 1",
                         plant);
  return settings;
}

} // namespace ppopt::fake
