//===- name_pattern.h - Names with numbers in them ------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_NAME_PATTERN_H
#define PPOPT_RUNTIME_CHECKPOINT_NAME_PATTERN_H

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ppopt::train {

/// "h.{i}.ln_1.weight": a placeholder in braces stands for a whole number
/// without leading zeros, the same one wherever it is repeated.
class NamePattern {
public:
  /// What each placeholder stands for, as it is spelled in the name.
  using Numbers = std::map<std::string, std::string>;

  /// Throws std::invalid_argument that says what is wrong with the text.
  explicit NamePattern(const std::string &text);

  const std::string &text() const { return text_; }
  std::set<std::string> placeholders() const;

  /// The numbers with which the pattern is `name`; nothing where it is not.
  std::optional<Numbers> match(const std::string &name) const;

  /// The name that these numbers make; they are those of all placeholders.
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
