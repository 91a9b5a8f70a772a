//===- ImportModel.cpp - Makes a model of an exported program -------------===//

#include "ImportGraph.h"
#include "OutlineModules.h"
#include "RecogniseComposites.h"
#include "SizeExpression.h"
#include "StoredElements.h"

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

ImportedModel::ImportedModel() = default;
ImportedModel::~ImportedModel() = default;
ImportedModel::ImportedModel(ImportedModel &&) = default;
ImportedModel &ImportedModel::operator=(ImportedModel &&) = default;

namespace {

class Importer {
public:
  Importer(MLIRContext *context, const ImportOptions &options,
           ImportedModel &model, const ExportedProgram &program,
           bool readsValues)
      : context(context), options(options), model(model), program(program),
        statistics(findRunningStatistics(program)),
        readsValues(readsValues && !options.onlyChecks),
        where(FileLineColLoc::get(context, options.path, 0, 0)),
        builder(context), emit(builder) {}

  LogicalResult run();

private:
  bool isStatistic(const OutputSpec &output) const;
  LogicalResult checkOutputs();
  FailureOr<Value> addArgument(StringRef name, RankedTensorType type);
  LogicalResult checkBatchDims();
  LogicalResult addInput(const InputSpec &spec);
  LogicalResult addParameter(const InputSpec &spec,
                             std::optional<InitKind> ofState = {});
  LogicalResult checkAgrees(const InputSpec &spec, const TensorMeta &stored);
  LogicalResult addConstant(const InputSpec &spec);
  LogicalResult addPersistentBuffers();
  FailureOr<InitAttr> describeInit(const StoredTensor &stored);
  void chooseResult();
  Value findLoss();
  Value addLoss(Value output);
  void noteUnreadInputs();
  const StoredTensor *findStored(const InputSpec &spec);
  InFlightDiagnostic error() { return emitError(where); }

