//===- share_writer.cpp - Writes a rank's share of checkpoints ------------===//

#include "checkpoint/share_writer.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/output_file.h"
#include "device/cpu/team.h"
#include "device/runs.h"
#include "executor/messages.h"
#include "executor/non_finite_step.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

namespace ppopt::train {
namespace {

/// Bytes between two checks of whether to stop.
constexpr int64_t kPiece = int64_t{4} << 20;
/// The limit on bytes written but not yet synced; a failing rank waits for
/// these.
constexpr int64_t kUnsynced = int64_t{64} << 20;

/// A file with its checksum. Writing can be stopped between pieces.
class SharedFile {
public:
  SharedFile(const std::string &path, const BackgroundThread &thread)
      : file_(path), thread_(thread) {}

  void write(const void *data, uint64_t bytes) {
    const char *next = static_cast<const char *>(data);
    for (int64_t left = int64_t(bytes); left > 0;) {
      if (thread_.shouldStop())
        throw runtime::Error("given up");
      int64_t piece = std::min(left, kPiece);
      file_.write(next, piece);
      checksum_.add(next, piece);
      next += piece;
      left -= piece;
      bytes_ += piece;
      if ((unsynced_ += piece) >= kUnsynced) {
        file_.sync();
        unsynced_ = 0;
      }
    }
  }

