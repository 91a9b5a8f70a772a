//===- ImportInputs.cpp - What an exported program is given ---------------===//
//
// Its inputs, with the batch first, and what the archive has the values of:
// parameters, states and buffers.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "StoredElements.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

const StoredTensor *Importer::findStored(const InputSpec &spec) {
  for (const auto *list : {&program.weights, &program.constants}) {
    auto found = list->find(spec.name);
    if (found != list->end())
      return &found->second;
  }
  error() << "has no values of '" << spec.name << "': save the archive again";
  return nullptr;
}

LogicalResult Importer::addInput(const InputSpec &spec) {
  auto found = program.graph.tensors.find(spec.value);
  if (found == program.graph.tensors.end())
    return error() << "says nothing of the input '" << spec.name << "'";
  const TensorMeta &meta = found->second;
  if (!meta.unknownType.empty() || !emit.elementType(meta.type))
    return error() << "has the input '" << spec.name << "' of "
                   << (meta.unknownType.empty() ? spell(meta.type)
                                                : StringRef(meta.unknownType))
                   << ", which models do not have: export with float32, "
                      "float64, bfloat16, int32, int64 or bool";
  if (meta.shape.empty())
    return error() << "has the input '" << spec.name
                   << "' without dimensions: the first one of each input is "
                      "the batch";
  if (llvm::any_of(meta.shape, [](int64_t size) { return size < 1; }))
    return error() << "has the input '" << spec.name
                   << "', which is empty or of a size that is not known";
  FailureOr<Value> value =
      addArgument(spec.name, emit.tensorType(meta.type, meta.shape));
  if (failed(value))
    return failure();
  environment.tensors[spec.value] = {meta.type, meta.shape, {}, *value, 0};
  return success();
}

int64_t pt2::findBatchDim(const ImportOptions &options, StringRef input,
                          int64_t rank) {
  int64_t dim = 0;
  for (const BatchDim &each : options.batchDims) {
    if (each.input == input)
      return each.dim;
    if (each.input.empty() && each.dim < rank)
      dim = each.dim;
  }
  return dim;
}

/// Adds an argument with the batch first, and returns it with the dimensions
/// that forward takes.
FailureOr<Value> Importer::addArgument(StringRef name, RankedTensorType type) {
  int64_t rank = type.getRank(), dim = findBatchDim(options, name, rank);
  for (const ImportedInput &other : model.inputs)
    if (other.name == name)
      return error() << "has an input '" << name
                     << "' already; give that of the loss another name by "
                        "--targets";
  if (dim >= rank)
    return error() << "has the input '" << name << "' of " << rank
                   << (rank == 1 ? " dimension" : " dimensions")
                   << ", and --batch-dim " << name << "=" << dim
                   << " counts from 0";
  if (!model.inputs.empty()) {
    const ImportedInput &first = model.inputs.front();
    if (int64_t rows = first.type.getDimSize(0); rows != type.getDimSize(dim))
      return error() << "has the input '" << name << "' with a batch of "
                     << type.getDimSize(dim) << " and '" << first.name
                     << "' with one of " << rows
                     << ": the batch is the first dimension of an input, or "
                        "the one that --batch-dim names, as in --batch-dim "
                     << name << "=1";
  }
  // Of the argument, in the order of the export's, and back.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank)), back = order;
  order.erase(order.begin() + dim);
  order.insert(order.begin(), dim);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = to;
  SmallVector<int64_t> shape = llvm::map_to_vector(
      order, [&](int64_t from) { return type.getDimSize(from); });
  RankedTensorType rowsFirst = type.clone(shape);
  unsigned number = entry.getNumArguments();
  NamedAttribute attribute =
      builder.getNamedAttr(kInputAttr, builder.getStringAttr(name));
  if (failed(entry.insertArgument(number, rowsFirst,
                                  builder.getDictionaryAttr(attribute), where)))
    return failure();
  model.inputs.push_back({name.str(), rowsFirst, type, dim == 0});
  if (dim != 0)
    model.notes.push_back(("the batch of the input '" + name +
                           "' is its dimension " + Twine(dim) +
                           " for forward, and the first one of its data")
                              .str());
  Value value = entry.getArgument(number);
  return dim == 0 ? value : emit.transpose(value, back);
}

