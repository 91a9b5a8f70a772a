//===- name_pattern.cpp - Name patterns with numeric placeholders ---------===//

#include "checkpoint/name_pattern.h"

#include <algorithm>
#include <stdexcept>

namespace ppopt::train {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool isWord(const std::string &text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
  });
}

/// Returns the whole number without leading zeros at `at`; empty if none is
/// there.
std::string numberAt(const std::string &name, size_t at) {
  size_t end = at;
  while (end < name.size() && isDigit(name[end]))
    ++end;
  bool padded = end - at > 1 && name[at] == '0';
  return padded ? "" : name.substr(at, end - at);
}

} // namespace

NamePattern::NamePattern(const std::string &text) : text_(text) {
  if (text.empty())
    throw std::invalid_argument("a name is empty");
  for (size_t at = 0; at < text.size();) {
    bool followsPlaceholder = !parts_.empty() && parts_.back().isPlaceholder;
    if (text[at] == '{') {
      size_t end = text.find('}', at);
      std::string word =
          end == text.npos ? "" : text.substr(at + 1, end - at - 1);
      if (!isWord(word))
        throw std::invalid_argument(
            "a brace does not begin a placeholder such as {i}");
      if (followsPlaceholder)
        throw std::invalid_argument("two placeholders follow one another");
      parts_.push_back({true, word});
      at = end + 1;
      continue;
    }
    size_t end = std::min(text.find('{', at), text.size());
    parts_.push_back({false, text.substr(at, end - at)});
    if (parts_.back().text.find('}') != text.npos)
      throw std::invalid_argument("a brace is closed that was not opened");
    if (followsPlaceholder && isDigit(text[at]))
      throw std::invalid_argument("a digit follows a placeholder");
    at = end;
  }
}

std::set<std::string> NamePattern::placeholders() const {
  std::set<std::string> found;
  for (const Part &part : parts_)
    if (part.isPlaceholder)
      found.insert(part.text);
  return found;
}

std::optional<NamePattern::Numbers>
NamePattern::match(const std::string &name) const {
  Numbers numbers;
  size_t at = 0;
  for (const Part &part : parts_) {
    std::string expected = part.text;
    if (part.isPlaceholder) {
      std::string number = numberAt(name, at);
      if (number.empty())
        return std::nullopt;
      expected = numbers.emplace(part.text, number).first->second;
      if (expected != number)
        return std::nullopt;
    } else if (name.compare(at, expected.size(), expected) != 0) {
      return std::nullopt;
    }
    at += expected.size();
  }
  return at == name.size() ? std::optional(numbers) : std::nullopt;
}

std::string NamePattern::fill(const Numbers &numbers) const {
  std::string name;
  for (const Part &part : parts_)
    name += part.isPlaceholder ? numbers.at(part.text) : part.text;
  return name;
}

} // namespace ppopt::train
