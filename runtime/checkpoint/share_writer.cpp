//===- share_writer.cpp - Writes a rank's share of checkpoints ------------===//

#include "checkpoint/share_writer.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/output_file.h"
#include "device/cpu/team.h"
#include "device/host_access.h"
#include "executor/non_finite_step.h"

#include <algorithm>
#include <chrono>
#include <cstring>

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

ShareWriter::ShareWriter(const ppopt_rank &rank, int64_t memory) : rank_(rank) {
  takeTensors();
  divide(memory);
  touch();
  if (rank.board)
    thread_.publish(rank.board->saving());
}

ShareWriter::~ShareWriter() = default;

void ShareWriter::takeTensors() {
  for (CheckpointPart part : kCheckpointParts)
    plan_.push_back({checkpointFileName(part, rank_.index), {}, {}});
  for (const CheckpointTensor &entry : shareCheckpoint(rank_.program)) {
    if (entry.writer != rank_.index)
      continue;
    const WantedTensor &tensor = entry.tensor;
    File &file = plan_[static_cast<size_t>(entry.part)];
    file.tensors.push_back({tensor.name, tensor.dtype, tensor.shape});
    file.items.push_back({rank_.at(entry.address), entry.bytes, 0, nullptr});
    bytes_ += entry.bytes;
  }
}

/// Divides the tensors into bytes to copy and bytes to write directly. The
/// first bytes of the files are the direct ones, so the rank waits for the
/// shortest time.
void ShareWriter::divide(int64_t memory) {
  directBytes_ = std::max<int64_t>(bytes_ - memory, 0);
  if (bytes_ > directBytes_)
    copy_.emplace(bytes_ - directBytes_, "the copy of the checkpoint");
  int64_t direct = directBytes_;
  char *next = copy_ ? copy_->base() : nullptr;
  for (File &file : plan_)
    for (size_t index : orderInFile(file.tensors)) {
      Item &item = file.items[index];
      item.direct = std::min(direct, item.bytes);
      direct -= item.direct;
      item.copy = next;
      next += item.bytes - item.direct;
    }
}

/// Describes a parameter that an update made infinite or NaN, if any. Such a
/// state is not saved, because it would replace better checkpoints.
std::string ShareWriter::describeNonFiniteParameter() const {
  runtime::NonFiniteFindings::Tensor bad =
      runtime::findNonFiniteParameter(rank_);
  if (!bad.isBad())
    return "";
  const runtime::Parameter &parameter = rank_.program.parameters[bad.index];
  return fmt::format("parameter '{}' is {}", parameter.name,
                     runtime::describeNonFinite(bad.at, parameter.shape));
}

void ShareWriter::begin(const std::string &folder) {
  if (std::string bad = describeNonFiniteParameter(); !bad.empty())
    return thread_.start([bad] { throw runtime::Error(bad); });
  copy();
  directLeft_ = directBytes_;
  thread_.start([this, folder] {
    try {
      writeFiles(folder);
    } catch (...) {
      releaseRank();
      throw;
    }
  });
  if (directBytes_ > 0)
    awaitRelease();
}

void ShareWriter::wait() {
  thread_.wait([this] { throwIfFailed(); });
}

void ShareWriter::throwIfFailed() const {
  if (rank_.transport)
    rank_.transport->throwIfFailed();
}

/// Waits until the bytes that are not copied are written.
void ShareWriter::awaitRelease() {
  constexpr std::chrono::milliseconds kCheckEvery{50};
  std::unique_lock<std::mutex> lock(mutex_);
  while (!released_.wait_for(lock, kCheckEvery,
                             [&] { return directLeft_ == 0; })) {
    lock.unlock();
    throwIfFailed();
    lock.lock();
  }
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

void ShareWriter::copy() {
  for (const File &file : plan_)
    for (const Item &item : file.items)
      if (int64_t bytes = item.bytes - item.direct; bytes > 0)
        rank_.device->copyOut(rank_.compute, item.copy, item.data + item.direct,
                              bytes);
  rank_.device->synchronize(rank_.compute);
}

void ShareWriter::releaseRank() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    directLeft_ = 0;
  }
  released_.notify_all();
}

void ShareWriter::writeFiles(const std::string &folder) {
  files_.clear();
  for (const File &file : plan_)
    files_.push_back(file.tensors.empty() ? ManifestFile{file.name, 0, ""}
                                          : writeFile(folder, file));
}

ManifestFile ShareWriter::writeFile(const std::string &folder,
                                    const File &file) {
  SharedFile out(folder + "/" + file.name, thread_);
  streamSafetensors(
      file.tensors, {{"format", "pt"}},
      [&](size_t index, const WriteBytes &write) {
        const Item &item = file.items[index];
        if (item.direct > 0) {
          // The rank does not use its device meanwhile.
          device::readPieces(*rank_.device, rank_.compute, item.data,
                             item.direct,
                             [&](const char *data, int64_t, int64_t bytes) {
                               write(data, bytes);
                             });
          // Only this thread changes directLeft_.
          if (directLeft_ == item.direct)
            releaseRank();
          else
            directLeft_ -= item.direct;
        }
        write(item.copy, item.bytes - item.direct);
      },
      [&](const void *data, uint64_t bytes) { out.write(data, bytes); });
  return out.finish(file.name);
}

} // namespace ppopt::train
