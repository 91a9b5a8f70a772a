//===- DeclaredAttributes.cpp - What attributes an op may have ------------===//

#include "ppopt/Dialect/PP/DeclaredAttributes.h"
#include "ppopt/Dialect/PP/ClusterAttribute.h"

#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/InMicrobatch.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Origin.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Support/NearestNames.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

/// An attribute that is declared for one kind of holder.
struct Declaration {
  StringLiteral name;
  AttributeHolder::Kind holder;
  /// Whether the op can have it, or arguments or results of this function.
  bool (*isOf)(Operation *op);
  bool (*isValue)(Attribute value);
  StringLiteral value; ///< what it must be
  /// Whether the author of a model may write it.
  bool inModels = false;
};

} // namespace

template <typename... Ops> static bool isOf(Operation *op) {
  return isa<Ops...>(op);
}
static bool isAny(Operation *) { return true; }
template <typename Value> static bool isValue(Attribute value) {
  return isa<Value>(value);
}
static bool isNumber(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64);
}
static bool areShardings(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<ShardingAttr>);
}
static bool areStrings(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

static constexpr StringLiteral kNumber = "a whole number, i64";
static constexpr StringLiteral kSharding = "a #pp.sharding";
static constexpr StringLiteral kShardings = "a list of #pp.sharding";

static constexpr auto kOperation = AttributeHolder::Operation;
static constexpr auto kArgument = AttributeHolder::Argument;
static constexpr auto kResult = AttributeHolder::Result;

static constexpr Declaration kDeclarations[] = {
    {kInputAttr, kArgument, isOf<func::FuncOp>, isValue<StringAttr>, "a string",
     /*inModels=*/true},
    {kShiftAttr, kArgument, isOf<func::FuncOp>, isNumber, kNumber,
     /*inModels=*/true},
    {kShardAttr, kArgument, isOf<func::FuncOp>, isValue<ShardingAttr>,
     kSharding, /*inModels=*/true},
    {kMetricAttr, kResult, isOf<func::FuncOp>, isValue<StringAttr>, "a string",
     /*inModels=*/true},
    {kMetricCountAttr, kResult, isOf<func::FuncOp>, isValue<StringAttr>,
     "a string", /*inModels=*/true},
    {kOutputAttr, kResult, isOf<func::FuncOp>, isValue<StringAttr>, "a string",
     /*inModels=*/true},
    {kAliasesAttr, kOperation, isOf<ParamOp, ParamDeclOp>, areStrings,
     "a list of strings", /*inModels=*/true},
    {kFixedBatchAttr, kOperation, isOf<func::FuncOp>, isValue<StringAttr>,
     "a string", /*inModels=*/true},
    {kUnnamedBatchAttr, kOperation, isOf<func::FuncOp>, isValue<UnitAttr>,
     "no value", /*inModels=*/true},
    {kBuffersAttr, kOperation, isOf<ModuleOp>, arePersistentBuffers,
     "a dictionary of dense tensors of f64, f32, bf16, f16, i64, i32, i16, i8, "
     "ui8 or i1",
     /*inModels=*/true},
    {kThresholdsAttr, kOperation, isOf<ModuleOp>, isValue<DictionaryAttr>,
     "a dictionary", /*inModels=*/true},
    {kDeviceAttr, kOperation, isOf<ModuleOp>, isValue<DictionaryAttr>,
     "a dictionary", /*inModels=*/true},
    {kClusterAttr, kOperation, isOf<ModuleOp>, isValue<DictionaryAttr>,
     "a dictionary", /*inModels=*/true},
    {kOriginAttr, kOperation, isOf<ModuleOp>, isValue<DictionaryAttr>,
     "a dictionary", /*inModels=*/true},

    {kShardingAttr, kArgument, isOf<func::FuncOp, TaskOp>,
     isValue<ShardingAttr>, kSharding},
    {kShardingAttr, kResult, isOf<TaskOp>, isValue<ShardingAttr>, kSharding},
    {kShardingAttr, kOperation, isOf<InputDeclOp, ParamDeclOp>,
     isValue<ShardingAttr>, kSharding},
    {kLoopsAttr, kOperation, isOf<IterationSpaceOpInterface>,
     isValue<ShardingAttr>, kSharding},
    {kShardingsAttr, kOperation, isAny, areShardings, kShardings},
    {kReadsAttr, kOperation, isAny, areShardings, kShardings},

    {kProposalAttr, kResult, isOf<func::FuncOp>, isValue<StringAttr>,
     "a string"},
    {kInMicrobatchAttr, kOperation, isAny, isValue<UnitAttr>,
     "without a value"},
    {kCheckIdsAttr, kOperation, isOf<IterationSpaceOpInterface>,
     isValue<UnitAttr>, "without a value"},
    {kRoleAttr, kArgument, isOf<func::FuncOp, TaskOp>, isValue<RoleAttr>,
     "a #pp.role"},
    {kRoleAttr, kResult, isOf<func::FuncOp, TaskOp>, isValue<RoleAttr>,
     "a #pp.role"},
    {kRangeAttr, kArgument, isOf<func::FuncOp>, isNumber, kNumber},
    {kCountAttr, kArgument, isOf<TaskOp>, isValue<StringAttr>, "a string"},
    {kIdRangeAttr, kArgument, isOf<TaskOp>, isValue<IdRangeAttr>,
     "a #pp.id_range"},
    {kRecomputedAttr, kOperation, isOf<TaskOp>, isNumber, kNumber},

    {kSweepAttr, kOperation, isOf<ReduceOp>, isNumber, kNumber},
    {kSweepAttr, kResult, isOf<KernelOp>, isNumber, kNumber},
    {kLanesAttr, kOperation, isOf<ReduceOp>, isNumber, kNumber},
    {kPitchAttr, kArgument, isOf<KernelOp>, isNumber, kNumber},
    {kPitchAttr, kResult, isOf<KernelOp>, isNumber, kNumber},
    {kPitchAttr, kOperation, isAny, isValue<DenseI64ArrayAttr>,
     "a list of numbers"},
    {kOverlaidAttr, kOperation, isOf<RegionOp>, isValue<UnitAttr>,
     "without a value"},
    {kAccurateAttr, kOperation, isOf<ModuleOp>, isValue<UnitAttr>,
     "without a value"},
};

static bool isDeclaredFor(const Declaration &declaration,
                          const AttributeHolder &holder) {
  return declaration.holder == holder.kind && declaration.isOf(holder.op);
}

static const Declaration *findDeclaration(const AttributeHolder &holder,
                                          StringRef name) {
  const Declaration *found =
      llvm::find_if(kDeclarations, [&](const Declaration &declaration) {
        return declaration.name == name && isDeclaredFor(declaration, holder);
      });
  return found == std::end(kDeclarations) ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Begins an error with the holder: "argument 1 of @f ".
static InFlightDiagnostic emitAbout(const AttributeHolder &holder) {
  Operation *op = holder.op;
  auto symbol = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  std::string function = "@" + (symbol ? symbol.str() : "") + " ";
  switch (holder.kind) {
  case AttributeHolder::Operation:
    if (isa<ModuleOp>(op))
      return op->emitError("the module ");
    if (isa<func::FuncOp>(op))
      return op->emitError("function ") << function;
    return op->emitOpError();
  case AttributeHolder::Argument: {
    // The body, if there is one, need not fit the signature yet.
    Region &body = op->getRegion(0);
    Location loc = !body.empty() && holder.number < body.getNumArguments()
                       ? body.getArgument(holder.number).getLoc()
                       : op->getLoc();
    return emitError(loc) << "argument " << holder.number << " of " << function;
  }
  case AttributeHolder::Result:
    return op->emitError("result ") << holder.number << " of " << function;
  }
  llvm_unreachable("all holders are listed");
}

/// Returns the part of a name that is compared with another.
static StringRef dropPrefix(StringRef name) {
  name.consume_front_insensitive("pp.");
  return name;
}

/// Emits that the holder takes no such attribute, but others that the author of
/// a model may write.
static LogicalResult refuse(const AttributeHolder &holder, StringRef name) {
  SmallVector<StringRef> known;
  if (holder.kind == AttributeHolder::Operation)
    llvm::append_range(known, holder.op->getName().getAttributeNames());
  for (const Declaration &declaration : kDeclarations)
    if (declaration.inModels && isDeclaredFor(declaration, holder))
      known.push_back(declaration.name);
  InFlightDiagnostic diag = emitAbout(holder)
                            << "takes no attribute '" << name << "'";
  auto nearest = ::ppopt::findNearest(name, known, dropPrefix);
  if (!nearest.empty())
    return diag << ::ppopt::askWhether(nearest);
  if (known.empty())
    return diag << ", nor any other";
  return diag << "; it takes " << llvm::join(known, ", ");
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult pp::verifyDeclared(AttributeHolder holder, NamedAttribute attr) {
  StringRef name = attr.getName();
  const Declaration *declaration = findDeclaration(holder, name);
  if (!declaration)
    return refuse(holder, name);
  if (!declaration->isValue(attr.getValue()))
    return emitAbout(holder) << "has " << name << " = " << attr.getValue()
                             << ", which must be " << declaration->value;
  return success();
}

LogicalResult pp::verifyDeclared(Operation *op) {
  // The op's dialect verifies those with a prefix.
  for (NamedAttribute attr : op->getDiscardableAttrs())
    if (!attr.getName().getValue().contains('.'))
      return refuse({AttributeHolder::Operation, op}, attr.getName());
  return success();
}

LogicalResult pp::verifyModelAttributes(AttributeHolder holder,
                                        ArrayRef<NamedAttribute> attrs) {
  for (NamedAttribute attr : attrs) {
    StringRef name = attr.getName();
    if (name.contains('.') && !name.starts_with_insensitive("pp."))
      continue;
    const Declaration *declaration = findDeclaration(holder, name);
    if (!declaration || !declaration->inModels)
      return refuse(holder, name);
  }
  return success();
}

LogicalResult PPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  return verifyDeclared({AttributeHolder::Operation, op}, attr);
}

LogicalResult PPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned number,
                                                  NamedAttribute attr) {
  return verifyDeclared({AttributeHolder::Argument, op, number}, attr);
}

LogicalResult PPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned number,
                                                     NamedAttribute attr) {
  return verifyDeclared({AttributeHolder::Result, op, number}, attr);
}