/// Checks that each --batch-dim is of an input.
LogicalResult Importer::checkBatchDims() {
  for (const BatchDim &each : options.batchDims) {
    bool isUsed = llvm::any_of(model.inputs, [&](const ImportedInput &input) {
      return each.input.empty() ? each.dim < input.type.getRank()
                                : each.input == input.name;
    });
    if (isUsed)
      continue;
    InFlightDiagnostic diag = error() << "has no input ";
    if (each.input.empty())
      return diag << "with a dimension " << each.dim
                  << ", which --batch-dim names; the first one is 0";
    diag << "'" << each.input << "', which --batch-dim names; it has ";
    llvm::interleaveComma(model.inputs, diag, [&](const ImportedInput &input) {
      diag << "'" << input.name << "'";
    });
    return diag;
  }
  return success();
}

/// Zeros, ones, or the mean and the deviation that the values have: what a run
/// without --init draws.
FailureOr<InitAttr> Importer::describeInit(const StoredTensor &stored) {
  auto make = [&](InitKind kind, double first, double second) {
    return InitAttr::get(context, kind, APFloat(first), APFloat(second));
  };
  if (!readsValues)
    return make(InitKind::Zeros, 0, 0); // nothing is written
  Expected<std::vector<char>> bytes = readTensor(*model.archive, stored);
  if (!bytes) {
    error() << toString(bytes.takeError());
    return failure();
  }
  const TensorMeta &meta = stored.meta;
  double sum = 0, squares = 0;
  bool isZero = true, isOne = true;
  int64_t count = countElements(meta.shape), size = byteSize(meta.type);
  for (int64_t i = 0; i < count; ++i) {
    double value = readReal(meta.type, &(*bytes)[i * size]);
    isZero &= value == 0;
    isOne &= value == 1;
    sum += value;
    squares += value * value;
  }
  if (isZero || !std::isfinite(squares))
    return make(InitKind::Zeros, 0, 0);
  if (isOne)
    return make(InitKind::Ones, 0, 0);
  double mean = sum / count,
         deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
  // Three digits say enough, and are read.
  auto shorten = [](double value) {
    double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 2);
    return value == 0 ? 0 : std::round(value / unit) * unit;
  };
  bool isCentered = std::fabs(mean) < 4 * deviation / std::sqrt(double(count));
  return make(InitKind::Normal, isCentered ? 0 : shorten(mean),
              shorten(deviation));
}

/// Checks that the graph says of a tensor what the list of storages says.
LogicalResult Importer::checkAgrees(const InputSpec &spec,
                                    const TensorMeta &stored) {
  auto found = program.graph.tensors.find(spec.value);
  if (found == program.graph.tensors.end() ||
      found->second.shape != stored.shape || found->second.type != stored.type)
    return error() << "has '" << spec.name
                   << "' with another shape or type than its graph says: save "
                      "it again";
  return success();
}

