//===- tune_file.cpp - The file of --tune ---------------------------------===//

#include "app/tune_file.h"

#include "base/error.h"
#include "base/json_structure.h"
#include "base/mapped_file.h"
#include "files/whole_file.h"
#include "program/read_fields.h"
#include "schema/write_fields.h"

#include <filesystem>
#include <utility>
#include <vector>

namespace ppopt::train {
namespace {

using runtime::FastestAlgorithm;
using runtime::Matmul;

constexpr const char *format = "ppopt tuned matmuls";
constexpr int64_t version = 1;
constexpr const char *advice =
    "it is damaged, or was edited: remove it, and matmuls are measured again";

std::string spellHex(const device::MatmulAlgorithm &algorithm) {
  std::string text;
  for (uint8_t byte : algorithm)
    text += fmt::format("{:02x}", byte);
  return text;
}

device::MatmulAlgorithm parseHex(const std::string &text,
                                 const runtime::Path &path) {
  device::MatmulAlgorithm algorithm{};
  if (text.size() != 2 * algorithm.size() ||
      text.find_first_not_of("0123456789abcdef") != text.npos)
    path.fail(
        fmt::format("is not {} hexadecimal digits", 2 * algorithm.size()));
  for (size_t i = 0; i < algorithm.size(); ++i)
    algorithm[i] = uint8_t(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return algorithm;
}

} // namespace

/// What an algorithm is for. The name of the matmul means nothing.
struct TuneFile::Key {
  Matmul matmul;
  std::array<int64_t, 3> alignments{};

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("matmul", self.matmul, "as in the program's document");
    f("alignments", self.alignments, "of A, B and C, in bytes");
  }
};

struct TuneFile::Entry {
  Key key;
  std::string algorithm;
  double microseconds = 0, heuristicMicroseconds = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    Key::visit(f, self.key);
    f("algorithm", self.algorithm, "the library's bytes, hexadecimal");
    f("microseconds", self.microseconds, "of one launch");
    f("heuristic_microseconds", self.heuristicMicroseconds,
      "of the heuristic's first choice");
  }
};

struct TuneFile::Document {
  std::string format, gpu, library;
  int64_t version = 0, multiprocessors = 0;
  std::vector<Entry> matmuls;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("format", self.format, "what the file is");
    f("version", self.version, "of the format");
    f("gpu", self.gpu, "the model");
    f("multiprocessors", self.multiprocessors, "of the GPU");
    f("library", self.library, "with its version");
    f("matmuls", self.matmuls, "what was measured");
  }
};

TuneFile::TuneFile(const std::string &path,
                   const device::MatmulMachine &machine)
    : path_(path), machine_(machine) {
  if (std::filesystem::exists(path))
    read();
}

void TuneFile::read() {
  MappedFile file(path_);
  runtime::limitDepth(path_, file.text());
  runtime::Json json = runtime::Json::parse(file.text(), /*cb=*/nullptr,
                                            /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", runtime::Json()) != format)
    throw Error(
        "{}: not a file that --tune wrote, or a damaged one: remove it, "
        "or name another file",
        path_);
  if (runtime::Json found = json.value("version", runtime::Json());
      found != version)
    throw Error("{}: tuned matmuls of format {}, and this program reads format "
                "{}: name another file with --tune",
                path_, found.dump(), version);
  const runtime::Path root(path_.c_str(), advice);
  Document document;
  runtime::readValue(json, root, document, schema::Limits());
  auto expect = [&](const char *what, const auto &measured, const auto &now) {
    if (measured != now)
      throw Error(
          "{}: its matmuls were measured with {} {}, and rank 0 has {}: "
          "name another file with --tune",
          path_, what, measured, now);
  };
  expect("the GPU", document.gpu, machine_.gpu);
  expect("multiprocessors:", document.multiprocessors,
         machine_.multiprocessors);
  expect("the library", document.library, machine_.library);
  const runtime::Path list = root["matmuls"];
  for (size_t i = 0; i < document.matmuls.size(); ++i) {
    const Entry &entry = document.matmuls[i];
    const runtime::Path at = list[i];
    auto [a, b, c] = entry.key.alignments;
    measured_[keyOf(entry.key.matmul, {a, b, c})] = {
        parseHex(entry.algorithm, at["algorithm"]), entry.microseconds,
        entry.heuristicMicroseconds};
  }
}

std::string TuneFile::keyOf(const Matmul &matmul,
                            const device::MatmulAlignment &alignment) {
  Key key{matmul, {alignment.a, alignment.b, alignment.c}};
  key.matmul.name.clear();
  return schema::toJson(key).dump();
}

const FastestAlgorithm *
TuneFile::find(const Matmul &matmul,
               const device::MatmulAlignment &alignment) const {
  auto found = measured_.find(keyOf(matmul, alignment));
  return found == measured_.end() ? nullptr : &found->second;
}

void TuneFile::add(const Matmul &matmul,
                   const device::MatmulAlignment &alignment,
                   const FastestAlgorithm &measured) {
  measured_[keyOf(matmul, alignment)] = measured;
}

void TuneFile::write() const {
  Document document{
      format, machine_.gpu, machine_.library, version, machine_.multiprocessors,
      {}};
  schema::OrderedJson json = schema::toJson(document);
  for (const auto &[key, measured] : measured_) {
    // Of its key only the text is kept.
    schema::OrderedJson entry = schema::OrderedJson::parse(key);
    entry["algorithm"] = spellHex(measured.algorithm);
    entry["microseconds"] = measured.microseconds;
    entry["heuristic_microseconds"] = measured.heuristicMicroseconds;
    json["matmuls"].push_back(std::move(entry));
  }
  std::string text = json.dump(1) + "\n";
  WholeFile file;
  std::string why = file.open(path_);
  if (why.empty())
    why = file.write(text.data(), text.size());
  if (why.empty())
    why = file.commit();
  if (!why.empty())
    throw Error("--tune {}: {}", path_, why);
}

} // namespace ppopt::train
