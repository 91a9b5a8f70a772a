//===- agreement.cpp - Checks that all ranks were started alike -----------===//

#include "app/agreement.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "executor/messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <unistd.h>

namespace ppopt::train {
namespace {

constexpr uint64_t kPieces = 64, kPieceBytes = 4096;

void addPiece(Checksum &sum, const SampleFile &file, uint64_t offset) {
  std::array<char, kPieceBytes> piece;
  size_t wanted = std::min(kPieceBytes, file.bytes - offset);
  Descriptor descriptor = openToRead(file.path);
  for (size_t done = 0; done < wanted;) {
    ssize_t bytes = ::pread(descriptor.value(), piece.data() + done,
                            wanted - done, off_t(offset + done));
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes <= 0)
      throw Error("{}: cannot read: {}", file.path,
                  bytes < 0 ? std::strerror(errno) : "it has been cut short");
    done += size_t(bytes);
  }
  sum.add(piece.data(), wanted);
}

std::string describeFiles(const std::vector<SampleFile> &files) {
  uint64_t bytes = 0;
  for (const SampleFile &file : files)
    bytes += file.bytes;
  return fmt::format("{} file{}, {} bytes, checksum {}", files.size(),
                     files.size() == 1 ? "" : "s", bytes, fingerprint(files));
}

CommonFact describeSamples(const char *flag, const SampleReader &reader) {
  return {flag, fmt::format("{} {}, {}", reader.count(), reader.unit(),
                            describeFiles(reader.files()))};
}

std::string describeFilesAt(const std::vector<std::string> &paths) {
  std::vector<SampleFile> files;
  for (const std::string &path : paths) {
    FileState state = stateOf(openToRead(path), path);
    files.push_back({path, state.bytes, state.written});
  }
  return describeFiles(files);
}

std::string checksumOfExecutable() {
  return "checksum " + Checksum::of(MappedFile("/proc/self/exe").text());
}

/// Packs each text as its length followed by its bytes.
std::string pack(const std::vector<CommonFact> &facts) {
  std::string packed;
  auto add = [&](const std::string &text) {
    uint64_t bytes = text.size();
    packed.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
    packed += text;
  };
  for (const CommonFact &fact : facts) {
    add(fact.what);
    add(fact.value);
  }
  return packed;
}

std::vector<CommonFact> unpack(const std::string &packed) {
  size_t at = 0;
  auto take = [&] {
    uint64_t bytes = 0;
    std::memcpy(&bytes, packed.data() + at, sizeof bytes);
    at += sizeof bytes + bytes;
    return packed.substr(at - bytes, bytes);
  };
  std::vector<CommonFact> facts;
  while (at < packed.size()) {
    std::string what = take();
    facts.push_back({what, take()});
  }
  return facts;
}

const std::string *find(const std::vector<CommonFact> &facts,
                        const std::string &what) {
  for (const CommonFact &fact : facts)
    if (fact.what == what)
      return &fact.value;
  return nullptr;
}

} // namespace

std::string fingerprint(const std::vector<SampleFile> &files) {
  Checksum sum;
  uint64_t total = 0;
  for (const SampleFile &file : files) {
    sum.add(&file.bytes, sizeof file.bytes);
    total += file.bytes;
  }
  size_t file = 0;
  uint64_t before = 0; // bytes of the files before this one
  for (uint64_t piece = 0; total > 0 && piece < kPieces; ++piece) {
    // Not total * piece, which may overflow.
    uint64_t offset =
        total / kPieces * piece + total % kPieces * piece / kPieces;
    while (offset - before >= files[file].bytes)
      before += files[file++].bytes;
    addPiece(sum, files[file], offset - before);
  }
  return sum.hexadecimal();
}

std::vector<CommonFact> collectCommonFacts(const Options &options,
                                           const Job *job) {
  std::vector<CommonFact> facts{{"the executable", checksumOfExecutable()}};
  for (const auto &[flag, value] : options.given)
    facts.push_back({flag, value.empty() ? "given" : value});
  if (!job)
    return facts;
  if (job->training)
    facts.push_back(
        describeSamples("the files of its samples", job->training->reader()));
  if (job->evaluation)
    facts.push_back(describeSamples("the files of its evaluation",
                                    job->evaluation->reader()));
  if (job->prediction)
    facts.push_back(
        describeSamples("the files of --predict", job->prediction->reader()));
  if (job->initial)
    facts.push_back(
        {"the files of --init", describeFilesAt(job->initial->files())});
  for (auto [flag, path] : {std::pair("--init-map", &options.initMap),
                            std::pair("--export-map", &options.exportMap)})
    if (!path->empty())
      facts.push_back(
          {fmt::format("the file of {}", flag), describeFilesAt({*path})});
  return facts;
}

std::string findDifference(const std::vector<CommonFact> &mine,
                           const std::vector<CommonFact> &theirs) {
  constexpr const char *none = "not given";
  for (const CommonFact &fact : mine) {
    const std::string *other = find(theirs, fact.what);
    if (!other || *other != fact.value)
      return fmt::format("{}: {} / {}", fact.what, fact.value,
                         other ? *other : none);
  }
  for (const CommonFact &fact : theirs)
    if (!find(mine, fact.what))
      return fmt::format("{}: {} / {}", fact.what, none, fact.value);
  return "";
}

void checkAgreement(comm::Transport &transport,
                    const std::vector<CommonFact> &mine) {
  constexpr const char *host = "host";
  Messages messages(transport, /*channel=*/0); // no step has begun
  std::vector<CommonFact> sent = mine;
  sent.push_back({host, hostName()});
  std::vector<std::string> packed = messages.gatherTexts(pack(sent));
  for (size_t rank = 1; rank < packed.size(); ++rank) {
    std::vector<CommonFact> theirs = unpack(packed[rank]);
    std::string theirHost = theirs.back().value;
    theirs.pop_back();
    std::string difference = findDifference(mine, theirs);
    if (!difference.empty())
      throw Error("ranks 0 (on {}) and {} (on {}) differ in {}; start all with "
                  "the same executable, flags and files",
                  hostName(), rank, theirHost, difference);
  }
}

std::string hostName() {
  char name[HOST_NAME_MAX + 1] = "";
  return ::gethostname(name, sizeof name) == 0 ? name : "a machine unnamed";
}

} // namespace ppopt::train
