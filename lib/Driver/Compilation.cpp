//===- Compilation.cpp - Compiles a model under a plan --------------------===//

#include "ppopt/Driver/Compilation.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ChoosePlan.h"
#include "ParserErrors.h"

#include "ppopt/Analysis/PlanSchedule.h"
#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/Origin.h"
#include "ppopt/Driver/ModelHash.h"
#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Support/ReadFile.h"
#include "ppopt/Support/WriteFile.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/byte_amount.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/thread.h"

using namespace mlir;
using namespace mlir::pp;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  return registry;
}

/// Says what a module of phase model was compiled from.
static void recordOrigin(ModuleOp module, const PlanOptions &plan,
                         StringRef hash) {
  setOrigin(module, {llvm::sys::path::stem(plan.source), plan.source, hash,
                     plan.command});
}

/// Warns about places that have almost no work, under a plan that is given or
/// chosen.
static void warnOfIdlePlaces(ModuleOp module, bool isChosen) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan) || plan->getLaunch() == Launch::local ||
      plan->getPlaces() == 1)
    return;
  FailureOr<PlanReport> report = reportSchedule(module);
  if (failed(report))
    return;
  // With less work than this share, a step without the place is hardly slower.
  constexpr double least = 0.1;
  auto busiest = llvm::min_element(
      report->places, [](const PlaceReport &a, const PlaceReport &b) {
        return a.idleShare < b.idleShare;
      });
  double most = 1 - busiest->idleShare, idleShare = 1;
  SmallVector<std::string> idle;
  for (auto [number, place] : llvm::enumerate(report->places))
    if (1 - place.idleShare < least * most) {
      idle.push_back(std::to_string(number));
      idleShare = std::min(idleShare, place.idleShare);
    }
  if (idle.empty())
    return;
  constexpr size_t shown = 6;
  std::string names = llvm::join(ArrayRef(idle).take_front(shown), ", ");
  if (idle.size() > shown)
    names += " and " + std::to_string(idle.size() - shown) + " more";
  bool isOne = idle.size() == 1;
  emitWarning(plan->getLoc())
      << (isOne ? "place " : "places ") << names << (isOne ? " is" : " are")
      << " predicted to be idle "
      << llvm::formatv(isOne ? "{0:f1} %" : "{0:f1} % or more", 100 * idleShare)
             .str()
      << " of the step, place " << (busiest - report->places.begin()) << " "
      << llvm::formatv("{0:f1} %", 100 * busiest->idleShare).str()
      << ": the model's work does not spread over --mesh pp="
      << report->places.size()
      << (isChosen ? ", which --plan auto has chosen; give fewer --ranks"
                   : "; use --mesh pp=" +
                         std::to_string(report->places.size() - idle.size()))
      << ", or move work there (pp.on)";
}

/// Returns the schedule file if the location is in it, null otherwise.
static StringAttr getOtherFile(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  return named && isa<UnknownLoc>(named.getChildLoc()) ? named.getName()
                                                       : StringAttr();
}

/// Adds notes with the iterations of repeats that an error's ops come from
/// (UnrollRepeats.cpp).
static void nameIterations(Diagnostic &found) {
  SmallVector<Location> about = {found.getLocation()};
  for (const Diagnostic &note : found.getNotes())
    about.push_back(note.getLocation());
  for (Location loc : about)
    loc->walk([&](Location inner) {
      if (auto copy = dyn_cast<FusedLocWith<StringAttr>>(inner))
        found.attachNote(copy.getLocations().back())
            << "in iteration " << copy.getMetadata().getValue()
            << " of this repeat";
      return WalkResult::advance();
    });
}

/// A program that is compiled beside the one that trains: it has diagnostics of
/// its own, and so a context.
struct Compilation::Beside {
  /// The context works on the threads of `pool`.
  explicit Beside(llvm::ThreadPoolInterface &pool)
      : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.setThreadPool(pool);
  }
  ~Beside() { wait(); }

  void wait() {
    if (thread.joinable())
      thread.join();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  /// Why it can't be compiled, and where.
  std::string refused, refusedAt;
  int64_t arena = 0; ///< its bytes
  llvm::thread thread;
};

/// Returns the bytes of the arena of the first place, after phase kernels.
static int64_t getFirstArena(ModuleOp module) {
  int64_t bytes = 0;
  for (auto region : module.getOps<RegionOp>())
    if (region.getPlace() == 0 && !region->hasAttr(kOverlaidAttr))
      bytes += region.getBytes();
  return bytes;
}

static bool cutsParameters(ModuleOp module) {
  return llvm::any_of(module.getOps<ParamDeclOp>(), [](ParamDeclOp param) {
    auto sharding = param->getAttrOfType<ShardingAttr>(kShardingAttr);
    return sharding && !sharding.isWhole();
  });
}

