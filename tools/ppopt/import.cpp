//===- import.cpp - `ppopt import`: models of torch.export ----------------===//

#include "commands.h"
#include "write_file.h"

#include "ppopt/Driver/FixedBatch.h"
#include "ppopt/Import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::ImportedModel;
using mlir::pp::ImportLoss;

namespace {
struct ImportFlags {
  std::string output, weights, loss, targets = "targets", batchDim;
  bool listsUnsupported = false;
};
} // namespace

static void declare(CommandLine &line, ImportFlags &flags) {
  line.output("o", flags.output,
              "the model file; the parameters are written beside it");
  line.output("weights", flags.weights,
              "the parameters' values (default: the model file's name with "
              ".safetensors)");
  line.choice("loss", "NAME", {{"cross_entropy", "mse", "bce"}}, flags.loss,
              "add a loss to a graph that returns none, of its first float "
              "result: cross_entropy of classes in the last dimension, mse, or "
              "bce, the binary cross entropy of logits");
  line.text("targets", "NAME", flags.targets,
            "with --loss: the name of the input that it adds");
  line.text("batch-dim", "DIM|INPUT=DIM,…", flags.batchDim,
            "the dimension of inputs that is the batch, counted from 0 "
            "(default: 0): of each input that has it, or of these. The model "
            "takes such an input with the batch first");
  line.toggle("list-unsupported", flags.listsUnsupported,
              "only print each op that is not supported with its line of "
              "Python");
}

static ImportLoss findLoss(StringRef name) {
  if (name == "cross_entropy")
    return ImportLoss::CrossEntropy;
  if (name == "mse")
    return ImportLoss::Mse;
  return name == "bce" ? ImportLoss::Bce : ImportLoss::None;
}

/// Reads "1" or "x=1,y=0"; returns why it cannot.
static std::string readBatchDims(StringRef text,
                                 std::vector<mlir::pp::BatchDim> &dims) {
  if (text.empty())
    return "";
  for (StringRef part : split(text, ',')) {
    auto [input, number] = part.rsplit('=');
    if (!part.contains('='))
      std::swap(input, number);
    int64_t dim = 0;
    if (number.getAsInteger(10, dim) || dim < 0 ||
        (part.contains('=') && input.empty()))
      return "--batch-dim: '" + part.str() +
             "' is neither a dimension, 0 or more, nor INPUT=DIM, e.g. x=1";
    for (const mlir::pp::BatchDim &other : dims)
      if (other.input == input)
        return "--batch-dim: " +
               (input.empty() ? "a dimension of all inputs"
                              : "the dimension of '" + input.str() + "'") +
               " is given twice";
    dims.push_back({input.str(), dim});
  }
  return "";
}

/// Prints "FILE:LINE: error: …" without the source's text, which is not there
/// where a model is imported.
static void printDiagnostic(mlir::Diagnostic &diagnostic) {
  if (auto where = dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation())) {
    errs() << where.getFilename().getValue() << ":";
    if (where.getLine() > 0)
      errs() << where.getLine() << ":";
    errs() << " ";
  }
  bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
  errs() << (isError ? "error: " : "note: ") << diagnostic << "\n";
}

/// "[4, 6]"
static std::string spellShape(mlir::RankedTensorType type) {
  std::string text;
  raw_string_ostream out(text);
  out << "[";
  interleaveComma(type.getShape(), out);
  out << "]";
  return text;
}

/// "x f32 [4, 6]", or "x f32 [4, 6] (forward's [6, 4])"
static std::string describe(const mlir::pp::ImportedInput &input) {
  std::string text;
  raw_string_ostream(text) << input.name << " " << input.type.getElementType()
                           << " " << spellShape(input.type)
                           << (input.isBatchFirst
                                   ? ""
                                   : " (forward's " +
                                         spellShape(input.exported) + ")");
  return text;
}

static std::string makeText(const ImportedModel &model, const CommandLine &line,
                            StringRef weights) {
  std::string text;
  raw_string_ostream out(text);
  out << "// Imported from " << sys::path::filename(line.positional)
      << ", which PyTorch " << model.torchVersion << " exported.\n"
      << "// " << line.getLine() << "\n"
      << "// The parameters' values: --init " << sys::path::filename(weights)
      << "\n\n";
  mlir::pp::printModel(*model.module, out);
  return text;
}

/// What to run next.
static void printRecipe(const ImportedModel &model, StringRef file,
                        StringRef weights) {
  bool isMoved = llvm::any_of(
      model.inputs, [](const auto &input) { return !input.isBatchFirst; });
  outs() << "inputs, of which the first dimension is the batch"
         << (isMoved ? ", in DATA.safetensors too" : "") << ":\n";
  for (const mlir::pp::ImportedInput &input : model.inputs)
    outs() << "  " << describe(input) << "\n";
  outs() << "next:\n"
         << "  ppopt compile " << file << " --mesh dp=2 -o train\n"
         << "  mpirun -np 2 ./train --init " << weights
         << " --inputs DATA.safetensors --steps 100 --lr 1e-4 --export "
            "trained.safetensors\n"
         << "DATA.safetensors has a tensor with all rows for each input.\n";
}

static int runImport(CommandLine &line, const mlir::pp::CompilationSetup &) {
  ImportFlags flags;
  declare(line, flags);
  if (std::optional<int> status = line.parse())
    return *status;
  mlir::MLIRContext context;
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    printDiagnostic(diagnostic);
    return mlir::success();
  });
  mlir::pp::ImportOptions options;
  options.path = line.positional;
  options.loss = findLoss(flags.loss);
  options.targets = flags.targets;
  options.onlyChecks = flags.listsUnsupported;
  if (std::string wrong = readBatchDims(flags.batchDim, options.batchDims);
      !wrong.empty())
    return failUsage(importCommand, wrong);
  mlir::FailureOr<ImportedModel> model =
      mlir::pp::importModel(&context, options);
  if (failed(model))
    return 1;
  if (options.onlyChecks) {
    outs() << "all ops are supported\n";
    return 0;
  }
  if (model->hasBatchSymbol)
    if (std::string where = mlir::pp::markFixedBatch(
            *model->module, model->resized ? *model->resized : nullptr);
        !where.empty())
      model->notes.push_back(
          "the number of rows is a number in the model, at " + where +
          ": it cannot have another --batch");
  const std::string &file = flags.output;
  if (file.empty())
    return failUsage(importCommand, "give the model file: -o model.mlir");
  SmallString<128> weights(flags.weights);
  if (weights.empty()) {
    weights = file;
    sys::path::replace_extension(weights, ".safetensors");
  }
  if (failed(writeFile(importCommand, file, makeText(*model, line, weights))))
    return 1;
  if (std::string why = mlir::pp::writeWeights(*model, weights); !why.empty())
    return fail(importCommand, weights + ": " + why);
  for (const std::string &note : model->notes)
    errs() << options.path << ": note: " << note << "\n";
  printRecipe(*model, file, weights);
  return 0;
}

const Command ppopt::importCommand = {
    "import", "makes a model file of a torch.export archive", "MODEL.pt2",
    "Makes a model file and a file of initial parameters of what PyTorch\n"
    "exported:\n"
    "\n"
    "  torch.export.save(torch.export.export(model, (x, y)), \"m.pt2\")\n"
    "\n"
    "The module returns its loss, or --loss adds one. Ops that do not depend "
    "on\n"
    "inputs or parameters are computed now. Errors and the ops of the model\n"
    "file point to the lines of Python.",
    runImport};
