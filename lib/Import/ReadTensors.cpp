//===- ReadTensors.cpp - What archives say of tensors ---------------------===//

#include "ReadTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Reads {"as_int": 4}, or the hint of {"as_expr": …}; -1 if it depends on
/// data.
static int64_t readSize(const JsonValue &json, std::string &expression) {
  int64_t size = 0;
  json.readUnion([&](StringRef kind, const JsonValue &value) {
    if (kind == "as_int") {
      size = value.asInteger();
    } else if (kind == "as_expr") {
      expression = value.get("expr_str").asText().str();
      JsonValue hint = value.get("hint");
      if (hint.isNull())
        size = -1;
      else
        size = hint.get("as_int").asInteger();
    } else {
      json.fail("is a size of the unknown kind '" + kind + "'");
    }
  });
  return size;
}

/// A type of PyTorch that no model has.
static std::string nameUnknownType(int64_t code) {
  switch (code) {
  case 9:
    return "complex32";
  case 10:
    return "complex64";
  case 11:
    return "complex128";
  default:
    return "the type " + std::to_string(code);
  }
}

TensorMeta pt2::readMeta(const JsonValue &json, bool isStored) {
  TensorMeta meta;
  JsonValue code = json.get("dtype");
  if (std::optional<Dtype> type = dtypeFromCode(code.asInteger())) {
    meta.type = *type;
  } else if (!isStored) {
    // No op that is supported makes one: nothing has a size of -1.
    meta.unknownType = nameUnknownType(code.asInteger());
    meta.shape.push_back(-1);
    return meta;
  } else {
    code.fail("is " + nameUnknownType(code.asInteger()) +
              ", which no model of ppopt has");
  }
  int64_t elements = 1;
  json.get("sizes").forEach([&](const JsonValue &each) {
    std::string expression;
    int64_t size = readSize(each, expression);
    if (size < 0 && (isStored || expression.empty()))
      each.fail("is " + Twine(size) + ", a negative size");
    if (MulOverflow(elements, std::max<int64_t>(size, 0), elements) ||
        elements > mostElements)
      each.fail("makes a tensor of more than 2^48 elements");
    meta.shape.push_back(size);
    meta.expressions.push_back(std::move(expression));
  });
  if (constexpr int64_t strided = 7; json.get("layout").asInteger() != strided)
    json.get("layout").fail("is not strided: sparse tensors are not supported");
  if (!isStored)
    return meta;
  json.get("strides").forEach([&](const JsonValue &each) {
    std::string expression;
    meta.strides.push_back(readSize(each, expression));
  });
  if (meta.strides.size() != meta.shape.size()) {
    json.fail("has " + Twine(meta.shape.size()) + " sizes and " +
              Twine(meta.strides.size()) + " strides");
    meta.strides.resize(meta.shape.size());
  }
  std::string expression;
  meta.storageOffset = readSize(json.get("storage_offset"), expression);
  meta.requiresGrad = json.get("requires_grad").asBool();
  return meta;
}

/// Whether two indices may name one element.
static bool overlaps(const TensorMeta &meta) {
  SmallVector<std::pair<int64_t, int64_t>> dims; // strides and sizes
  for (auto [size, stride] : zip_equal(meta.shape, meta.strides))
    if (size > 1)
      dims.push_back({stride, size});
  llvm::sort(dims);
  int64_t extent = 1; // of the dimensions with smaller strides
  for (auto [stride, size] : dims) {
    if (stride < extent)
      return true;
    extent = stride * (size - 1) + extent;
  }
  return false;
}

/// Checks that the tensor's elements are in its storage.
static void checkStored(const Archive &archive, const StoredTensor &tensor,
                        const JsonValue &json) {
  const TensorMeta &meta = tensor.meta;
  if (!archive.has(tensor.path))
    return json.fail("is in '" + tensor.path + "', which the archive lacks");
  int64_t last = meta.storageOffset;
  if (last < 0)
    return json.fail("begins at the element " + Twine(last));
  for (auto [size, stride] : zip_equal(meta.shape, meta.strides)) {
    if (stride < 0)
      return json.fail("has the negative stride " + Twine(stride));
    int64_t distance = 0;
    if (MulOverflow(std::max<int64_t>(size - 1, 0), stride, distance) ||
        AddOverflow(last, distance, last) || last > mostElements)
      return json.fail("has strides that end outside of any storage");
  }
  if (llvm::any_of(meta.expressions,
                   [](const std::string &text) { return !text.empty(); }))
    return json.fail("has a size that is a symbol: export with fixed sizes of "
                     "parameters and buffers");
  int64_t elements = countElements(meta.shape);
  int64_t bytes = elements == 0 ? 0 : (last + 1) * byteSize(meta.type);
  if (bytes > archive.getSize(tensor.path))
    json.fail("ends at byte " + Twine(bytes) + " of its storage '" +
              tensor.path + "', which has " +
              Twine(archive.getSize(tensor.path)));
  else if (overlaps(meta)) {
    constexpr int64_t mostRepeated = 1 << 24; // which are read one by one
    if (json.get("is_param").asBool() || elements > mostRepeated)
      json.fail("has strides by which elements share memory: export a module "
                "whose parameters and large buffers are contiguous");
  }
}

Error pt2::readStorages(const Archive &archive, StringRef folder,
                        StringRef model, StringMap<StoredTensor> &tensors) {
  std::string path = (folder + "/" + model + "_" +
                      StringRef(folder).rsplit('/').second + "_config.json")
                         .str();
  if (!archive.has(path))
    return Error::success();
  Expected<std::string> text = archive.read(path);
  if (!text)
    return text.takeError();
  JsonDocument document(*text, path);
  document.root().get("config").forEachField(
      [&](StringRef name, const JsonValue &json) {
        if (json.get("use_pickle").asBool())
          return json.fail("is pickled, as tensors of subclasses and script "
                           "objects are: export the module with plain tensors");
        StoredTensor tensor;
        tensor.path = (folder + "/" + json.get("path_name").asText()).str();
        tensor.meta = readMeta(json.get("tensor_meta"), /*isStored=*/true);
        checkStored(archive, tensor, json);
        tensors[name] = std::move(tensor);
      });
  if (!document.getError().empty())
    return createStringError(document.getError());
  return Error::success();
}