  MLIRContext *context;
  const ImportOptions &options;
  ImportedModel &model;
  const ExportedProgram &program;
  RunningStatistics statistics;
  bool readsValues; ///< of parameters
  Location where;
  OpBuilder builder;
  Emitter emit;
  func::FuncOp entry;
  Environment environment;
  const OutputSpec *result = nullptr; ///< of the loss
  std::vector<std::string> results;   ///< what is computed
};

const StoredTensor *Importer::findStored(const InputSpec &spec) {
  for (const auto *list : {&program.weights, &program.constants}) {
    auto found = list->find(spec.name);
    if (found != list->end())
      return &found->second;
  }
  error() << "has no values of '" << spec.name << "': save the archive again";
  return nullptr;
}

/// Returns whether the output is what a batch norm makes of its buffer, or a
/// number of batches.
bool Importer::isStatistic(const OutputSpec &output) const {
  for (const InputSpec &spec : program.inputs) {
    if (spec.kind != InputSpec::Kind::Buffer || spec.name != output.target)
      continue;
    if (statistics.counters.contains(output.value))
      return true;
    auto found = statistics.buffers.find(spec.value);
    return found != statistics.buffers.end() &&
           found->second.updated == output.value;
  }
  return false;
}

LogicalResult Importer::checkOutputs() {
  for (const OutputSpec &output : program.outputs) {
    if (output.kind == OutputSpec::Kind::BufferMutation && isStatistic(output))
      continue;
    if (output.kind == OutputSpec::Kind::BufferMutation)
      return error() << "updates the buffer '" << output.target
                     << "' in each step, which only batch norms can: export "
                        "in evaluation mode, use a module without it, or "
                        "write a pp.propose into the model's text";
    if (output.kind == OutputSpec::Kind::Other)
      return error() << "has an output of the kind '" << output.target
                     << "': export the module's forward alone";
  }
  return success();
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

/// Returns which dimension of an input is the batch.
static int64_t findBatchDim(const ImportOptions &options, StringRef input,
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

/// Returns the symbol that all inputs have as their batch; empty if none has
/// one.
static StringRef findBatchSymbol(const ExportedProgram &program,
                                 const ImportOptions &options) {
  for (const InputSpec &spec : program.inputs) {
    if (spec.kind != InputSpec::Kind::User)
      continue;
    const TensorMeta &meta = program.graph.tensors.find(spec.value)->second;
    int64_t dim = findBatchDim(options, spec.name, meta.shape.size());
    if (!meta.expressions[dim].empty())
      return meta.expressions[dim];
  }
  return "";
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

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// Chooses the output that the loss is, or is made of. Without one, all are
/// kept, for --list-unsupported.
void Importer::chooseResult() {
  bool isMade = options.loss != ImportLoss::None;
  auto isUsers = [](const OutputSpec &output) {
    return output.kind == OutputSpec::Kind::User && !output.value.empty();
  };
  auto fits = [&](const OutputSpec &output) {
    auto found = program.graph.tensors.find(output.value);
    return isUsers(output) && found != program.graph.tensors.end() &&
           found->second.unknownType.empty() &&
           pt2::isFloat(found->second.type) &&
           isMade != found->second.shape.empty();
  };
  for (const OutputSpec &output : program.outputs) {
    if (!fits(output))
      continue;
    bool isNamed = !isMade && output.key == "loss";
    if (!result || (isNamed && result->key != "loss"))
      result = &output;
  }
  for (const OutputSpec &output : program.outputs)
    if (isUsers(output) && (!result || result == &output))
      results.push_back(output.value);
}

Value Importer::findLoss() {
  if (!result) {
    error() << (options.loss != ImportLoss::None
                    ? "has no output of which --loss could be made: a float "
                      "tensor that is no number"
                    : "returns no loss, which is one float: export a module "
                      "that returns it, or add --loss cross_entropy, mse or "
                      "bce");
    return nullptr;
  }
  SmallVector<std::string> dropped;
  for (const OutputSpec &output : program.outputs)
    if (&output != result && output.kind == OutputSpec::Kind::User &&
        !output.value.empty())
      dropped.push_back(output.key.empty() ? output.value : output.key);
  if (!dropped.empty())
    model.notes.push_back("the model's other results are dropped: " +
                          join(dropped, ", "));
  const Tensor &tensor = environment.tensors.find(result->value)->second;
  if (options.loss == ImportLoss::None)
    return emit.value(tensor);
  if (tensor.value)
    return addLoss(tensor.value);
  error() << "returns a constant, of which --loss cannot be made";
  return nullptr;
}

Value Importer::addLoss(Value output) {
  Shape shape(Emitter::shapeOf(output));
  Dtype type = Emitter::typeOf(output);
  if (shape.empty()) {
    error() << "returns one number, which --loss cannot be made of";
    return nullptr;
  }
  bool isClasses = options.loss == ImportLoss::CrossEntropy;
  if (isClasses && shape.size() < 2) {
    error() << "returns a tensor of one dimension, and --loss cross_entropy "
               "needs classes in the last one";
    return nullptr;
  }
  if (isClasses)
    shape.pop_back();
  FailureOr<Value> target = addArgument(
      options.targets, emit.tensorType(isClasses ? Dtype::i64 : type, shape));
  if (failed(target))
    return nullptr;
  if (isClasses)
    return emit.make<CrossEntropyOp>(output, *target, IntegerAttr(),
                                     /*label_smoothing=*/TypedAttr());
  if (options.loss == ImportLoss::Mse)
    return emit.make<MseOp>(output, *target);
  return emit.make<BceWithLogitsOp>(output, *target);
}

/// An export that is given one tensor for two inputs reads one input for both.
void Importer::noteUnreadInputs() {
  for (auto [argument, input] : llvm::zip(entry.getArguments(), model.inputs))
    if (argument.use_empty())
      model.notes.push_back(
          "nothing reads the input '" + input.name +
          "'; if the export was given one tensor for several inputs, give it "
          "one for each");
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult Importer::run() {
  GraphImporter graph(program, statistics, environment, emit, context,
                      options.path);
  model.module = ModuleOp::create(where);
  builder.setInsertionPointToEnd(model.module->getBody());
  entry = func::FuncOp::create(builder, where, "model",
                               builder.getFunctionType({}, {}));
  Block *body = entry.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  emit.setLoc(where);
  SmallVector<std::string> counters;
  for (const InputSpec &spec : program.inputs) {
    LogicalResult added = success();
    switch (spec.kind) {
    case InputSpec::Kind::User:
      added = addInput(spec);
      break;
    case InputSpec::Kind::Parameter:
      added = addParameter(spec);
      break;
    case InputSpec::Kind::Buffer:
      if (auto found = statistics.buffers.find(spec.value);
          found != statistics.buffers.end()) {
        added = addParameter(spec, found->second.reset);
        break;
      }
      if (statistics.counters.contains(spec.value))
        counters.push_back(spec.name);
      added = addConstant(spec);
      break;
    case InputSpec::Kind::Constant:
      added = addConstant(spec);
      break;
    case InputSpec::Kind::UserConstant:
      break; // the graph is specialised to it
    }
    if (failed(added))
      return failure();
  }
  if (!counters.empty())
    model.notes.push_back("batches are not counted, and " +
                          join(counters, ", ") +
                          ": as exported; no norm with a momentum reads it");
  chooseResult();
  if (failed(graph.run(results)) || failed(checkOutputs()))
    return failure();
  if (options.onlyChecks)
    return success();
  llvm::append_range(model.notes, graph.getNotes());
  emit.setLoc(where);
  Value loss = findLoss();
  if (!loss || failed(checkBatchDims()))
    return failure();
  if (std::string why = emit.takeError(); !why.empty())
    return error() << "returns what no loss can be made of: " << why;
  func::ReturnOp::create(builder, where, loss);
  entry.setFunctionType(builder.getFunctionType(
      entry.getBody().front().getArgumentTypes(), loss.getType()));
  model.hasBatchSymbol = !findBatchSymbol(program, options).empty();
  if (!model.hasBatchSymbol)
    entry->setAttr(kUnnamedBatchAttr, builder.getUnitAttr());
  recogniseComposites(entry);
  noteUnreadInputs();
  outlineModules(entry);
  if (readsValues && failed(addPersistentBuffers()))
    return failure();
  return verify(*model.module);
}

} // namespace

/// Returns other rows that the export takes.
static int64_t chooseRows(const ExportedProgram &program, StringRef symbol,
                          int64_t rows) {
  auto found = program.mostOf.find(symbol);
  int64_t most = found == program.mostOf.end() ? mostElements : found->second;
  if (3 * rows <= most)
    return 3 * rows;
  return rows < most ? rows + 1 : rows - 1;
}

/// Imports the program again with other rows, if a Dim names them.
static void importResized(MLIRContext *context, const ImportOptions &options,
                          ExportedProgram program, ImportedModel &model) {
  std::string expression = findBatchSymbol(program, options).str();
  StringRef symbol = getSymbol(expression);
  if (symbol.empty())
    return;
  int64_t rows = model.inputs.front().type.getDimSize(0);
  if (!setSymbol(program, symbol, chooseRows(program, symbol, rows)))
    return;
  // What cannot be imported with other rows is fixed to these.
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  ImportedModel resized;
  resized.archive = std::move(model.archive);
  if (succeeded(Importer(context, options, resized, program,
                         /*readsValues=*/false)
                    .run()))
    model.resized = std::move(resized.module);
  model.archive = std::move(resized.archive);
}

FailureOr<ImportedModel> pp::importModel(MLIRContext *context,
                                         const ImportOptions &options) {
  context->loadDialect<PPDialect, func::FuncDialect>();
  Location where = FileLineColLoc::get(context, options.path, 0, 0);
  Expected<std::unique_ptr<Archive>> archive = Archive::open(options.path);
  if (!archive) {
    emitError(where) << toString(archive.takeError());
    return failure();
  }
  Expected<ExportedProgram> program = readProgram(**archive);
  if (!program) {
    emitError(where) << toString(program.takeError());
    return failure();
  }
  ImportedModel model;
  model.archive = std::move(*archive);
  model.torchVersion = program->torchVersion;
  if (failed(Importer(context, options, model, *program, /*readsValues=*/true)
                 .run()))
    return failure();
  if (!options.onlyChecks)
    importResized(context, options, std::move(*program), model);
  return std::move(model);
}
