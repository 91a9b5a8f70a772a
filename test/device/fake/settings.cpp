//===- settings.cpp - What the environment asks of the fake libraries -----===//

#include "fake/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace ppopt::cuda::fake {
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

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool parseBytes(std::string_view text, size_t &bytes) {
  size_t unit = 1;
  for (auto [name, size] : {std::pair<std::string_view, size_t>{"KiB", 1 << 10},
                            {"MiB", 1 << 20},
                            {"GiB", 1 << 30}})
    if (text.size() > 3 && text.substr(text.size() - 3) == name) {
      unit = size;
      text.remove_suffix(3);
    }
  if (!parse(text, bytes))
    return false;
  bytes *= unit;
  return true;
}

bool parseCapability(std::string_view text, GpuSettings &gpu) {
  size_t dot = text.find('.');
  return dot != text.npos && parse(text.substr(0, dot), gpu.major) &&
         parse(text.substr(dot + 1), gpu.minor);
}

/// Sets a value of one GPU; returns false if it means nothing.
bool set(GpuSettings &gpu, std::string_view key, std::string_view value) {
  if (key == "name") {
    gpu.name = value;
    return true;
  }
  if (key == "capability")
    return parseCapability(value, gpu);
  if (key == "memory")
    return parseBytes(value, gpu.memoryBytes);
  if (key == "uuid")
    return parse(value, gpu.uuid) && gpu.uuid >= 0 && gpu.uuid < 256;
  return key == "sms" && parse(value, gpu.multiprocessors);
}

/// Sets a value of the machine; returns false if it is none.
bool set(Settings &settings, std::string_view key, std::string_view value) {
  if (key == "driver")
    return parse(value, settings.driverVersion);
  if (key == "patience") {
    int seconds = 0;
    bool isNumber = parse(value, seconds);
    settings.patience = seconds;
    return isNumber;
  }
  if (key == "matmul-us") {
    std::vector<int> &times = settings.matmulMicroseconds;
    for (std::string_view word : split(value, ':'))
      if (!parse(word, times.emplace_back()))
        return false;
    return times.size() == matmulAlgorithms;
  }
  if (key == "check" && (value == "full" || value == "bounds")) {
    settings.checksAll = value == "full";
    return true;
  }
  if (key == "connect" && (value == "late" || value == "early")) {
    settings.connectsLate = value == "late";
    return true;
  }
  if (key == "cubin" && (value == "accept" || value == "refuse")) {
    settings.acceptsCubin = value == "accept";
    return true;
  }
  return false;
}

void readGpus(Settings &settings) {
  std::string_view text = read("PPOPT_FAKE_CUDA");
  std::vector<std::string_view> words = split(text, ',');
  size_t count = 1;
  for (std::string_view word : words)
    if (word.substr(0, 6) == "count=" && !parse(word.substr(6), count))
      throw std::runtime_error(
          fmt::format("PPOPT_FAKE_CUDA: '{}' is no number of GPUs", word));
  settings.gpus.resize(count);
  for (std::string_view word : words) {
    size_t equals = std::min(word.find('='), word.size());
    std::string_view key = word.substr(0, equals),
                     value = word.substr(std::min(equals + 1, word.size()));
    if (key == "count" || set(settings, key, value))
      continue;
    // Values of several GPUs are separated; the last is for the rest.
    std::vector<std::string_view> values = split(value, '/');
    GpuSettings none;
    bool isKnown = !values.empty() && set(none, key, values[0]);
    for (size_t i = 0; i < count && isKnown; ++i)
      isKnown =
          set(settings.gpus[i], key, values[std::min(i, values.size() - 1)]);
    if (!isKnown)
      throw std::runtime_error(fmt::format(
          "PPOPT_FAKE_CUDA: '{}' means nothing; test/device/fake/README.md "
          "lists what it takes",
          word));
  }
}