Compilation::Compilation(const PlanOptions &plan, CompilationSetup setup)
    : plan(plan), setup(std::move(setup)), context(makeRegistry()),
      diagnostics(std::make_unique<SourceMgrDiagnosticHandler>(
          sources, &context, llvm::errs())) {
  // The user did not write the op in its current form: do not print it.
  context.printOpOnDiagnostic(false);
  // Registered last, so called first. It counts, and leaves printing to the
  // other handler. It replaces the text of some errors of the parser.
  counter = context.getDiagEngine().registerHandler([this](Diagnostic &found) {
    errorCount += found.getSeverity() == DiagnosticSeverity::Error;
    warningCount += found.getSeverity() == DiagnosticSeverity::Warning;
    nameIterations(found);
    if (found.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    if (auto file = getOtherFile(found.getLocation())) {
      llvm::errs() << file.getValue() << ": error: " << found << "\n";
      citesTable = true;
      return success();
    }
    if (module)
      return failure();
    if (errorCount > 1 && repeatsParserError(found))
      return success();
    std::string text = explainParserError(found, sources);
    if (!text.empty())
      diagnostics->emitDiagnostic(found.getLocation(), text,
                                  found.getSeverity());
    return success(!text.empty());
  });
}

Compilation::~Compilation() { context.getDiagEngine().eraseHandler(counter); }

/// Returns the offset where brackets are nested deeper than `most`, where a
/// recursive parser would run out of stack. Ignores strings and comments.
static std::optional<size_t> findTooDeep(StringRef text, unsigned most) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    StringRef rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("->") || rest.starts_with("<=") ||
               rest.starts_with(">=")) {
      ++i;
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if (StringRef("([{<").contains(text[i])) {
      if (++depth > most)
        return i;
    } else if (StringRef(")]}>").contains(text[i]) && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

/// The limit on nested brackets in a model's text.
static constexpr unsigned mostNesting = 256;

static OwningOpRef<ModuleOp> parseModule(llvm::SourceMgr &sources,
                                         MLIRContext &context,
                                         const PlanOptions &plan) {
  auto module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (module) {
    setThresholds(*module, plan.thresholds);
    setDevice(*module, shareDevice(plan.device, plan.getNeighbours()));
    setCluster(*module, plan.cluster);
  }
  return module;
}

LogicalResult Compilation::parse() {
  auto file = ppopt::readTextFile(plan.source);
  if (!file) {
    llvm::errs() << plan.source << ": error: cannot read the model: "
                 << toString(file.takeError()) << "\n";
    return failure();
  }
  StringRef text = (*file)->getBuffer();
  unsigned buffer = sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  if (std::optional<size_t> at = findTooDeep(text, mostNesting)) {
    auto [line, column] = sources.getLineAndColumn(
        llvm::SMLoc::getFromPointer(text.data() + *at), buffer);
    llvm::errs() << plan.source << ":" << line << ":" << column
                 << ": error: brackets are nested more than " << mostNesting
                 << " deep; no model needs that\n";
    return failure();
  }
  module = parseModule(sources, context, plan);
  return success(bool(module));
}

std::unique_ptr<Compilation> Compilation::copyParsed() const {
  auto copy = std::make_unique<Compilation>(plan, setup);
  copy->context.disableMultithreading();
  // The text has been parsed before, with its warnings.
  ScopedDiagnosticHandler silence(&copy->context,
                                  [](Diagnostic &) { return success(); });
  copy->sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(
          sources.getMemoryBuffer(1)->getMemBufferRef()),
      {});
  copy->module = parseModule(copy->sources, copy->context, plan);
  return copy;
}

LogicalResult Compilation::runPhase(ModuleOp module, Phase phase,
                                    const PlanOptions &plan, Checks checks) {
  PassManager manager(module.getContext());
  buildPhasePipeline(phase, manager, plan, setup.extend, checks);
  // The many conversions to LLVM are always verified once, after the last.
  manager.enableVerifier(setup.verifiesPasses && phase != Phase::Native);
  if (failed(manager.run(module)))
    return failure();
  return success(checks == Checks::WithoutProofs || succeeded(verify(module)));
}

OwningOpRef<ModuleOp> Compilation::tryPlan(const PlanOptions &plan, Phase last,
                                           std::string *reason,
                                           AfterPhase after, Checks checks) {
  ScopedDiagnosticHandler silence(&context, [&](Diagnostic &found) {
    if (reason && reason->empty() &&
        found.getSeverity() == DiagnosticSeverity::Error)
      *reason = found.str();
    return success();
  });
  // A schedule table is the user's, not a decision of the compiler.
  if (plan.table)
    checks = Checks::All;
  OwningOpRef<ModuleOp> copy = module->clone();
  for (Phase phase : getPhases()) {
    if (failed(runPhase(*copy, phase, plan, checks)) ||
        (after && failed(after(phase, *copy))))
      return nullptr;
    if (phase == last)
      break;
  }
  return copy;
}

LogicalResult Compilation::advance(Phase phase, StringRef dumpFolder) {
  if (failed(runPhase(*module, phase, plan))) {
    if (errorCount == 0)
      llvm::errs() << plan.source << ": error: phase " << stringifyPhase(phase)
                   << " failed without a reason; please report this model\n";
    // The cause may be the plan that the schedule table implies.
    if (phase <= Phase::Scheduled && !plan.tablePath.empty() && !citesTable)
      llvm::errs() << plan.tablePath
                   << ": note: places, stages and microbatches are those of "
                      "this schedule\n";
    // A search compiles up to the layout of memory.
    if (phase <= Phase::Kernels && !triedFlags.empty())
      llvm::errs() << plan.source << ": note: --plan auto has chosen "
                   << triedFlags
                   << ", which compiled until it was to be proved: this is a "
                      "defect of ppopt; please report it with the model and "
                      "the flags\n";
    return failure();
  }
  if (phase == Phase::Placed && !plan.tablePath.empty())
    if (FailureOr<PlanOp> op = findPlan(*module); succeeded(op))
      nameTable(*op, plan.tablePath);
  if (phase == Phase::Model)
    recordOrigin(*module, plan, hashModel(*module));
  if (phase == Phase::Scheduled && plan.program == ProgramKind::Training)
    warnOfIdlePlaces(*module, !triedFlags.empty());
  if (phase == Phase::Kernels && plan.deviceMemory && cutsParameters(*module))
    cutArena = getFirstArena(*module);
  if (setup.isStrict && warningCount > 0) {
    llvm::errs() << plan.source << ": error: " << warningCount
                 << (warningCount == 1 ? " warning" : " warnings")
                 << ", which --werror makes errors\n";
    return failure();
  }
  return dumpFolder.empty() ? success() : dump(*module, phase, dumpFolder, "");
}

LogicalResult Compilation::run(Phase last, StringRef dumpFolder) {
  for (Phase phase : getPhases().drop_front(phasesRun)) {
    if (phase > last)
      break;
    if (hasFailed || failed(advance(phase, dumpFolder))) {
      hasFailed = true;
      return failure();
    }
    ++phasesRun;
  }
  return success();
}

/// Returns a place in the user's file.
static std::string describe(Location loc, StringRef source) {
  if (auto at = loc->findInstanceOf<FileLineColLoc>())
    return llvm::formatv("{0}:{1}:{2}", at.getFilename().getValue(),
                         at.getLine(), at.getColumn());
  return source.str();
}

void Compilation::runPhases(Beside &beside, const PlanOptions &plan,
                            StringRef name, StringRef hash,
                            StringRef dumpFolder) {
  ScopedDiagnosticHandler silence(&beside.context, [&](Diagnostic &found) {
    if (beside.refused.empty() &&
        found.getSeverity() == DiagnosticSeverity::Error) {
      beside.refused = found.str();
      beside.refusedAt = describe(found.getLocation(), plan.source);
    }
    return success();
  });
  llvm::SourceMgr text;
  text.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(
                              sources.getMemoryBuffer(1)->getMemBufferRef()),
                          {});
  beside.module = parseModule(text, beside.context, plan);
  for (Phase phase : getPhases()) {
    if (failed(runPhase(*beside.module, phase, plan)))
      return;
    if (phase == Phase::Model)
      recordOrigin(*beside.module, plan, hash);
    if (phase == Phase::Kernels)
      beside.arena = getFirstArena(*beside.module);
    if (!dumpFolder.empty())
      (void)dump(*beside.module, phase, dumpFolder, (name + "-").str());
  }
  beside.refused.clear();
}

