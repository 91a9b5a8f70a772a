//===- data_files.cpp - The files that samples are read from --------------===//

#include "data/data_files.h"

#include "data/guarded_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace ppopt::train {
namespace {

/// Returns the local time, to the second.
std::string describeTime(int64_t nanoseconds) {
  std::time_t seconds = nanoseconds / 1000000000;
  std::tm parts;
  char text[32] = "";
  ::localtime_r(&seconds, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

} // namespace

void DataFiles::add(const std::string &path, unsigned char *head,
                    uint64_t headBytes) {
  Descriptor descriptor = openToRead(path);
  FileState state = stateOf(descriptor, path);
  uint64_t expected = std::min(headBytes, state.bytes);
  if (expected > 0 &&
      ::pread(descriptor.value(), head, expected, 0) != ssize_t(expected))
    throw Error("{}: cannot read its beginning: {}", path,
                std::strerror(errno));
  files_.push_back({path, state, /*slot=*/-1});
}

SampleFile DataFiles::describe(size_t number) const {
  const File &file = files_[number];
  return {file.path, file.state.bytes, file.state.written};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void DataFiles::read(size_t file, uint64_t offset, uint64_t bytes, void *into,
                     uint64_t sample) {
  Slot &slot = acquire(file, sample);
  struct Release {
    DataFiles &files;
    Slot &slot;
    ~Release() { files.release(slot); }
  } atEnd{*this, slot};
  bool copied = guardedCopy(into, slot.mapping.data() + offset, bytes);
  // Check after the copy, because the rest of a file's last page reads as
  // zeros.
  checkUnchanged(files_[file], slot.descriptor, sample);
  if (!copied)
    throw Error("{}: bytes {} to {} cannot be read: input/output error "
                "(sample {})",
                files_[file].path, offset, offset + bytes, sample);
}

void DataFiles::checkUnchanged(const File &file, const Descriptor &descriptor,
                               uint64_t sample) const {
  FileState now = stateOf(descriptor, file.path);
  if (now == file.state)
    return;
  if (now.bytes < file.state.bytes)
    throw Error("{}: shrank while training, from {} to {} bytes (sample {})",
                file.path, file.state.bytes, now.bytes, sample);
  throw Error("{}: was changed while training: {} bytes, last written {}, when "
              "the run began; {} bytes, last written {}, now (sample {})",
              file.path, file.state.bytes, describeTime(file.state.written),
              now.bytes, describeTime(now.written), sample);
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

DataFiles::Slot &DataFiles::acquire(size_t file, uint64_t sample) {
  std::unique_lock<std::mutex> lock(mutex_);
  // While this thread waits for a slot, another may map the file.
  while (files_[file].slot < 0) {
    Slot *slot = findFree();
    if (slot)
      map(file, *slot, sample);
    else
      released_.wait(lock);
  }
  Slot &slot = slots_[files_[file].slot];
  ++slot.readers;
  slot.lastUse = ++uses_;
  return slot;
}

void DataFiles::release(Slot &slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--slot.readers == 0)
    released_.notify_all();
}

DataFiles::Slot *DataFiles::findFree() {
  Slot *found = nullptr;
  for (Slot &slot : slots_)
    if (slot.readers == 0 && (!found || slot.lastUse < found->lastUse))
      found = &slot;
  return found;
}

void DataFiles::map(size_t number, Slot &slot, uint64_t sample) {
  unmap(slot);
  File &file = files_[number];
  Descriptor descriptor;
  try {
    descriptor = openToRead(file.path);
  } catch (const Error &error) {
    throw Error("{}; when the run began it had {} bytes (sample {})",
                error.what(), file.state.bytes, sample);
  }
  checkUnchanged(file, descriptor, sample);
  slot.mapping = Mapping(descriptor, file.state.bytes, file.path);
  slot.descriptor = std::move(descriptor);
  slot.file = static_cast<int64_t>(number);
  file.slot = static_cast<int32_t>(&slot - slots_.data());
}

void DataFiles::unmap(Slot &slot) {
  if (slot.file < 0)
    return;
  files_[slot.file].slot = -1;
  slot.file = -1;
  slot.mapping = Mapping();
  slot.descriptor = Descriptor();
}

} // namespace ppopt::train
