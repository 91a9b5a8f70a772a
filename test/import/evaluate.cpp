//===- evaluate.cpp - The constants that an archive's graph returns -------===//
//
//   ppopt-evaluate ARCHIVE   a line of JSON for each result that is a constant
//   ppopt-evaluate --list    the ops that are computed
//   ppopt-evaluate --rows    the ops that are made
//
// As `ppopt import` computes them; errors are its own.
//
//===----------------------------------------------------------------------===//

#include "EvaluateConstants.h"
#include "ImportGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static void writeNumber(raw_ostream &out, double value) {
  if (std::isnan(value))
    out << "NaN";
  else if (std::isinf(value))
    out << (value < 0 ? "-Infinity" : "Infinity");
  else if (value == 0) // "-0" would be an integer
    out << (std::signbit(value) ? "-0.0" : "0.0");
  else
    out << format("%.17g", value);
}

static void writeResult(raw_ostream &out, StringRef name,
                        const HostTensor &value) {
  out << "{\"name\": \"" << name << "\", \"type\": \"" << spell(value.getType())
      << "\", \"shape\": [";
  interleaveComma(value.getShape(), out);
  out << "], \"values\": [";
  bool isFirst = true;
  HostTensor::forEachIndex(value.getShape(), [&](ArrayRef<int64_t> index) {
    out << (std::exchange(isFirst, false) ? "" : ", ");
    if (value.isFloat())
      writeNumber(out, value.getReal(index));
    else
      out << value.getInteger(index);
  });
  out << "]}\n";
}

/// The constants of the program; other inputs are none.
static Environment readConstants(const Archive &archive,
                                 const ExportedProgram &program) {
  ExitOnError check("ppopt-evaluate: ");
  Environment environment;
  for (const InputSpec &input : program.inputs)
    for (const auto *list : {&program.weights, &program.constants}) {
      auto found = list->find(input.name);
      if (found == list->end())
        continue;
      const TensorMeta &meta = found->second.meta;
      environment.tensors[input.value] = {
          meta.type,
          meta.shape,
          HostTensor::fromBytes(meta.type, meta.shape,
                                check(readTensor(archive, found->second))),
          {},
          0};
    }
  return environment;
}

int main(int argc, char **argv) {
  if (argc == 2 && StringRef(argv[1]) == "--list") {
    for (StringRef op : listEvaluated())
      outs() << op << "\n";
    return 0;
  }
  if (argc == 2 && StringRef(argv[1]) == "--rows") {
    for (const OpRow *row : listOpRows())
      outs() << row->op << "\n";
    return 0;
  }
  ExitOnError check("ppopt-evaluate: ");
  std::unique_ptr<Archive> archive = check(Archive::open(argv[1]));
  ExportedProgram program = check(readProgram(*archive));
  Environment environment = readConstants(*archive, program);
  MLIRContext context;
  context.loadDialect<PPDialect, func::FuncDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  Emitter emit(builder);
  std::vector<std::string> outputs;
  for (const OutputSpec &output : program.outputs)
    outputs.push_back(output.value);
  RunningStatistics statistics = findRunningStatistics(program);
  // Each call has its own error.
  (void)GraphImporter(program, statistics, environment, emit, &context, argv[1])
      .run(outputs);
  for (const OutputSpec &output : program.outputs) {
    auto found = environment.tensors.find(output.value);
    if (found != environment.tensors.end() && found->second.constant)
      writeResult(outs(), output.value, *found->second.constant);
  }
  return 0;
}
