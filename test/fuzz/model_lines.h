//===- model_lines.h - The text of a model, line by line ------------------===//

#ifndef PPOPT_TEST_FUZZ_MODEL_LINES_H
#define PPOPT_TEST_FUZZ_MODEL_LINES_H

#include <string>
#include <vector>

namespace fuzz {

/// An operand of the op in a line, whose type stands there too.
struct Use {
  size_t line;
  std::string name; ///< "%x"
  std::string type; ///< "tensor<4x8xf32>"
};

/// A part of a line.
struct Token {
  size_t line, begin;
  std::string text;
};

/// "tensor<4x8xf32>" taken apart; another text has no sizes and no element.
struct TensorType {
  explicit TensorType(const std::string &text);
  std::vector<std::string> sizes;
  std::string element;
};

std::string makeTensor(const std::vector<std::string> &sizes,
                       const std::string &element);
/// "[0, 2, 1]": the last two exchanged.
std::string permutation(size_t rank);
/// "[0, 0, 0]".
std::string zeros(size_t rank);
/// "[0, 1, 2]".
std::string counting(size_t rank);

class ModelLines {
public:
  /// Aliases of types ("!x = tensor<…>") are written out.
  explicit ModelLines(const std::string &text);
  std::string join() const;

  std::vector<Use> findUses() const;
  std::vector<Token> findNumbers() const;

  /// The next tokens of the line have moved.
  void replace(const Token &token, const std::string &by);
  /// The operand `name` of a line's op, wherever it stands after "=".
  void replaceIn(size_t line, const std::string &name, const std::string &by);
  /// Lines before a line.
  void insert(size_t line, const std::string &text);

  std::vector<std::string> lines;
};

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MODEL_LINES_H
