//===- plan.cpp - `ppopt plan` --------------------------------------------===//

#include "commands.h"
#include "compilation.h"
#include "plan_flags.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace ppopt;

static constexpr Flag outputFlags[] = {
    {"json", ValueKind::Switch, "", "",
     "print the whole program's description, as the executable's "
     "--describe=json does"},
};

/// 1234567 as "1,234,567", right-aligned in a column of 18.
static void printCount(StringRef label, int64_t count) {
  std::string digits = std::to_string(count);
  for (int at = int(digits.size()) - 3; at > (count < 0); at -= 3)
    digits.insert(at, ",");
  outs() << "  " << left_justify(label, 16) << right_justify(digits, 18)
         << "\n";
}

static void printPlan(const mlir::pp::PlanOptions &plan,
                      const json::Object &program) {
  outs() << plan.source << ":";
  for (const mlir::pp::MeshAxis &axis : plan.mesh)
    outs() << " " << axis.name << "=" << axis.size;
  if (const json::Object *made = program.getObject("plan"))
    outs() << ", batch " << made->getInteger("batch").value_or(0);
  outs() << ", microbatches " << plan.microbatches << ", " << plan.schedule
         << ", " << plan.optimizer << ", threads " << plan.threads << ", "
         << plan.cpu << "\n\nbytes of a rank\n";

  const json::Array *places = program.getArray("places");
  const json::Object *place =
      places && !places->empty() ? places->front().getAsObject() : nullptr;
  if (const json::Object *arena = place ? place->getObject("arena") : nullptr) {
    // All that docs/program.md has, in its order of the arena; several regions
    // may be of one kind.
    SmallVector<std::pair<StringRef, int64_t>> kinds = {
        {"record", 0},    {"parameters", 0}, {"gradients", 0},
        {"optimizer", 0}, {"inputs", 0},     {"activations", 0},
        {"packed", 0},    {"workspace", 0},  {"communication", 0}};
    if (const json::Array *regions = arena->getArray("regions"))
      for (const json::Value &value : *regions) {
        const json::Object *region = value.getAsObject();
        StringRef kind = region->getString("kind").value_or("");
        int64_t bytes = region->getInteger("bytes").value_or(0);
        auto *found =
            find_if(kinds, [&](auto &known) { return known.first == kind; });
        if (found == kinds.end())
          kinds.emplace_back(kind, bytes);
        else
          found->second += bytes;
      }
    for (auto &[kind, bytes] : kinds)
      printCount(kind, bytes);
    printCount("all", arena->getInteger("bytes").value_or(0));
  }
  outs() << "\na rank's step\n";
  if (const json::Object *predicted =
          place ? place->getObject("predicted") : nullptr) {
    printCount("FLOPs", predicted->getInteger("flops").value_or(0));
    printCount("launches", predicted->getInteger("launches").value_or(0));
    printCount("bytes sent", predicted->getInteger("bytes_sent").value_or(0));
  }
}

static int run(const Arguments &arguments) {
  FailureOr<mlir::pp::PlanOptions> plan = makePlan(planCommand, arguments);
  if (failed(plan))
    return 1;
  Compilation compilation(*plan, arguments.has("werror"));
  if (failed(compilation.parse()) ||
      failed(compilation.run(mlir::pp::Phase::Native)))
    return 1;

  StringRef text = mlir::pp::getProgramJson(compilation.getModule());
  if (arguments.has("json")) {
    outs() << text << "\n";
    return 0;
  }
  Expected<json::Value> program = json::parse(text);
  if (!program)
    return fail(planCommand,
                "the compiler's description of the program is broken: " +
                    toString(program.takeError()));
  printPlan(*plan, *program->getAsObject());
  return 0;
}

static const ArrayRef<Flag> groups[] = {outputFlags, getPlanFlags()};

const Command ppopt::planCommand = {
    "plan",
    "prints memory, work and traffic of a plan; runs nothing",
    "MODEL",
    R"(Compiles the model in the file MODEL under a parallel plan as far as the layout of
memory, and prints the bytes of a rank by kind and what a step computes and
sends. The executable's own counters agree with these exactly.

  ppopt plan gpt.mlir --mesh dp=2 --microbatches 4
)",
    groups,
    run};
