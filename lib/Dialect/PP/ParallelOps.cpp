//===- ParallelOps.cpp - Places, tasks, kernels ---------------------------===//

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// pp.on, pp.place, pp.copy, pp.add_grad
//===----------------------------------------------------------------------===//

/// Verifies a region on a place, whose yield returns its results.
template <typename OpT> static LogicalResult verifyOnPlace(OpT op) {
  auto yield = dyn_cast<YieldOp>(op.getBody().front().getTerminator());
  if (!yield)
    return op.emitOpError("ends in pp.yield");
  if (yield.getOperandTypes() != op.getResultTypes())
    return op.emitOpError("yields ")
           << yield.getNumOperands()
           << " values whose types are not those of its results";
  if (op.getPlace() < 0)
    return op.emitOpError("place ") << op.getPlace() << " is negative";
  return success();
}

LogicalResult OnOp::verify() { return verifyOnPlace(*this); }
LogicalResult PlaceOp::verify() { return verifyOnPlace(*this); }

LogicalResult CopyOp::verify() {
  if (getFrom() == getTo())
    return emitOpError("goes from place ") << getFrom() << " to itself";
  if ((getMicrobatch() || getSlot()) &&
      !isa<ScheduleOp>((*this)->getParentOp()))
    return emitOpError("has a microbatch or a slot outside of a schedule");
  return success();
}

/// A constant has no place.
OpFoldResult CopyOp::fold(FoldAdaptor adaptor) { return adaptor.getX(); }

void YieldOp::build(OpBuilder &, OperationState &) {}
void ReturnOp::build(OpBuilder &, OperationState &) {}

LogicalResult AddGradOp::verify() {
  auto param = getParam().getDefiningOp<ParamOp>();
  if (!param)
    return emitOpError("adds to the gradient of a value that is not a "
                       "pp.param");
  if (param.getFrozen())
    return emitOpError("adds to the gradient of the frozen parameter '")
           << param.getParamName() << "'";
  if (!cast<PlaceOp>((*this)->getParentOp()).getBackward())
    return emitOpError("adds to the gradient of '")
           << param.getParamName()
           << "' outside of a backward region: no task would add it";
  if (getTiles().value_or(1) < 1)
    return emitOpError("adds a share of ") << *getTiles() << " tiles";
  return success();
}

//===----------------------------------------------------------------------===//
// Function-like ops
//===----------------------------------------------------------------------===//

/// Parses `@name(args) -> (results) attributes {..} {body}` after what the op
/// itself has parsed.
template <typename OpT>
static ParseResult parseFunctionLike(OpAsmParser &parser,
                                     OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(),
                             result.attributes) ||
      function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, args, isVariadic, resultTypes,
          resultAttrs))
    return failure();
  SmallVector<Type> argTypes;
  for (OpAsmParser::Argument &arg : args)
    argTypes.push_back(arg.type);
  result.addAttribute(OpT::getFunctionTypeAttrName(result.name),
                      TypeAttr::get(parser.getBuilder().getFunctionType(
                          argTypes, resultTypes)));
  call_interface_impl::addArgAndResultAttrs(
      parser.getBuilder(), result, args, resultAttrs,
      OpT::getArgAttrsAttrName(result.name),
      OpT::getResAttrsAttrName(result.name));
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), args);
}

template <typename OpT>
static void printFunctionLike(OpAsmPrinter &printer, OpT op,
                              ArrayRef<StringRef> hidden) {
  printer.printSymbolName(op.getSymName());
  call_interface_impl::printFunctionSignature(
      printer, op.getArgumentTypes(), op.getArgAttrsAttr(),
      /*isVariadic=*/false, op.getResultTypes(), op.getResAttrsAttr(),
      &op.getBody(), /*printEmptyResult=*/false);
  SmallVector<StringRef> elided(hidden);
  elided.append({op.getSymNameAttrName(), op.getFunctionTypeAttrName(),
                 op.getArgAttrsAttrName(), op.getResAttrsAttrName()});
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

/// Verifies that the body returns the types of the signature.
template <typename OpT> static LogicalResult verifyReturn(OpT op) {
  if (op.getBody().empty())
    return op.emitOpError("has no body");
  auto ret = dyn_cast<ReturnOp>(op.getBody().front().getTerminator());
  if (!ret)
    return op.emitOpError("ends in pp.return");
  if (ret.getOperandTypes() != op.getFunctionType().getResults())
    return ret.emitOpError(
               "returns values whose types are not the results of @")
           << op.getSymName();
  return success();
}

//===----------------------------------------------------------------------===//
// pp.task
//===----------------------------------------------------------------------===//

/// `pp.task forward stage 0 on 1 @name(...)`.
ParseResult TaskOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  int64_t stage = kNoStage, place = 0;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<TaskKind> kind = symbolizeTaskKind(keyword);
  if (!kind)
    return parser.emitError(loc, "unknown kind of task '") << keyword << "'";
  if (succeeded(parser.parseOptionalKeyword("stage")) &&
      parser.parseInteger(stage))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("on")) &&
      parser.parseInteger(place))
    return failure();
  result.addAttribute(getKindAttrName(result.name),
                      TaskKindAttr::get(parser.getContext(), *kind));
  result.addAttribute(getStageAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(stage));
  result.addAttribute(getPlaceAttrName(result.name),
                      parser.getBuilder().getI64IntegerAttr(place));
  return parseFunctionLike<TaskOp>(parser, result);
}

void TaskOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyTaskKind(getKind());
  if (getStage() != kNoStage)
    printer << " stage " << getStage();
  if (getPlace() != 0)
    printer << " on " << getPlace();
  printer << ' ';
  printFunctionLike(
      printer, *this,
      {getKindAttrName(), getStageAttrName(), getPlaceAttrName()});
}

void TaskOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   TaskKind kind, int64_t stage, int64_t place,
                   FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getKindAttrName(state.name),
                     TaskKindAttr::get(builder.getContext(), kind));
  state.addAttribute(getStageAttrName(state.name),
                     builder.getI64IntegerAttr(stage));
  state.addAttribute(getPlaceAttrName(state.name),
                     builder.getI64IntegerAttr(place));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

/// What has no role is a value.
static RoleAttr getRoleOr(RoleAttr role, MLIRContext *context) {
  return role ? role : RoleAttr::get(context, RoleKind::Value, "");
}

RoleAttr TaskOp::getArgRole(unsigned i) {
  return getRoleOr(getArgAttrOfType<RoleAttr>(i, kRoleAttr), getContext());
}

RoleAttr TaskOp::getResultRole(unsigned i) {
  return getRoleOr(getResultAttrOfType<RoleAttr>(i, kRoleAttr), getContext());
}

/// Returns whether the result of a role updates the argument of the same role
/// in place.
static bool mustBeTied(RoleKind kind) {
  switch (kind) {
  case RoleKind::Param:
  case RoleKind::Grad:
  case RoleKind::Loss:
  case RoleKind::Global:
  case RoleKind::ParamRange:
  case RoleKind::GradRange:
  case RoleKind::StateRange:
  case RoleKind::Norm:
  case RoleKind::Cache:
  case RoleKind::Check:
  case RoleKind::Metric:
  case RoleKind::MetricCount:
  case RoleKind::Proposal:
    return true;
  case RoleKind::Input:
  case RoleKind::Value:
  case RoleKind::StepState:
  case RoleKind::Output:
    return false;
  }
  llvm_unreachable("all roles are listed");
}

std::optional<unsigned> TaskOp::getTiedArgument(unsigned resultNumber) {
  RoleAttr role = getResultRole(resultNumber);
  if (!mustBeTied(role.getKind()) || !getArgAttrs())
    return std::nullopt;
  // Runs once per result, over all arguments: each check must be cheap.
  auto name = StringAttr::get(getContext(), kRoleAttr);
  for (auto [i, attributes] :
       llvm::enumerate(getArgAttrs()->getAsRange<DictionaryAttr>()))
    if (attributes.get(name) == role)
      return i;
  return std::nullopt;
}

SmallVector<TaskOperand> TaskOp::getBoundOperands() {
  SmallVector<TaskOperand> operands;
  for (unsigned i = 0, e = getNumArguments(); i < e; ++i)
    operands.push_back({getArgRole(i), getArgumentTypes()[i]});
  for (unsigned i = 0, e = getNumResults(); i < e; ++i)
    if (!mustBeTied(getResultRole(i).getKind()))
      operands.push_back(
          {getResultRole(i), getResultTypes()[i], /*isResult=*/true});
  return operands;
}

SmallVector<TaskCollectiveAttr> TaskOp::getCollectiveList() {
  if (!getCollectives())
    return {};
  return llvm::to_vector(getCollectives()->getAsRange<TaskCollectiveAttr>());
}

LogicalResult TaskOp::verify() {
  if (failed(verifyReturn(*this)))
    return failure();
  DenseMap<Attribute, unsigned> arguments;
  for (unsigned i = 0, e = getNumArguments(); i < e; ++i) {
    RoleAttr role = getArgRole(i);
    if (!isValue(role.getKind()) && !arguments.try_emplace(role, i).second)
      return emitOpError("has two arguments of role ") << role;
  }
  SmallPtrSet<Attribute, 8> roles;
  for (unsigned i = 0, e = getNumResults(); i < e; ++i) {
    RoleAttr role = getResultRole(i);
    if (isValue(role.getKind()))
      continue;
    if (!roles.insert(role).second)
      return emitOpError("has two results of role ") << role;
    auto tied = arguments.find(role);
    bool isTied = tied != arguments.end();
    if (isTied && getArgumentTypes()[tied->second] != getResultTypes()[i])
      return emitOpError("result ") << i << " is tied to argument "
                                    << tied->second << " of another type";
    if (mustBeTied(role.getKind()) != isTied)
      return emitOpError("result ") << i << " of role " << role
                                    << (isTied ? " can't be an argument too"
                                               : " must be an argument too");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// pp.kernel, pp.launch
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<KernelOp>(parser, result);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printFunctionLike(printer, *this, {});
}

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

LogicalResult KernelOp::verify() {
  if (failed(verifyReturn(*this)) || failed(verifyForm()))
    return failure();
  return verifyPitches();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("launches ")
           << getKernelAttr() << ", which is not a kernel";
  unsigned results = getOuts().size() + getResults().size();
  if (kernel.getNumArguments() != getIns().size() ||
      kernel.getNumResults() != results || getInplace().size() != results)
    return emitOpError("has ")
           << getIns().size() << " ins and " << results << " outs, but @"
           << kernel.getSymName() << " takes " << kernel.getNumArguments()
           << " and gives " << kernel.getNumResults();
  return pp::verifyPitches(*this, kernel);
}
