//===- read_bundle.cpp - Reads the files of a bundle ----------------------===//

#include "read_bundle.h"

#include "base/error.h"
#include "contents.h"
#include "instructions.h"
#include "program/read_fields.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

namespace ppopt::gpu {
namespace {

/// Throws if a launch does not fit the samples, or contradicts itself.
void checkLaunch(const Launch &launch, const runtime::Path &path,
                 int64_t samples) {
  auto isBuffer = [&](int64_t number) {
    return number >= 0 && number < int64_t(launch.buffers.size());
  };
  if (launch.matmul ? launch.buffers.size() != 3 : launch.arguments.empty())
    path.fail("has not the buffers that it takes");
  for (const Buffer &buffer : launch.buffers) {
    if (buffer.sizes.empty() || buffer.sizes.size() != buffer.strides.size())
      path["buffers"].fail("has a buffer without sizes or strides");
    // What is copied to the GPU and back.
    if (buffer.bytes() > int64_t(1) << 40)
      path["buffers"].fail("has a buffer of more than 1 TiB");
  }
  for (int64_t argument : launch.arguments)
    if (!isBuffer(argument))
      path["arguments"].fail("has the number of no buffer");
  for (const Expectation &result : launch.expectations) {
    if (!isBuffer(result.buffer))
      path["expectations"].fail("has the number of no buffer");
    int64_t values = result.samples * (launch.matmul ? 2 : 1);
    if (result.samples < 1 || result.first + values > samples)
      path["expectations"].fail("has samples that are not in samples.bin");
  }
}

} // namespace

std::string readFile(const std::string &folder, const std::string &name) {
  std::string path = folder + "/" + name;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf() || file.peek() == EOF))
    throw runtime::Error("can't read {}: {}", path, std::strerror(errno));
  return text.str();
}

LoadedBundle readBundle(const std::string &folder) {
  LoadedBundle bundle;
  bundle.folder = folder;
  auto json = runtime::Json::parse(readFile(folder, manifestFile), nullptr,
                                   /*allow_exceptions=*/false);
  const runtime::Path path(manifestFile,
                           "ppopt-emulate --save-expectations writes one that "
                           "fits this program");
  if (json.is_discarded())
    path.fail("is no JSON");
  if (json.is_object() && json.value("version", int64_t(0)) != Bundle::newest)
    path["version"].fail(fmt::format("is not {}", Bundle::newest));
  runtime::readValue<Bundle>(json, path, bundle, {});
  std::string samples = readFile(folder, samplesFile);
  bundle.samples.resize(samples.size() / sizeof(double));
  std::memcpy(bundle.samples.data(), samples.data(),
              bundle.samples.size() * sizeof(double));
  for (size_t i = 0; i < bundle.launches.size(); ++i)
    checkLaunch(bundle.launches[i], path["launches"][i],
                int64_t(bundle.samples.size()));
  for (const std::string &name : bundle.instructions) {
    const std::vector<Instruction> &all = listInstructions();
    if (std::none_of(all.begin(), all.end(), [&](const Instruction &each) {
          return each.name == name;
        }))
      path["instructions"].fail("has " + name + ", which is not known here");
  }
  return bundle;
}

} // namespace ppopt::gpu