Plant readPlant(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ':');
  Plant plant;
  bool isKnown = false;
  using Kind = Plant::Kind;
  if (text == "lone-aborts") {
    plant.kind = Kind::loneAborts;
    plant.number = 1;
    isKnown = true;
  } else if (parts.size() == 2 && parts[0] == "own-uuid") {
    plant.kind = Kind::ownUuid;
    plant.number = 1;
    isKnown = parse(parts[1], plant.gpu) && plant.gpu >= 0;
  } else if (parts.size() == 2) {
    for (auto [word, kind] : {std::pair{"drop-wait", Kind::dropWait},
                              {"drop-record", Kind::dropRecord},
                              {"drop-graph-destroy", Kind::dropGraphDestroy},
                              {"host-read", Kind::hostRead}}) {
      if (parts[0] != word)
        continue;
      plant.kind = kind;
      isKnown = parse(parts[1], plant.number);
    }
  } else if (parts.size() == 3 && parts[0] == "swap-nccl") {
    plant.kind = Kind::swapNccl;
    isKnown = parse(parts[1], plant.gpu) && plant.gpu >= 0 &&
              parse(parts[2], plant.number);
  } else if (parts.size() == 3) {
    plant.kind = Kind::dropLaunch;
    plant.symbol = parts[1];
    plant.number = 1;
    isKnown = parts[0] == "drop-launch" && parse(parts[2], plant.gpu) &&
              plant.gpu >= 0;
  } else if (parts.size() == 4) {
    plant.symbol = parts[1];
    isKnown = parts[0] == "fail" && parse(parts[2], plant.number) &&
              parse(parts[3], plant.code);
  }
  if (!isKnown || plant.number < 1)
    throw std::runtime_error(fmt::format(
        "PPOPT_FAKE_CUDA_PLANT: '{}' is not drop-wait:N, drop-record:N, "
        "drop-graph-destroy:N, swap-nccl:GPU:N, host-read:N or "
        "fail:SYMBOL:N:CODE with N counted from 1, own-uuid:GPU, "
        "drop-launch:KERNEL:GPU, or lone-aborts",
        text));
  return plant;
}

} // namespace

int GpuSettings::mostSharedBytes() const {
  int capability = 10 * major + minor;
  if (capability == 86 || capability == 89 || capability >= 120)
    return 99 * 1024;
  return (capability >= 90 ? 227 : 163) * 1024;
}

Settings readSettings() {
  Settings settings;
  readGpus(settings);
  std::string_view seed = read("PPOPT_FAKE_CUDA_SEED");
  if (!seed.empty() && !parse(seed, settings.seed))
    throw std::runtime_error(
        fmt::format("PPOPT_FAKE_CUDA_SEED is '{}', not a number", seed));
  for (std::string_view file : split(read("PPOPT_FAKE_CUDA_CODE"), ':'))
    settings.code.emplace_back(file);
  settings.objects = read("PPOPT_FAKE_CUDA_OBJECTS");
  for (std::string_view plant : split(read("PPOPT_FAKE_CUDA_PLANT"), ','))
    settings.plants.push_back(readPlant(plant));
  settings.report = read("PPOPT_FAKE_CUDA_REPORT");
  return settings;
}

// As the driver does: the list ends before the first word that names no GPU,
// and a GPU that is named twice leaves none.
std::vector<int> readVisibleDevices(const std::vector<std::string> &uuids) {
  int count = int(uuids.size());
  std::vector<int> visible;
  const char *text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!text) {
    for (int i = 0; i < count; ++i)
      visible.push_back(i);
    return visible;
  }
  for (std::string_view word : split(text, ',')) {
    int gpu = -1;
    if (word.substr(0, 4) == "GPU-") {
      // The begin of a UUID, if only one GPU has it.
      auto hasBegin = [&](const std::string &uuid) {
        return uuid.compare(0, word.size(), word) == 0;
      };
      if (std::count_if(uuids.begin(), uuids.end(), hasBegin) == 1)
        gpu = int(std::find_if(uuids.begin(), uuids.end(), hasBegin) -
                  uuids.begin());
    } else if (!parse(word, gpu)) {
      gpu = -1;
    }
    if (gpu < 0 || gpu >= count)
      break;
    if (std::find(visible.begin(), visible.end(), gpu) != visible.end())
      return {};
    visible.push_back(gpu);
  }
  return visible;
}

} // namespace ppopt::cuda::fake