std::unique_ptr<Compilation::Beside>
Compilation::compileBeside(PlanOptions plan, StringRef name,
                           StringRef dumpFolder) {
  auto beside = std::make_unique<Beside>(context.getThreadPool());
  std::string hash = getOrigin(*module).hash.str();
  beside->thread =
      llvm::thread(std::optional<unsigned>(kStackBytes),
                   [this, &beside = *beside, hash, plan = std::move(plan),
                    name = name.str(), folder = dumpFolder.str()] {
                     runPhases(beside, plan, name, hash, folder);
                   });
  return beside;
}

void Compilation::addPrograms(bool generates, StringRef dumpFolder) {
  if (failed(run(Phase::Model, dumpFolder)))
    return;
  if (generates)
    generator = compileBeside(plan.forGenerator(), "generator", dumpFolder);
  if (hasOutputs(*findEntry(*module)))
    predictor = compileBeside(plan.forPredictor(), "predictor", dumpFolder);
}

void Compilation::choosePlan(raw_ostream &notes) {
  chooseWithinMemory(*this, plan, notes);
  chooseSchedule(*this, plan, notes);
}

/// Returns the folder that contains bin/ppopt and lib/libppopt_runtime.a.
static std::string getPrefix() {
  static int anchor;
  std::string tool = llvm::sys::fs::getMainExecutable("ppopt", &anchor);
  return llvm::sys::path::parent_path(llvm::sys::path::parent_path(tool)).str();
}

