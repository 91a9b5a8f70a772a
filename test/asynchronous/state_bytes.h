//===- state_bytes.h - A state as bytes -----------------------------------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_STATE_BYTES_H
#define PPOPT_TEST_ASYNCHRONOUS_STATE_BYTES_H

#include "asynchronous/message.h"

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace ppopt::asynchronous::test {

/// Bytes that a state has at most.
constexpr size_t mostStateBytes = 4096;

/// Writes the numbers of a state, a byte each: -1 to 254.
class StateWriter {
public:
  /// `bytes` has room for mostStateBytes.
  explicit StateWriter(uint8_t *bytes) : first(bytes), next(bytes) {}

  size_t size() const { return next - first; }

  template <typename T> void operator()(const T &number) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    int64_t value = static_cast<int64_t>(number) + 1;
    if (value < 0 || value > 255 || size() == mostStateBytes)
      fail();
    *next++ = static_cast<uint8_t>(value);
  }
  template <typename T> void operator()(const std::vector<T> &numbers) {
    (*this)(numbers.size());
    for (const auto &number : numbers)
      (*this)(T(number));
  }
  /// Leaves out what decides nothing, and numbers that are 0.
  void operator()(const Message &message) {
    int fields = (message.bucket != 0) | (message.signal != 0) << 1 |
                 (message.step != 0) << 2 | (message.ticket != 0) << 3;
    (*this)(static_cast<int>(message.kind) << 4 | fields);
    forEach(message, fields, *this);
  }
  template <typename T, typename Each>
  void list(const std::vector<T> &elements, const Each &each) {
    (*this)(elements.size());
    for (const T &element : elements)
      each(element);
  }

  /// Visits the fields of a message whose bits are set.
  template <typename M, typename V>
  static void forEach(M &message, int fields, V &visit) {
    if (fields & 1)
      visit(message.bucket);
    if (fields & 2)
      visit(message.signal);
    if (fields & 4)
      visit(message.step);
    if (fields & 8)
      visit(message.ticket);
  }

private:
  [[noreturn]] static void fail() {
    throw std::out_of_range(
        "a state has a number that is no byte, or too many");
  }
  uint8_t *first, *next;
};

/// Reads them back.
class StateReader {
public:
  explicit StateReader(const uint8_t *bytes) : next(bytes) {}

  template <typename T> void operator()(T &number) {
    number = static_cast<T>(static_cast<int64_t>(*next++) - 1);
  }
  template <typename T> void operator()(std::vector<T> &numbers) {
    size_t size = 0;
    (*this)(size);
    numbers.resize(size);
    for (size_t i = 0; i < size; ++i) {
      T number;
      (*this)(number);
      numbers[i] = number;
    }
  }
  void operator()(Message &message) {
    message = {};
    int bits = 0;
    (*this)(bits);
    message.kind = static_cast<Message::Kind>(bits >> 4);
    StateWriter::forEach(message, bits, *this);
  }
  template <typename T, typename Each>
  void list(std::vector<T> &elements, const Each &each) {
    size_t size = 0;
    (*this)(size);
    elements.resize(size);
    for (T &element : elements)
      each(element);
  }

private:
  const uint8_t *next;
};

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_STATE_BYTES_H
