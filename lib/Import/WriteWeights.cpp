//===- WriteWeights.cpp - An archive's parameters as safetensors ----------===//

#include "ExportedProgram.h"

#include "ppopt/Import/Import.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static const char *spellType(Dtype type) {
  switch (type) {
  case Dtype::f64:
    return "F64";
  case Dtype::bf16:
    return "BF16";
  default:
    return "F32";
  }
}

/// The header, padded to a multiple of 8 bytes with its length before it.
static std::string makeHeader(const ImportedModel &model) {
  nlohmann::ordered_json header;
  int64_t begin = 0;
  for (const ImportedParameter &parameter : model.parameters) {
    const TensorMeta &meta = parameter.tensor->meta;
    int64_t end = begin + countElements(meta.shape) * byteSize(meta.type);
    header[parameter.name] = {
        {"dtype", spellType(meta.type)},
        {"shape", std::vector<int64_t>(meta.shape.begin(), meta.shape.end())},
        {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.is_null() ? "{}" : header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = char(uint64_t(text.size()) >> (8 * i));
  return length + text;
}

std::string mlir::pp::writeWeights(const ImportedModel &model, StringRef path) {
  std::string part = (path + ".part").str();
  std::error_code code;
  raw_fd_ostream file(part, code);
  FileRemover remover(part);
  if (code)
    return code.message();
  file << makeHeader(model);
  for (const ImportedParameter &parameter : model.parameters) {
    Expected<std::vector<char>> bytes =
        readTensor(*model.archive, *parameter.tensor);
    if (!bytes)
      return toString(bytes.takeError());
    file.write(bytes->data(), bytes->size());
  }
  file.close();
  if (file.has_error()) {
    std::string why = file.error().message();
    file.clear_error();
    return why;
  }
  code = sys::fs::rename(part, path);
  return code ? code.message() : "";
}
