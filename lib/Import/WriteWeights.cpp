//===- WriteWeights.cpp - An archive's tensors as safetensors -------------===//

#include "StoredElements.h"

#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Import/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Parameters and buffers, those of wide elements first: so each lies at a
/// multiple of its element's size.
static std::vector<const ImportedTensor *>
orderInFile(const ImportedModel &model) {
  std::vector<const ImportedTensor *> tensors;
  for (const auto *list : {&model.parameters, &model.buffers})
    for (const ImportedTensor &tensor : *list)
      tensors.push_back(&tensor);
  llvm::stable_sort(tensors, [](const auto *one, const auto *other) {
    return byteSize(one->tensor->meta.type) >
           byteSize(other->tensor->meta.type);
  });
  return tensors;
}

/// The header, padded to a multiple of 8 bytes with its length before it.
static std::string makeHeader(mlir::MLIRContext *context,
                              ArrayRef<const ImportedTensor *> tensors) {
  nlohmann::ordered_json header;
  int64_t begin = 0;
  for (const ImportedTensor *tensor : tensors) {
    const TensorMeta &meta = tensor->tensor->meta;
    int64_t end = begin + countElements(meta.shape) * byteSize(meta.type);
    header[tensor->name] = {
        {"dtype", spellStored(storedType(context, meta.type)).str()},
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
  std::vector<const ImportedTensor *> tensors = orderInFile(model);
  file << makeHeader(model.module.get()->getContext(), tensors);
  for (const ImportedTensor *tensor : tensors) {
    Expected<std::vector<char>> bytes =
        readTensor(*model.archive, *tensor->tensor);
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