std::string Compilation::whyNotGathered() const {
  if (!cutArena || *cutArena + generator->arena <= *plan.deviceMemory)
    return "";
  return "rank 0 takes " + ::ppopt::spellByteAmount(*cutArena) +
         " to train and " + ::ppopt::spellByteAmount(generator->arena) +
         " to generate with all parameters, together more than the " +
         ::ppopt::spellByteAmount(*plan.deviceMemory) +
         " that --device-memory allows: save a checkpoint with --checkpoint "
         "FOLDER, and generate with an executable that is compiled without "
         "--device-memory, by --init FOLDER/step-...";
}

LogicalResult Compilation::reject(const Twine &message) const {
  llvm::errs() << "ppopt compile: error: " << message << "\n";
  return failure();
}

/// Moves a file to a path that a user names, or leaves what is there unchanged.
/// Returns an error; empty on success.
static std::string moveWhole(const std::string &from, const std::string &path) {
  ppopt::WholeFile file;
  std::string error = file.open(path, /*mode=*/0777);
  if (error.empty() && !file.adopt(from)) {
    auto contents = llvm::MemoryBuffer::getFile(from);
    if (std::error_code failed = contents.getError())
      return "cannot read " + from + ": " + failed.message();
    error =
        file.write((*contents)->getBufferStart(), (*contents)->getBufferSize());
  }
  if (error.empty())
    error = file.commit(/*isDurable=*/false);
  return error.empty() ? "" : path + ": " + error;
}

LogicalResult Compilation::writeExecutable(StringRef path, StringRef folder) {
  std::string why = "the executable was compiled without the program that "
                    "generates: compile the model again, without "
                    "--no-generation";
  if (generator) {
    generator->wait();
    why = generator->refused.empty()
              ? whyNotGathered()
              : generator->refusedAt + ": " + generator->refused;
  }
  if (!why.empty())
    addRefusedGeneration(*module, why);
  SmallVector<NativeProgram> programs;
  auto add = [&](ModuleOp module, StringRef name, ProgramKind kind) {
    bool trains = kind == ProgramKind::Training;
    programs.push_back({module, (folder + "/" + name).str(),
                        trains ? "" : (name + ".").str(),
                        getSymbolPrefix(kind).str()});
  };
  add(*module, "training", ProgramKind::Training);
  if (why.empty())
    add(*generator->module, "generation", ProgramKind::Generation);
  if (predictor) {
    predictor->wait();
    if (!predictor->refused.empty()) {
      llvm::errs() << predictor->refusedAt
                   << ": error: the program that predicts the outputs can't be "
                      "compiled: "
                   << predictor->refused << "\n";
      return failure();
    }
    add(*predictor->module, "prediction", ProgramKind::Prediction);
  }
  std::string linked = (folder + "/linked").str();
  if (failed(findTarget(plan.target.name)
                 ->writeExecutable(programs, plan.target,
                                   setup.prefix.empty() ? getPrefix()
                                                        : setup.prefix,
                                   linked)))
    return failure();
  std::string error = moveWhole(linked, path.str());
  return error.empty() ? success() : reject(error);
}

LogicalResult Compilation::dump(ModuleOp module, Phase phase, StringRef folder,
                                StringRef prefix) {
  size_t number = llvm::find(getPhases(), phase) - getPhases().begin();
  SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::formatv("{0}{1}-{2}.mlir", prefix, number,
                                              stringifyPhase(phase))
                                    .str());
  std::string message;
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    message =
        "cannot make the folder '" + folder.str() + "': " + error.message();
  } else {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, OpPrintingFlags().enableDebugInfo());
    message = ppopt::writeWhole(path, text);
  }
  if (message.empty())
    return success();
  llvm::errs() << "ppopt compile: error: --dump-phases: " << message << "\n";
  return failure();
}