  /// Completes the file and returns its bytes and checksum.
  ManifestFile finish(const std::string &name) {
    file_.sync();
    file_.close();
    return {name, bytes_, checksum_.hexadecimal()};
  }

private:
  OutputFile file_;
  const BackgroundThread &thread_;
  Checksum checksum_;
  uint64_t bytes_ = 0;
  int64_t unsynced_ = 0;
};

} // namespace

ShareWriter::ShareWriter(const ppopt_rank &rank, int64_t memory)
    : rank_(rank), layout_(layOutShare(rank.program, rank.index, memory)) {
  if (int64_t bytes = layout_.bytes - layout_.directBytes; bytes > 0)
    copy_.emplace(bytes, "the copy of the checkpoint");
  touch();
  if (rank.recording.board)
    thread_.publish(rank.recording.board->saving());
}

ShareWriter::~ShareWriter() = default;

/// Describes a parameter that an update made infinite or NaN, if any. Such a
/// state is not saved, because it would replace better checkpoints.
std::string ShareWriter::describeNonFiniteParameter() const {
  runtime::NonFiniteFindings::Tensor bad =
      runtime::findNonFiniteParameter(rank_);
  if (!bad.isBad())
    return "";
  const runtime::Parameter &parameter = rank_.program.parameters[bad.index];
  return fmt::format("parameter '{}' is {}", parameter.name,
                     runtime::describeNonFinite(
                         bad.at, parameter, rank_.program.plan, rank_.index));
}

void ShareWriter::begin(const std::string &folder) {
  std::string bad = describeNonFiniteParameter();
  gatherCopy();
  direct_.open();
  thread_.start([this, folder, bad] {
    try {
      if (!bad.empty())
        throw runtime::Error(bad);
      writeFiles(folder);
    } catch (...) {
      direct_.refuse(); // the rank still takes part in all messages
      throw;
    }
  });
  passDirectBytes();
}

void ShareWriter::wait() {
  thread_.wait([this] { throwIfFailed(); });
}

void ShareWriter::throwIfFailed() const {
  if (rank_.transport)
    rank_.transport->throwIfFailed();
}

/// Touches the copy's memory in advance, because page faults take longer than
/// the copy itself.
void ShareWriter::touch() {
  int64_t bytes = copy_ ? copy_->bytes() : 0;
  parallelFor(rank_.options.threads, (bytes + kPiece - 1) / kPiece,
              [&](int64_t begin, int64_t end) {
                std::memset(copy_->base() + begin * kPiece, 0,
                            std::min(end * kPiece, bytes) - begin * kPiece);
              });
}

/// Returns bytes in the rank's memory, where the host can read them until the
/// next call.
const char *ShareWriter::read(const GatheredBytes &own) {
  device::DevicePointer from = rank_.places.at(own.from);
  const char *data = rank_.device->hostView(from);
  if (!data) {
    piece_.resize(gatherBytes);
    rank_.device->copyOut(rank_.compute, piece_.data(), from,
                          own.bytes.count());
    data = piece_.data();
  }
  rank_.device->synchronize(rank_.compute);
  return data;
}

void ShareWriter::send(const GatheredBytes &own) {
  Messages(rank_).send(read(own), own.bytes.count(), int(own.writer));
}

/// Copies bytes that the rank writes to where they belong in its data, of which
/// byte `origin` is at `to`. Complete once the device is synchronized.
void ShareWriter::gather(const GatheredBytes &each, char *to, int64_t origin) {
  origin -= each.tensor;
  bool isOwn = each.holder == rank_.index;
  if (each.bytes.isOneRun()) {
    to += each.bytes.firstGlobal() - origin;
    if (isOwn)
      rank_.device->copyOut(rank_.compute, to, rank_.places.at(each.from),
                            each.bytes.count());
    else
      Messages(rank_).receive(to, each.bytes.count(), int(each.holder));
    return;
  }
  const char *data = isOwn ? read(each) : receive(each);
  device::placeRuns(data, each.bytes, to, origin);
}

/// Returns bytes of another rank, until the next call.
const char *ShareWriter::receive(const GatheredBytes &other) {
  piece_.resize(gatherBytes);
  Messages(rank_).receive(piece_.data(), other.bytes.count(),
                          int(other.holder));
  return piece_.data();
}

/// Fills the copy, and sends others what they copy.
void ShareWriter::gatherCopy() {
  for (const GatheredBytes &each : layout_.copied)
    if (each.writer == rank_.index)
      gather(each, copy_->base(), layout_.directBytes);
    else
      send(each);
  rank_.device->synchronize(rank_.compute);
}

/// Passes the bytes that are not copied to the thread, and sends others theirs.
void ShareWriter::passDirectBytes() {
  auto each = layout_.direct.begin(), end = layout_.direct.end();
  while (each != end) {
    if (each->writer != rank_.index) {
      send(*each++);
      continue;
    }
    // All that the window has of the tensor, from one holder or several.
    auto next = std::find_if(each, end, [&](const GatheredBytes &other) {
      return std::tuple(other.writer, other.round, other.tensor) !=
             std::tuple(each->writer, each->round, each->tensor);
    });
    pass(each, next);
    each = next;
  }
}

/// Passes bytes that follow one another in the rank's data, once they are
/// together.
void ShareWriter::pass(Pieces begin, Pieces end) {
  auto give = [&](const char *data, int64_t bytes) {
    direct_.give(data, bytes, [this] { throwIfFailed(); });
  };
  if (end - begin == 1 && begin->bytes.isOneRun())
    return give(begin->holder == rank_.index ? read(*begin) : receive(*begin),
                begin->bytes.count());
  int64_t first = std::numeric_limits<int64_t>::max(), bytes = 0;
  for (Pieces each = begin; each != end; ++each) {
    first = std::min(first, each->tensor + each->bytes.firstGlobal());
    bytes += each->bytes.count();
  }
  window_.resize(gatherBytes);
  for (Pieces each = begin; each != end; ++each)
    gather(*each, window_.data(), first);
  rank_.device->synchronize(rank_.compute);
  give(window_.data(), bytes);
}

void ShareWriter::writeFiles(const std::string &folder) {
  files_.clear();
  int64_t at = 0;
  for (const ShareLayout::File &file : layout_.files)
    files_.push_back(file.tensors.empty() ? ManifestFile{file.name, 0, ""}
                                          : writeFile(folder, file, at));
}

/// Writes a file whose data begins at byte `at` of the rank's data, and moves
/// `at` to its end.
ManifestFile ShareWriter::writeFile(const std::string &folder,
                                    const ShareLayout::File &file,
                                    int64_t &at) {
  SharedFile out(folder + "/" + file.name, thread_);
  streamSafetensors(
      file.tensors, {{"format", "pt"}},
      [&](size_t index, const WriteBytes &write) {
        writeBytes(at, file.bytes[index], write);
        at += file.bytes[index];
      },
      [&](const void *data, uint64_t bytes) { out.write(data, bytes); });
  return out.finish(file.name);
}

/// Writes bytes [at, at + bytes) of the rank's data.
void ShareWriter::writeBytes(int64_t at, int64_t bytes,
                             const WriteBytes &write) {
  int64_t direct = std::clamp<int64_t>(layout_.directBytes - at, 0, bytes);
  direct_.take(direct, write, [this] {
    if (thread_.shouldStop())
      throw runtime::Error("given up");
  });
  if (direct < bytes)
    write(copy_->base() + at + direct - layout_.directBytes, bytes - direct);
}

} // namespace ppopt::train
