//===- PPDialect.cpp - The pp dialect and its attributes ------------------===//

#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ModelTypes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::pp;

#include "ppopt/Dialect/PP/Interfaces.cpp.inc"
#include "ppopt/Dialect/PP/PPDialect.cpp.inc"
#include "ppopt/Dialect/PP/PPEnums.cpp.inc"

namespace mlir::pp {
#include "ppopt/Dialect/PP/PPTypes.cpp.inc"
} // namespace mlir::pp

/// The name of a mesh axis: quoted if it is no identifier.
static ParseResult parseAxisName(AsmParser &parser, StringAttr &axis) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  axis = StringAttr::get(parser.getContext(), name);
  return success();
}

static void printAxisName(AsmPrinter &printer, StringAttr axis) {
  printer.printKeywordOrString(axis.getValue());
}

/// A word of an enumeration. `words` lists them for the error.
template <typename Enum>
static FailureOr<Enum> parseWord(AsmParser &parser,
                                 std::optional<Enum> (*symbolize)(StringRef),
                                 StringRef words) {
  SMLoc loc = parser.getCurrentLocation();
  std::string word;
  if (parser.parseKeywordOrString(&word))
    return failure();
  if (std::optional<Enum> found = symbolize(word))
    return *found;
  return parser.emitError(loc) << "'" << word << "' is none of " << words;
}

/// The sizes of a space: 4x16.
static ParseResult parseSizes(AsmParser &parser, SmallVector<int64_t> &sizes) {
  return parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                   /*withTrailingX=*/false);
}

static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  llvm::interleave(sizes, printer.getStream(), "x");
}

#define GET_TYPEDEF_CLASSES
#include "ppopt/Dialect/PP/PPTypeDefs.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ppopt/Dialect/PP/PPAttrs.cpp.inc"

void PPDialect::initialize() {
  // The element interface emits their ops, estimates of time ask it in any
  // phase.
  getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ppopt/Dialect/PP/PPTypeDefs.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ppopt/Dialect/PP/PPAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/ModelOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/ElementwiseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/CompositeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/AttentionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/IndexOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/BatchOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/ParallelOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/PlanOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/TaskOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/KernelOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ppopt/Dialect/PP/StepOps.cpp.inc"
      >();
}

Operation *PPDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// #pp.init
//===----------------------------------------------------------------------===//

/// Parses a float, or an integer in decimal digits, which parseFloat refuses.
static ParseResult parseReal(AsmParser &parser, double &number) {
  const char *text = parser.getCurrentLocation().getPointer();
  text += *text == '-';
  const char *digits = text;
  while (llvm::isDigit(*text))
    ++text;
  if (text == digits || *text == '.' || *text == 'x')
    return parser.parseFloat(number);
  int64_t whole;
  if (parser.parseInteger(whole))
    return failure();
  number = static_cast<double>(whole);
  return success();
}

/// Returns what the numbers of an initial value are, in order.
static SmallVector<StringRef, 2> getNumberNames(InitKind kind) {
  switch (kind) {
  case InitKind::Zeros:
  case InitKind::Ones:
    return {};
  case InitKind::Uniform:
    return {"low", "high"};
  case InitKind::Normal:
  case InitKind::TruncNormal:
    return {"mean", "standard deviation"};
  case InitKind::XavierUniform:
  case InitKind::XavierNormal:
    return {"gain"};
  case InitKind::KaimingUniform:
  case InitKind::KaimingNormal:
    return {"gain", "fan"};
  }
  llvm_unreachable("all initial values are listed");
}

/// `<zeros>`, `<uniform, low, high>`, `<xavier_normal, gain>`.
Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<InitKind> kind = symbolizeInitKind(keyword);
  if (!kind)
    return parser.emitError(loc, "unknown initial value '")
               << keyword
               << "'; use zeros, ones, uniform, normal, trunc_normal, "
                  "xavier_uniform, xavier_normal, kaiming_uniform or "
                  "kaiming_normal",
           Attribute();
  double numbers[2] = {};
  for (size_t i = 0, e = getNumberNames(*kind).size(); i < e; ++i)
    if (parser.parseComma() || parseReal(parser, numbers[i]))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<InitAttr>(loc, parser.getContext(), *kind,
                                     APFloat(numbers[0]), APFloat(numbers[1]));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyInitKind(getKind());
  APFloat numbers[] = {getFirst(), getSecond()};
  for (size_t i = 0, e = getNumberNames(getKind()).size(); i < e; ++i) {
    printer << ", ";
    printer.printFloat(numbers[i]);
  }
  printer << ">";
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               InitKind kind, APFloat first, APFloat second) {
  StringRef name = stringifyInitKind(kind);
  for (const APFloat &number : {first, second})
    if (!number.isFinite())
      return emitError() << name << " needs finite numbers, got "
                         << number.convertToDouble();
  if (kind == InitKind::Uniform && !(first < second))
    return emitError() << "uniform needs low < high, got "
                       << first.convertToDouble() << " and "
                       << second.convertToDouble();
  if ((kind == InitKind::Normal || kind == InitKind::TruncNormal) &&
      (second.isNaN() || second.isNegative()))
    return emitError() << name << " needs a standard deviation >= 0, got "
                       << second.convertToDouble();
  SmallVector<StringRef, 2> names = getNumberNames(kind);
  if (names.empty() || names.front() != "gain")
    return success();
  APFloat numbers[] = {first, second};
  for (auto [what, number] : llvm::zip(names, numbers))
    if (!number.isFinite() || !(number.convertToDouble() > 0))
      return emitError() << name << " needs a " << what << " above 0, got "
                         << number.convertToDouble();
  return success();
}

