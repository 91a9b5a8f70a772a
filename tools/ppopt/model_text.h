//===- model_text.h - Models as text of the pp dialect --------------------===//

#ifndef PPOPT_TOOLS_MODEL_TEXT_H
#define PPOPT_TOOLS_MODEL_TEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt {

struct GptModel {
  int64_t layers, width, heads, vocabulary, length, batch;
  int64_t mlpWidth;
  bool exactGelu = false; ///< false: its tanh form
  std::string type;       ///< f32 or f64
  double dropout = 0, attentionDropout = 0;
  bool tied = true;
  bool attends = true; ///< false: the attention's output is multiplied by zero
  std::optional<int64_t> ignoreIndex;
  /// Of LoRA's adapters on queries, keys and values, beside which all is
  /// frozen; 0: none.
  int64_t loraRank = 0;
  double loraAlpha = 0;
  std::string command; ///< quoted in the file's header comment
};

struct MlpModel {
  std::vector<int64_t> widths;
  int64_t batch;
  std::string activation; ///< relu, gelu or tanh
  std::string type;
  std::string command;
};

/// Returns a floating-point literal that the parser reads back exactly.
std::string literal(double value);

/// Returns "tensor<4x8xf32>".
std::string tensorOf(llvm::ArrayRef<int64_t> shape, llvm::StringRef type);

std::string writeGpt(const GptModel &model);
std::string writeMlp(const MlpModel &model);

} // namespace ppopt

#endif // PPOPT_TOOLS_MODEL_TEXT_H
