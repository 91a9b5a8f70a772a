//===- checkpoint_manifest.cpp - What a checkpoint says of itself ---------===//

#include "train/checkpoint_manifest.h"

#include "core/error.h"
#include "train/checksum.h"

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
    files.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"written", file.written}});
  return {{"order", manifest.samples.order},
          {"format", manifest.samples.format},
          {"batch", manifest.samples.batch},
          {"count", manifest.samples.count},
          {"position", manifest.step * manifest.samples.batch},
          {"files", files}};
}

json describe(const Manifest &manifest) {
  json files = json::array();
  for (const ManifestFile &file : manifest.files)
    files.push_back({{"name", file.name},
                     {"bytes", file.bytes},
                     {"checksum", file.checksum}});
  return {{"format", kFormat},
          {"version", kManifestVersion},
          {"model", {{"name", manifest.model}, {"hash", manifest.modelHash}}},
          {"step", manifest.step},
          {"updates", manifest.updates},
          {"flags", manifest.flags},
          {"samples", describeSamples(manifest)},
          {"plan", manifest.plan},
          {"files", files}};
}

/// As it lies in the file: of the same object always the same bytes.
std::string textOf(const json &document) {
  return document.dump(1, ' ', /*ensure_ascii=*/false,
                       json::error_handler_t::replace) +
         "\n";
}

/// `document` without its checksum.
std::string checksumOf(json document) {
  document.erase("checksum");
  return Checksum::of(textOf(document));
}

SampleRecord readSamples(const json &object) {
  SampleRecord samples;
  object.at("order").get_to(samples.order);
  object.at("format").get_to(samples.format);
  object.at("batch").get_to(samples.batch);
  object.at("count").get_to(samples.count);
  for (const json &file : object.at("files"))
    samples.files.push_back({file.at("path").get<std::string>(),
                             file.at("bytes").get<uint64_t>(),
                             file.at("written").get<int64_t>()});
  return samples;
}

void expect(bool holds, const char *what) {
  if (!holds)
    throw std::invalid_argument(what);
}

/// What is read is relied on: a name is not a way out of the folder.
void check(const Manifest &manifest) {
  expect(manifest.step >= 0, "step is negative");
  expect(manifest.updates >= 0 && manifest.updates <= manifest.step,
         "updates are not between 0 and step");
  expect(manifest.flags.count("seed") == 1, "there is no seed");
  for (const ManifestFile &file : manifest.files)
    expect(!file.name.empty() && file.name.find('/') == std::string::npos,
           "a file's name is not a name");
}

Manifest read(const json &document) {
  Manifest manifest;
  document.at("model").at("name").get_to(manifest.model);
  document.at("model").at("hash").get_to(manifest.modelHash);
  document.at("step").get_to(manifest.step);
  document.at("updates").get_to(manifest.updates);
  document.at("flags").get_to(manifest.flags);
  document.at("plan").get_to(manifest.plan);
  manifest.samples = readSamples(document.at("samples"));
  for (const json &file : document.at("files"))
    manifest.files.push_back({file.at("name").get<std::string>(),
                              file.at("bytes").get<uint64_t>(),
                              file.at("checksum").get<std::string>()});
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
  json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
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
