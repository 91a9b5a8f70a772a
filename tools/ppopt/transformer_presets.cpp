//===- transformer_presets.cpp - Sizes of published transformers ----------===//

#include "transformer.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

#include <vector>

using namespace llvm;
using namespace ppopt;

StringRef ppopt::nameOf(Family family) {
  switch (family) {
  case Family::llama:
    return "llama";
  case Family::qwen:
    return "qwen";
  case Family::mistral:
    return "mistral";
  case Family::mixtral:
    return "mixtral";
  case Family::bert:
    return "bert";
  }
  llvm_unreachable("every family has a name");
}

namespace {

struct Sizes {
  int64_t layers, width, mlpWidth, heads, keyHeads, headWidth, vocabulary;
};

} // namespace

/// A decoder with rows of 1024 tokens.
static Transformer decoder(Family family, const Sizes &sizes, double base,
                           double epsilon, bool tied) {
  Transformer model;
  model.family = family;
  model.layers = sizes.layers;
  model.width = sizes.width;
  model.mlpWidth = sizes.mlpWidth;
  model.heads = sizes.heads;
  model.keyHeads = sizes.keyHeads;
  model.headWidth = sizes.headWidth;
  model.vocabulary = sizes.vocabulary;
  model.rotaryBase = base;
  model.epsilon = epsilon;
  model.tied = tied;
  model.length = 1024;
  model.batch = 4;
  return model;
}

/// Reads bytes, and learns in minutes on two cores.
static Transformer ofBytes(Transformer model) {
  model.layers = 4;
  model.width = 128;
  model.mlpWidth = 256;
  model.heads = 4;
  model.keyHeads = 2;
  model.headWidth = 32;
  model.vocabulary = 256;
  model.length = 128;
  model.batch = 16;
  return model;
}

static Transformer llama3(const Sizes &sizes, double factor, bool tied) {
  Transformer model = decoder(Family::llama, sizes, 5e5, 1e-5, tied);
  model.scaling = {RotaryScaling::llama3, factor, 1, 4, 8192};
  return model;
}

static Transformer llama2(const Sizes &sizes) {
  return decoder(Family::llama, sizes, 1e4, 1e-5, /*tied=*/false);
}

static Transformer qwen2(const Sizes &sizes, bool tied) {
  Transformer model = decoder(Family::qwen, sizes, 1e6, 1e-6, tied);
  model.projectionBiases = true;
  return model;
}

static Transformer qwen3(const Sizes &sizes, bool tied) {
  Transformer model = decoder(Family::qwen, sizes, 1e6, 1e-6, tied);
  model.headNorms = true;
  return model;
}

static Transformer mistral(const Sizes &sizes) {
  Transformer model =
      decoder(Family::mistral, sizes, 1e4, 1e-5, /*tied=*/false);
  model.window = 4096;
  return model;
}

static Transformer mixtral(const Sizes &sizes) {
  Transformer model =
      decoder(Family::mixtral, sizes, 1e6, 1e-5, /*tied=*/false);
  model.experts = 8;
  model.expertsPerToken = 2;
  return model;
}

static Transformer bert(int64_t layers, int64_t width, int64_t heads) {
  Transformer model =
      decoder(Family::bert,
              {layers, width, 4 * width, heads, heads, width / heads, 30522}, 0,
              1e-12, /*tied=*/true);
  model.positions = model.length = 512;
  model.tokenTypes = 2;
  model.batch = 8;
  model.dropout = model.attentionDropout = 0.1;
  model.ignoreIndex = -100;
  return model;
}

static Transformer withWindow(Transformer model, int64_t window) {
  model.window = window;
  return model;
}

static Transformer smallBert() {
  Transformer model = ofBytes(bert(2, 128, 4));
  model.keyHeads = 4;
  model.positions = 128;
  return model;
}

ArrayRef<TransformerPreset> ppopt::presetsOf(Family family) {
  // Layers, width, MLP, heads, key-value heads, width of a head, vocabulary.
  static const std::vector<TransformerPreset> llamas = {
      {"byte-llama", ofBytes(llama3({}, 8, true))},
      {"1b", llama3({16, 2048, 8192, 32, 8, 64, 128256}, 32, true)},
      {"3b", llama3({28, 3072, 8192, 24, 8, 128, 128256}, 32, true)},
      {"8b", llama3({32, 4096, 14336, 32, 8, 128, 128256}, 8, false)},
      {"70b", llama3({80, 8192, 28672, 64, 8, 128, 128256}, 8, false)},
      {"2-7b", llama2({32, 4096, 11008, 32, 32, 128, 32000})},
      {"2-13b", llama2({40, 5120, 13824, 40, 40, 128, 32000})},
  };
  static const std::vector<TransformerPreset> qwens = {
      {"byte-qwen", ofBytes(qwen3({}, true))},
      {"2.5-0.5b", qwen2({24, 896, 4864, 14, 2, 64, 151936}, true)},
      {"2.5-1.5b", qwen2({28, 1536, 8960, 12, 2, 128, 151936}, true)},
      {"2.5-7b", qwen2({28, 3584, 18944, 28, 4, 128, 152064}, false)},
      {"3-0.6b", qwen3({28, 1024, 3072, 16, 8, 128, 151936}, true)},
      {"3-1.7b", qwen3({28, 2048, 6144, 16, 8, 128, 151936}, true)},
      {"3-4b", qwen3({36, 2560, 9728, 32, 8, 128, 151936}, true)},
      {"3-8b", qwen3({36, 4096, 12288, 32, 8, 128, 151936}, false)},
  };
  static const std::vector<TransformerPreset> mistrals = {
      {"byte-mistral", withWindow(ofBytes(mistral({})), 32)},
      {"7b", mistral({32, 4096, 14336, 32, 8, 128, 32000})},
  };
  static const std::vector<TransformerPreset> mixtrals = {
      {"byte-mixtral", ofBytes(mixtral({}))},
      {"8x7b", mixtral({32, 4096, 14336, 32, 8, 128, 32000})},
  };
  static const std::vector<TransformerPreset> berts = {
      {"byte-bert", smallBert()},
      {"base", bert(12, 768, 12)},
      {"large", bert(24, 1024, 16)},
  };
  switch (family) {
  case Family::llama:
    return llamas;
  case Family::qwen:
    return qwens;
  case Family::mistral:
    return mistrals;
  case Family::mixtral:
    return mixtrals;
  case Family::bert:
    return berts;
  }
  llvm_unreachable("every family has presets");
}
