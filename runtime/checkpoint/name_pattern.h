//===- name_pattern.h - Name patterns with numeric placeholders -----------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_NAME_PATTERN_H
#define PPOPT_RUNTIME_CHECKPOINT_NAME_PATTERN_H

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ppopt::train {

/// A pattern such as "h.{i}.ln_1.weight". A placeholder in braces matches a
/// whole number without leading zeros, and the same number at each occurrence.
class NamePattern {
public:
  /// The number of each placeholder, as spelled in the name.
  using Numbers = std::map<std::string, std::string>;

  /// Throws std::invalid_argument that says what is wrong with the text.
  explicit NamePattern(const std::string &text);

  const std::string &text() const { return text_; }
  std::set<std::string> placeholders() const;

  /// Returns the numbers with which the pattern equals `name`; nullopt if it
  /// does not match.
  std::optional<Numbers> match(const std::string &name) const;

  /// Returns the name with these numbers, which must include all placeholders.
  std::string fill(const Numbers &numbers) const;

private:
  struct Part {
    bool isPlaceholder;
    std::string text;
  };

  std::string text_;
  std::vector<Part> parts_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_NAME_PATTERN_H