//===----------------------------------------------------------------------===//
// #pp.role, #pp.buffer
//===----------------------------------------------------------------------===//

/// Verifies that an attribute of a kind has a part if the kind needs it, and
/// only then.
static LogicalResult verifyPart(function_ref<InFlightDiagnostic()> emitError,
                                StringRef kind, StringRef article,
                                StringRef part, bool isThere, bool isNeeded) {
  if (isThere == isNeeded)
    return success();
  InFlightDiagnostic diag = emitError() << kind;
  if (isNeeded)
    return diag << " needs " << article << " " << part;
  return diag << " has no " << part;
}

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               RoleKind kind, StringRef, StringRef state) {
  return verifyPart(emitError, stringifyRoleKind(kind), "an", "optimizer state",
                    !state.empty(), kind == RoleKind::StateRange);
}

/// Returns whether a rank may have several buffers of a kind, told apart by
/// name.
static bool isNamed(BufferKind kind) {
  switch (kind) {
  case BufferKind::Params:
  case BufferKind::Param:
  case BufferKind::Grads:
  case BufferKind::State:
  case BufferKind::Input:
  case BufferKind::Global:
  case BufferKind::Check:
  case BufferKind::Cache:
  case BufferKind::Master:
  case BufferKind::Metric:
  case BufferKind::MetricCount:
  case BufferKind::Proposal:
  case BufferKind::Output:
    return true;
  case BufferKind::Slots:
  case BufferKind::Temps:
  case BufferKind::Workspace:
  case BufferKind::StepState:
  case BufferKind::Inbox:
  case BufferKind::UpdateState:
  case BufferKind::UpdateTemps:
  case BufferKind::Loss:
  case BufferKind::Norm:
  case BufferKind::Scratch:
    return false;
  }
  llvm_unreachable("all kinds are listed");
}

LogicalResult BufferAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 BufferKind kind, StringRef name,
                                 StringRef state, BufferAttr of) {
  StringRef word = stringifyBufferKind(kind);
  return success(
      succeeded(verifyPart(emitError, word, "a", "name", !name.empty(),
                           isNamed(kind))) &&
      succeeded(verifyPart(emitError, word, "an", "optimizer state",
                           !state.empty(), kind == BufferKind::State)) &&
      succeeded(verifyPart(emitError, word, "a", "buffer that is summed",
                           static_cast<bool>(of),
                           kind == BufferKind::Scratch)));
}

MemoryKind BufferAttr::getMemoryKind() const {
  switch (getKind()) {
  case BufferKind::Params:
  case BufferKind::Param:
  case BufferKind::Proposal:
    return MemoryKind::Parameters;
  case BufferKind::Grads:
    return MemoryKind::Gradients;
  case BufferKind::State:
    return MemoryKind::Optimizer;
  case BufferKind::Input:
    return MemoryKind::Inputs;
  case BufferKind::Slots:
  case BufferKind::Temps:
  case BufferKind::UpdateTemps:
  case BufferKind::Output:
    return MemoryKind::Activations;
  case BufferKind::Workspace:
    return MemoryKind::Workspace;
  case BufferKind::StepState:
  case BufferKind::UpdateState:
  case BufferKind::Loss:
  case BufferKind::Norm:
  case BufferKind::Global:
  case BufferKind::Check:
  case BufferKind::Metric:
  case BufferKind::MetricCount:
    return MemoryKind::StepState;
  case BufferKind::Cache:
    return MemoryKind::Caches;
  case BufferKind::Scratch:
  case BufferKind::Inbox:
    return MemoryKind::Communication;
  case BufferKind::Master:
    return MemoryKind::Masters;
  }
  llvm_unreachable("all kinds are listed");
}

//===----------------------------------------------------------------------===//
// #pp.group
//===----------------------------------------------------------------------===//

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> axes,
                                ArrayRef<int64_t> among) {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (llvm::is_contained(axes.take_front(i), axis))
      return emitError() << "names the axis " << axis << " twice";
  bool spansPlaces = llvm::any_of(axes, [](StringAttr axis) {
    return ppopt::geometry::useOf(axis.getValue()) ==
           ppopt::geometry::AxisUse::Places;
  });
  if (!among.empty() && !spansPlaces)
    return emitError() << "selects places, and '" << ppopt::geometry::placeAxis
                       << "' is not one of its axes";
  for (size_t i = 1; i < among.size(); ++i)
    if (among[i - 1] >= among[i])
      return emitError() << "has place " << among[i] << " after "
                         << among[i - 1] << ": places are in ascending order";
  return success();
}

ppopt::geometry::Group GroupAttr::getGeometry() const {
  ppopt::geometry::Group group;
  for (StringAttr axis : getAxes())
    group.axes.push_back(axis.str());
  group.among.assign(getAmong().begin(), getAmong().end());
  return group;
}
