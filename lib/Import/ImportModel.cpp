//===- ImportModel.cpp - Makes a model of an exported program -------------===//

#include "ImportGraph.h"
#include "OutlineModules.h"
#include "RecogniseComposites.h"

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
           ImportedModel &model, const ExportedProgram &program)
      : context(context), options(options), model(model), program(program),
        where(FileLineColLoc::get(context, options.path, 0, 0)),
        builder(context), emit(builder) {}

  LogicalResult run();

private:
  LogicalResult checkOutputs();
  LogicalResult addInput(const InputSpec &spec);
  LogicalResult addParameter(const InputSpec &spec);
  LogicalResult checkAgrees(const InputSpec &spec, const TensorMeta &stored);
  LogicalResult addConstant(const InputSpec &spec);
  FailureOr<InitAttr> describeInit(const StoredTensor &stored);
  Value findLoss();
  Value addLoss(Value output);
  const StoredTensor *findStored(const InputSpec &spec);
  InFlightDiagnostic error() { return emitError(where); }

  MLIRContext *context;
  const ImportOptions &options;
  ImportedModel &model;
  const ExportedProgram &program;
  Location where;
  OpBuilder builder;
  Emitter emit;
  func::FuncOp entry;
  Environment environment;
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

LogicalResult Importer::checkOutputs() {
  for (const OutputSpec &output : program.outputs) {
    if (output.kind == OutputSpec::Kind::BufferMutation)
      return error() << "updates the buffer '" << output.target
                     << "' in each step (running statistics?), which models "
                        "cannot yet: export in evaluation mode, or use a "
                        "module without it";
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
  RankedTensorType type = emit.tensorType(meta.type, meta.shape);
  unsigned number = entry.getNumArguments();
  NamedAttribute name =
      builder.getNamedAttr("pp.input", builder.getStringAttr(spec.name));
  if (failed(entry.insertArgument(number, type, builder.getDictionaryAttr(name),
                                  where)))
    return failure();
  environment.tensors[spec.value] = {
      meta.type, meta.shape, {}, entry.getArgument(number), 0};
  model.inputs.push_back({spec.name, type});
  return success();
}

/// Zeros, ones, or the mean and the deviation that the values have: what a run
/// without --init draws.
FailureOr<InitAttr> Importer::describeInit(const StoredTensor &stored) {
  auto make = [&](InitKind kind, double first, double second) {
    return InitAttr::get(context, kind, APFloat(first), APFloat(second));
  };
  if (options.onlyChecks)
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

LogicalResult Importer::addParameter(const InputSpec &spec) {
  const StoredTensor *stored = findStored(spec);
  if (!stored)
    return failure();
  const TensorMeta &meta = stored->meta;
  if (failed(checkAgrees(spec, meta)))
    return failure();
  for (const ImportedParameter &other : model.parameters)
    if (other.name == spec.name)
      return error() << "has the parameter '" << spec.name << "' twice";
  if (!pt2::isFloat(meta.type) || !emit.elementType(meta.type))
    return error() << "has the parameter '" << spec.name << "' of "
                   << spell(meta.type)
                   << ": export with float32, float64 or bfloat16";
  if (countElements(meta.shape) == 0)
    return error() << "has the empty parameter '" << spec.name << "'";
  for (ImportedParameter &other : model.parameters) {
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
  FailureOr<InitAttr> init = describeInit(*stored);
  if (failed(init))
    return failure();
  auto param = ParamOp::create(
      builder, where, emit.tensorType(meta.type, meta.shape), spec.name, *init,
      /*frozen=*/!meta.requiresGrad, /*no_decay=*/false,
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
  return success();
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// The first output that is one float; without one, `loss` of the first float
/// output.
Value Importer::findLoss() {
  Value first;
  std::string firstName;
  SmallVector<std::string> dropped;
  Value loss;
  for (const OutputSpec &output : program.outputs) {
    if (output.value.empty())
      continue;
    const Tensor &tensor = environment.tensors.find(output.value)->second;
    bool isScalar = tensor.getRank() == 0 && pt2::isFloat(tensor.type);
    if (!loss && isScalar && options.loss == ImportLoss::None) {
      loss = emit.value(tensor);
    } else {
      if (!first && tensor.value && pt2::isFloat(tensor.type)) {
        first = tensor.value;
        firstName = output.value;
      }
      dropped.push_back(output.value);
    }
  }
  if (!loss && options.loss != ImportLoss::None) {
    if (!first) {
      error() << "has no float output of which --loss could be made";
      return nullptr;
    }
    loss = addLoss(first);
    llvm::erase(dropped, firstName);
  }
  if (!loss) {
    error() << "returns no loss, which is one float: export a module that "
               "returns it, or add --loss cross_entropy, mse or bce";
    return nullptr;
  }
  if (!dropped.empty())
    model.notes.push_back("the model's other results are dropped: " +
                          join(dropped, ", "));
  return loss;
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
  RankedTensorType targets =
      emit.tensorType(isClasses ? Dtype::i64 : type, shape);
  unsigned number = entry.getNumArguments();
  NamedAttribute name =
      builder.getNamedAttr("pp.input", builder.getStringAttr(options.targets));
  if (failed(entry.insertArgument(number, targets,
                                  builder.getDictionaryAttr(name), where)))
    return nullptr;
  model.inputs.push_back({options.targets, targets});
  Value target = entry.getArgument(number);
  if (isClasses)
    return emit.make<CrossEntropyOp>(output, target, IntegerAttr());
  if (options.loss == ImportLoss::Mse)
    return emit.make<MseOp>(output, target);
  // softplus(x) - x y, the stable form of binary cross entropy of logits.
  Value each =
      emit.sub(emit.make<SoftplusOp>(output), emit.mul(output, target));
  Shape dims;
  for (int64_t dim = 0; dim < Emitter::rankOf(each); ++dim)
    dims.push_back(dim);
  return emit.reduce(ReduceKind::Mean, each, dims, /*keepDims=*/false);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult Importer::run() {
  GraphImporter graph(program, environment, emit, context, options.path);
  model.module = ModuleOp::create(where);
  builder.setInsertionPointToEnd(model.module->getBody());
  entry = func::FuncOp::create(builder, where, "model",
                               builder.getFunctionType({}, {}));
  Block *body = entry.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  emit.setLoc(where);
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
    case InputSpec::Kind::Constant:
      added = addConstant(spec);
      break;
    case InputSpec::Kind::UserConstant:
      break; // the graph is specialised to it
    }
    if (failed(added))
      return failure();
  }
  if (failed(graph.run()) || failed(checkOutputs()))
    return failure();
  if (options.onlyChecks)
    return success();
  llvm::append_range(model.notes, graph.getNotes());
  emit.setLoc(where);
  Value loss = findLoss();
  if (!loss)
    return failure();
  if (std::string why = emit.takeError(); !why.empty())
    return error() << "returns what no loss can be made of: " << why;
  func::ReturnOp::create(builder, where, loss);
  entry.setFunctionType(builder.getFunctionType(
      entry.getBody().front().getArgumentTypes(), loss.getType()));
  recogniseComposites(entry);
  outlineModules(entry);
  return verify(*model.module);
}

} // namespace

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
  if (failed(Importer(context, options, model, *program).run()))
    return failure();
  return std::move(model);
}
