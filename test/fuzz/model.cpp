//===- model.cpp - Fuzzes models on their way through all phases ----------===//
//
// The input is a model file whose first line is a comment with flags of
// `ppopt plan`:
//
//   // --mesh dp=2,pp=2 --schedule zb-h1 --microbatches 4
//
// What passes is taken through all phases to LLVM IR, which must verify, and
// its document must be one that the runtime takes.
//
//===----------------------------------------------------------------------===//

#include "commands.h"
#include "input_file.h"
#include "mutate_model.h"
#include "mutator.h"
#include "plan_flags.h"
#include "plan_page.h"
#include "plan_text.h"

#include "ppopt/Driver/Compilation.h"
#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Report/Trace.h"
#include "program/why_refused.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Compilation;
using mlir::pp::Phase;

/// Ends the run as a finding.
static void require(bool holds, StringRef what) {
  if (holds)
    return;
  errs() << "fuzz: " << what << "\n";
  std::abort();
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  mlir::registerMLIRContextCLOptions();
  const char *arguments[] = {"fuzz", "--mlir-disable-threading"};
  return !cl::ParseCommandLineOptions(2, arguments);
}

/// The words of the first line, the model's path, and, unless they say
/// otherwise, a processor and threads that are the same on every machine.
static std::vector<std::string> getWords(StringRef text, StringRef path) {
  std::vector<std::string> words;
  StringRef line = text.split('\n').first;
  if (line.consume_front("//"))
    for (StringRef word : split(line, ' '))
      if (!word.empty())
        words.push_back(word.str());
  words.push_back(path.str());
  auto isMissing = [&](StringRef flag) {
    return none_of(words,
                   [&](StringRef word) { return word.starts_with(flag); });
  };
  if (isMissing("--cpu"))
    words.insert(words.end(), {"--cpu", "x86-64-v3"});
  if (isMissing("--threads"))
    words.insert(words.end(), {"--threads", "1"});
  return words;
}

/// Flags that reach for other files.
static bool namesFile(ArrayRef<std::string> words) {
  auto schedule = find(words, "--schedule");
  return is_contained(words, "-") ||
         any_of(words,
                [](StringRef word) {
                  return word.starts_with("--schedule=") && isFile(word);
                }) ||
         (schedule != words.end() && std::next(schedule) != words.end() &&
          isFile(*std::next(schedule)));
}

static void checkReport(Compilation &compilation,
                        mlir::pp::PlanReport &report) {
  const mlir::pp::PlanOptions &plan = compilation.getPlan();
  require(succeeded(mlir::pp::addMemory(compilation.getModule(), report)) &&
              succeeded(mlir::pp::addCounts(compilation.getModule(), report)),
          "the plan's memory and counts can't be told");
  printReport(plan, report, nulls());
  if (plan.launch == ppopt::schema::Launch::ranks) {
    schedule::writePage(makePage(plan, report));
    schedule::writeTrace(report.timeline, report.graph, {1, report.edgeNames});
  }
  FailureOr<ppopt::schema::Program> program =
      mlir::pp::buildProgram(compilation.getModule());
  require(succeeded(program), "the program's document can't be made");
  std::string wrong = ppopt::runtime::whyRefused(*program);
  require(wrong.empty(), wrong);
}

static void checkNative(mlir::ModuleOp module) {
  LLVMContext context;
  std::unique_ptr<Module> native =
      mlir::translateModuleToLLVMIR(module, context);
  require(native && !verifyModule(*native, &errs()), "the LLVM IR is wrong");
}

/// A compiler that finds its own defect has one.
static void refuseDefects(mlir::MLIRContext &context) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    std::string text = diagnostic.str();
    require(!StringRef(text).contains("please report"), text);
    return mlir::failure(); // for the other handlers
  });
}

/// Runs the phases up to `last`; a failure must have said why.
static bool advance(Compilation &compilation, Phase last) {
  if (succeeded(compilation.run(last)))
    return true;
  require(compilation.hasErrors(), "a phase failed without an error");
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  InputFile file(data, size);
  std::vector<std::string> words =
      getWords({reinterpret_cast<const char *>(data), size}, file.path());
  SmallVector<const char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(word.c_str());
  CommandLine line(planCommand, pointers);
  PlanFlags flags(line);
  if (namesFile(words) || line.parse() || flags.complete())
    return 0;
  Compilation compilation(flags.plan);
  if (failed(compilation.parse())) {
    require(compilation.hasErrors(), "the model was refused without an error");
    return 0;
  }
  refuseDefects(*compilation.getModule().getContext());
  compilation.choosePlan(nulls());
  if (!advance(compilation, Phase::Scheduled))
    return 0;
  FailureOr<mlir::pp::PlanReport> report =
      mlir::pp::reportSchedule(compilation.getModule());
  require(succeeded(report), "the plan can't be told");
  if (!advance(compilation, Phase::Kernels))
    return 0;
  checkReport(compilation, *report);
  if (advance(compilation, Phase::Native))
    checkNative(compilation.getModule());
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateText(data, size, most, seed, [&](std::string_view text) {
    return fuzz::mutateModel(std::string(text), seed);
  });
}
