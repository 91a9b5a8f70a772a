//===- nccl_events.cpp - What ranks in other processes must know ----------===//

#include "fake/nccl_events.h"

#include <cstring>
#include <type_traits>

namespace ppopt::cuda::fake {
namespace {

/// Appends values to bytes.
struct Writer {
  std::string &bytes;

  template <typename Value> void operator()(const Value &value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void operator()(const std::string &text) {
    (*this)(text.size());
    bytes += text;
  }
  void operator()(const SentBytes &sent) {
    (*this)(sent ? sent->size() : 0);
    if (sent)
      bytes.append(sent->data(), sent->size());
  }
};

/// Takes them from there.
struct Reader {
  const std::string &bytes;
  size_t at = 0;
  bool isValid = true;

  template <typename Value> void operator()(Value &value) {
    if (const char *from = take(sizeof value))
      std::memcpy(&value, from, sizeof value);
  }
  void operator()(std::string &text) {
    size_t size = 0;
    (*this)(size);
    if (const char *from = take(size))
      text.assign(from, size);
  }
  void operator()(SentBytes &sent) {
    size_t size = 0;
    (*this)(size);
    if (const char *from = take(size))
      sent = std::make_shared<const std::vector<char>>(from, from + size);
  }

private:
  const char *take(size_t size) {
    isValid &= size <= bytes.size() - at;
    if (!isValid)
      return nullptr;
    at += size;
    return bytes.data() + at - size;
  }
};

template <typename Fields, typename AnEvent>
void visit(Fields &&fields, AnEvent &event) {
  fields(event.kind);
  fields(event.rank);
  fields(event.ranks);
  fields(event.presence);
  fields(event.request);
  fields(event.number);
  fields(event.gpu);
  fields(event.uuid);
  fields(event.where);
  fields(event.sent);
}

} // namespace

std::string encode(const Event &event) {
  std::string bytes;
  visit(Writer{bytes}, event);
  return bytes;
}

bool decode(const std::string &bytes, Event &event) {
  Reader reader{bytes};
  visit(reader, event);
  return reader.isValid && reader.at == bytes.size();
}

} // namespace ppopt::cuda::fake
