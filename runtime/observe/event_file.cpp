//===- event_file.cpp - An event file of TensorBoard ----------------------===//

#include "observe/event_file.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "files/output_target.h"
#include "files/system_error.h"
#include "files/whole_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace ppopt::train {
namespace {

namespace fs = std::filesystem;
using runtime::Error;

constexpr std::string_view kPrefix = "events.out.tfevents.";

// Fields of Event, Summary, Summary.Value and SessionLog.
enum Field : uint8_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7,
  kValue = 1,
  kTag = 1,
  kSimpleValue = 2,
  kStatus = 1,
};
constexpr uint8_t kStarted = 1; ///< SessionLog::START

enum class Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

template <typename Number> void appendFixed(std::string &to, Number number) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof number);
}

void appendKey(std::string &to, Field field, Wire wire) {
  to += char(field << 3 | uint8_t(wire));
}

void appendVarint(std::string &to, uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    to += char(number | 0x80);
  to += char(number);
}

size_t varintBytes(uint64_t number) {
  size_t bytes = 1;
  for (; number >= 0x80; number >>= 7)
    ++bytes;
  return bytes;
}

void appendBytes(std::string &to, Field field, std::string_view bytes) {
  appendKey(to, field, Wire::Bytes);
  appendVarint(to, bytes.size());
  to += bytes;
}

/// Appends a Summary.Value whose tag has two parts.
void appendValue(std::string &to, std::string_view group, std::string_view name,
                 double value) {
  size_t tag = group.size() + name.size();
  appendKey(to, kValue, Wire::Bytes);
  appendVarint(to, 1 + varintBytes(tag) + tag + 1 + sizeof(float));
  appendKey(to, kTag, Wire::Bytes);
  appendVarint(to, tag);
  to += group;
  to += name;
  appendKey(to, kSimpleValue, Wire::Fixed32);
  appendFixed(to, static_cast<float>(value));
}

/// TFRecord's mask: a CRC of bytes that have CRCs in them is a weak one.
uint32_t maskedCrc(std::string_view bytes) {
  uint32_t crc = crc32cOf(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

int64_t secondsNow() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

/// Returns the second of the newest event file in the folder, by its name; 0 if
/// there is none.
int64_t newestIn(const std::string &folder) {
  int64_t newest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    int64_t second = 0;
    if (name.rfind(kPrefix, 0) != 0)
      continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(),
                    second);
    newest = std::max(newest, second);
  }
  if (error)
    throw Error("--tensorboard {}: cannot list the folder: {}", folder,
                error.message());
  return newest;
}

/// Returns the path of a file that TensorBoard reads after those that are
/// there: it orders them by name. So two runs in one second, or a clock that is
/// behind, change no order.
std::string newPath(const std::string &folder) {
  char host[HOST_NAME_MAX + 1] = "";
  if (::gethostname(host, sizeof host) != 0)
    std::strcpy(host, "unnamed");
  int64_t second = std::max(secondsNow(), newestIn(folder) + 1);
  return fmt::format("{}/{}{:010}.{}.{}", folder, kPrefix, second, host,
                     ::getpid());
}

} // namespace

bool isEventFile(std::string_view path) {
  return path.find('/') == std::string_view::npos &&
         path.find("tfevents") != std::string_view::npos;
}

EventFile::EventFile(const std::string &folder,
                     std::optional<int64_t> resumed) {
  if (folder.empty())
    return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("--tensorboard {}: cannot make the folder: {}", folder,
                error.message());
  path_ = newPath(folder);
  OpenedOutput file = openOutput(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  descriptor_ = file.descriptor;
  if (descriptor_ < 0)
    throw Error("--tensorboard {}: {}", path_, file.error);
  begin(0);
  appendBytes(event_, kFileVersion, "brain.Event:2");
  write();
  if (!resumed)
    return;
  begin(*resumed);
  appendKey(summary_, kStatus, Wire::Varint);
  appendVarint(summary_, kStarted);
  appendBytes(event_, kSessionLog, summary_);
  write();
}

EventFile::~EventFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

/// Begins an event.
void EventFile::begin(int64_t step) {
  using namespace std::chrono;
  event_.assign(12, '\0'); // for the record's length and its checksum
  summary_.clear();
  appendKey(event_, kWallTime, Wire::Fixed64);
  appendFixed(event_,
              duration<double>(system_clock::now().time_since_epoch()).count());
  appendKey(event_, kStep, Wire::Varint);
  appendVarint(event_, uint64_t(step));
}

/// Writes the event as a record, in one call.
void EventFile::write() {
  constexpr size_t kHead = 12, kLength = 8;
  uint64_t bytes = event_.size() - kHead;
  std::memcpy(event_.data(), &bytes, kLength);
  uint32_t crc = maskedCrc({event_.data(), kLength});
  std::memcpy(event_.data() + kLength, &crc, sizeof crc);
  appendFixed(event_, maskedCrc({event_.data() + kHead, bytes}));
  if (!writeAll(descriptor_, event_.data(), event_.size()))
    throw Error("--tensorboard {}: {}", path_, describeFailure("cannot write"));
}

void EventFile::add(std::string_view group, int64_t step,
                    const std::vector<Reported> &numbers) {
  if (descriptor_ < 0)
    return;
  begin(step);
  for (const Reported &number : numbers)
    if (number.isKnown)
      appendValue(summary_, group, number.name, number.value);
  appendBytes(event_, kSummary, summary_);
  write();
}

} // namespace ppopt::train
