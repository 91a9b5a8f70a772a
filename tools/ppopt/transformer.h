//===- transformer.h - Transformers as Hugging Face's configurations ------===//
//
// One description for all families of `ppopt model` with published checkpoints:
// presets and config.json files fill it in, and the writer follows it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TOOLS_TRANSFORMER_H
#define PPOPT_TOOLS_TRANSFORMER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ppopt {

/// What `ppopt model` calls it.
enum class Family { llama, qwen, mistral, mixtral, bert };

llvm::StringRef nameOf(Family family);

struct RotaryScaling {
  enum Kind { none, linear, llama3 } kind = none;
  double factor = 1, lowFrequency = 1, highFrequency = 4; ///< of llama3: all
  int64_t originalLength = 8192;
};

struct Transformer {
  Family family = Family::llama;
  int64_t layers = 0, width = 0, mlpWidth = 0, vocabulary = 0;
  int64_t heads = 0, keyHeads = 0, headWidth = 0;
  double epsilon = 1e-5;   ///< of norms
  double deviation = 0.02; ///< of initial matrices
  double rotaryBase = 1e4;
  RotaryScaling scaling = {};
  bool tied = false;
  bool projectionBiases = false; ///< of queries, keys and values
  bool outputBias = false;       ///< of the attention's output
  bool mlpBiases = false;
  bool headNorms = false; ///< RMS norms of each head's query and key
  std::optional<int64_t> window = {};
  double dropout = 0, attentionDropout = 0;

  /// Of experts in place of the MLP; 0: none.
  int64_t experts = 0, expertsPerToken = 0;
  /// An expert has room for this multiple of a row's tokens, spread evenly.
  double capacity = 1.25;

  // Of BERT.
  int64_t positions = 0, tokenTypes = 0; ///< rows of the tables
  bool tanhGelu = false;

  // Of the batch.
  int64_t length = 0, batch = 0;
  bool packed = false; ///< rows hold several documents
  std::optional<int64_t> ignoreIndex = {};
  std::string type = "f32";
  std::string command = {}; ///< quoted in the file's header comment
};

struct TransformerPreset {
  llvm::StringRef name;
  Transformer model;
};

/// The presets of a family; the first is the default.
llvm::ArrayRef<TransformerPreset> presetsOf(Family family);

/// Fills in `model` from the text of a config.json. Returns what is wrong with
/// the document, or all that the family's models cannot express; empty if
/// nothing.
std::string readTransformerConfig(llvm::StringRef text, Transformer &model);

/// Returns what the sizes contradict, by the names of flags; empty if nothing.
std::string checkTransformer(const Transformer &model);

std::string writeTransformer(const Transformer &model);

} // namespace ppopt

#endif // PPOPT_TOOLS_TRANSFORMER_H
