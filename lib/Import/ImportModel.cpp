//===- ImportModel.cpp - Makes a model of an exported program -------------===//

#include "Importer.h"
#include "OutlineModules.h"
#include "RecogniseComposites.h"
#include "SizeExpression.h"

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

ImportedModel::ImportedModel() = default;
ImportedModel::~ImportedModel() = default;
ImportedModel::ImportedModel(ImportedModel &&) = default;
ImportedModel &ImportedModel::operator=(ImportedModel &&) = default;

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
