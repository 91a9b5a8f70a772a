//===- checkpoint_manifest.cpp - The manifest of a checkpoint -------------===//

#include "checkpoint/checkpoint_manifest.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/json_structure.h"
#include "ppopt/utf8.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace ppopt::train {
namespace {

using nlohmann::json;
using runtime::Error;

constexpr const char *kFormat = "ppopt checkpoint";

json describeSamples(const Manifest &manifest) {
  json files = json::array();
  for (const SampleFile &file : manifest.samples.files)
    files.push_back({{"path", escapeNonUtf8(file.path)},
                     {"bytes", file.bytes},
                     {"written", file.written}});
  return {{"order", manifest.samples.order},
          {"format", manifest.samples.format},
          {"batch", manifest.samples.batch},
          {"count", manifest.samples.count},
          {"position", manifest.step * manifest.samples.batch},
          {"files", files}};
}

json describeBest(const BestRecord &best) {
  json object = {{"of", best.of}, {"since", best.since}};
  if (best.value) {
    object["value"] = *best.value; // the shortest text of the same number
    object["step"] = best.step;
  }
  return object;
}

json describe(const Manifest &manifest) {
  json files = json::array();
  for (const ManifestFile &file : manifest.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"checksum", file.checksum}});
  json document = {
      {"format", kFormat},
      {"version", kManifestVersion},
      {"model", {{"name", manifest.model}, {"hash", manifest.modelHash}}},
      {"step", manifest.step},
      {"updates", manifest.updates},
      {"flags", manifest.flags},
      {"samples", describeSamples(manifest)},
      {"plan", manifest.plan},
      {"files", files}};
  if (manifest.best)
    document["best"] = describeBest(*manifest.best);
  return document;
}

/// Returns the text of the file: the same object always has the same bytes.
std::string textOf(const json &document) {
  return document.dump(1, ' ', /*ensure_ascii=*/false,
                       json::error_handler_t::replace) +
         "\n";
}

/// Returns the checksum of `document` without its checksum field.
std::string checksumOf(json document) {
  document.erase("checksum");
  return Checksum::of(textOf(document));
}

void expect(bool holds, const char *what) {
  if (!holds)
    throw std::invalid_argument(what);
}

/// Reads a whole number >= 0 that fits int64_t.
int64_t readCount(const json &value) {
  expect(value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX,
         "a count is not a whole number from 0 on");
  return value.get<int64_t>();
}

/// Reads a whole number, negative before 1970.
int64_t readTime(const json &value) {
  expect(value.is_number_integer(), "a time is not a whole number");
  return value.get<int64_t>();
}

SampleRecord readSamples(const json &object) {
  SampleRecord samples;
  object.at("order").get_to(samples.order);
  object.at("format").get_to(samples.format);
  samples.batch = readCount(object.at("batch"));
  samples.count = readCount(object.at("count"));
  for (const json &file : object.at("files"))
    samples.files.push_back({file.at("path").get<std::string>(),
                             uint64_t(readCount(file.at("bytes"))),
                             readTime(file.at("written"))});
  return samples;
}

BestRecord readBest(const json &object) {
  BestRecord best;
  object.at("of").get_to(best.of);
  best.since = readCount(object.at("since"));
  if (!object.contains("value"))
    return best;
  expect(object.at("value").is_number_float(), "the best value is no number");
  best.value = object.at("value").get<double>();
  best.step = readCount(object.at("step"));
  return best;
}

/// Checks what readers rely on, such as that no file name leaves the folder.
void check(const Manifest &manifest) {
  int64_t position;
  expect(
      !__builtin_mul_overflow(manifest.step, manifest.samples.batch, &position),
      "the samples that were read overflow 64 bits");
  // With asynchronous training there is an update for each part of a batch.
  expect(manifest.updates <= position,
         "updates are more than rows that were read");
  expect(manifest.flags.count("seed") == 1, "there is no seed");
  for (const ManifestFile &file : manifest.files)
    expect(!file.name.empty() && file.name.find('/') == std::string::npos,
           "a file's name is not a name");
}

Manifest read(const json &document) {
  Manifest manifest;
  document.at("model").at("name").get_to(manifest.model);
  document.at("model").at("hash").get_to(manifest.modelHash);
  manifest.step = readCount(document.at("step"));
  manifest.updates = readCount(document.at("updates"));
  document.at("flags").get_to(manifest.flags);
  document.at("plan").get_to(manifest.plan);
  manifest.samples = readSamples(document.at("samples"));
  for (const json &file : document.at("files"))
    manifest.files.push_back({file.at("name").get<std::string>(),
                              uint64_t(readCount(file.at("bytes"))),
                              file.at("checksum").get<std::string>()});
  if (document.contains("best"))
    manifest.best = readBest(document.at("best"));
  check(manifest);
  return manifest;
}

} // namespace

std::string printManifest(const Manifest &manifest) {
  json document = describe(manifest);
  document["checksum"] = checksumOf(document);
  return textOf(document);
}

Manifest parseManifest(const std::string &path, const std::string &text) {
  runtime::limitDepth(path, text);
  json document = json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || document.value("format", json()) != kFormat)
    throw Error("{}: not the manifest of a checkpoint", path);
  if (json version = document.value("version", json());
      version != kManifestVersion)
    throw Error("{}: a checkpoint of format {}, and this program reads format "
                "{}: load it with a program of the ppopt that wrote it",
                path, version.dump(), kManifestVersion);
  if (document.value("checksum", json()) != checksumOf(document) ||
      textOf(document) != text)
    throw Error("{}: its checksum is another one: the file is damaged or was "
                "edited",
                path);
  try {
    return read(document);
  } catch (const std::exception &error) {
    throw Error("{}: {}", path, error.what());
  }
}

} // namespace ppopt::train