/// Adds a parameter, or the state that a buffer is.
LogicalResult Importer::addParameter(const InputSpec &spec,
                                     std::optional<InitKind> ofState) {
  const StoredTensor *stored = findStored(spec);
  if (!stored)
    return failure();
  const TensorMeta &meta = stored->meta;
  if (failed(checkAgrees(spec, meta)))
    return failure();
  for (const ImportedTensor &other : model.parameters)
    if (other.name == spec.name)
      return error() << "has the parameter '" << spec.name << "' twice";
  if (!pt2::isFloat(meta.type) || !emit.elementType(meta.type))
    return error() << "has the parameter '" << spec.name << "' of "
                   << spell(meta.type)
                   << ": export with float32, float64 or bfloat16";
  if (countElements(meta.shape) == 0)
    return error() << "has the empty parameter '" << spec.name << "'";
  for (ImportedTensor &other : model.parameters) {
    const StoredTensor &one = *other.tensor;
    if (one.path != stored->path)
      continue;
    if (one.meta.shape != meta.shape || one.meta.strides != meta.strides ||
        one.meta.storageOffset != meta.storageOffset)
      return error() << "has the parameters '" << other.name << "' and '"
                     << spec.name
                     << "', which share a part of their values: export a "
                        "module whose parameters are apart, or the same";
    Tensor same = environment.tensors.find(other.value)->second;
    Operation *param = same.value.getDefiningOp();
    SmallVector<Attribute> aliases;
    if (auto known = param->getAttrOfType<ArrayAttr>(kAliasesAttr))
      llvm::append_range(aliases, known);
    aliases.push_back(builder.getStringAttr(spec.name));
    param->setAttr(kAliasesAttr, builder.getArrayAttr(aliases));
    environment.tensors[spec.value] = same;
    return success();
  }
  FailureOr<InitAttr> init =
      ofState ? InitAttr::get(context, *ofState, APFloat(0.0), APFloat(0.0))
              : describeInit(*stored);
  if (failed(init))
    return failure();
  auto param = ParamOp::create(
      builder, where, emit.tensorType(meta.type, meta.shape), spec.name, *init,
      /*frozen=*/!ofState && !meta.requiresGrad, /*state=*/ofState.has_value(),
      /*no_decay=*/false,
      /*lr_scale=*/TypedAttr(), /*decay_scale=*/TypedAttr(),
      /*place=*/IntegerAttr(), /*shard=*/ShardingAttr());
  environment.tensors[spec.value] = {
      meta.type, meta.shape, {}, param.getResult(), 0};
  model.parameters.push_back(
      {spec.name, spec.value, std::make_shared<StoredTensor>(*stored)});
  return success();
}

LogicalResult Importer::addConstant(const InputSpec &spec) {
  const StoredTensor *stored = findStored(spec);
  if (!stored)
    return failure();
  for (const ImportedTensor &parameter : model.parameters)
    if (parameter.tensor->path == stored->path)
      return error() << "has the buffer '" << spec.name
                     << "', which shares its values with the parameter '"
                     << parameter.name
                     << "' and would change with it: read the parameter, or "
                        "make the buffer a copy";
  Expected<std::vector<char>> bytes = readTensor(*model.archive, *stored);
  if (!bytes)
    return error() << toString(bytes.takeError());
  const TensorMeta &meta = stored->meta;
  environment.tensors[spec.value] = {
      meta.type,
      meta.shape,
      HostTensor::fromBytes(meta.type, meta.shape, *bytes),
      {},
      0};
  if (spec.isPersistent)
    model.buffers.push_back(
        {spec.name, spec.value, std::make_shared<StoredTensor>(*stored)});
  return success();
}

LogicalResult Importer::addPersistentBuffers() {
  // What a text and an executable can reasonably have.
  constexpr int64_t most = int64_t(1) << 30;
  int64_t total = 0;
  for (const ImportedTensor &buffer : model.buffers)
    total += countElements(buffer.tensor->meta.shape) *
             byteSize(buffer.tensor->meta.type);
  if (total > most) {
    model.notes.push_back("the persistent buffers have " +
                          std::to_string(total) +
                          " bytes, more than 2^30: --export will not write "
                          "them; load what it writes with strict=False");
    model.buffers.clear();
  }
  NamedAttrList buffers;
  for (const ImportedTensor &buffer : model.buffers) {
    Expected<std::vector<char>> bytes =
        readTensor(*model.archive, *buffer.tensor);
    if (!bytes)
      return error() << toString(bytes.takeError());
    buffers.append(buffer.name, makeElements(context, buffer.name,
                                             buffer.tensor->meta, *bytes));
  }
  if (!buffers.empty())
    model.module.get()->setAttr(kBuffersAttr, buffers.getDictionary(context));
  return success();
}
