//===- CollectiveInterface.td - Collectives on tensors --- -*- tablegen -*-===//
//
// Its methods are about attributes of the dialect: Interfaces.td comes before those.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_COLLECTIVE_INTERFACE
#define PPOPT_DIALECT_PP_COLLECTIVE_INTERFACE

include "mlir/IR/OpBase.td"

def PP_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = "A collective on tensors, inside a task.";
  let methods = [
    InterfaceMethod<"Returns what it does.", "::ppopt::geometry::Collective", "getKind">,
    InterfaceMethod<"Returns what this rank hands over.", "::mlir::Value", "getX", (ins), [{ return $_op.getX(); }]>,
    InterfaceMethod<"Returns the ranks that take part.", "::mlir::pp::GroupAttr", "getGroup", (ins), [{ return $_op.getGroup(); }]>,
    InterfaceMethod<"Returns the name of the value.", "::llvm::StringRef", "getWhat", (ins), [{ return $_op.getWhat(); }]>,
    InterfaceMethod<"Returns the channel.", "int64_t", "getChannel", (ins), [{ return $_op.getChannel(); }]>,
    InterfaceMethod<"Sets the channel.", "void", "setChannel", (ins "int64_t":$channel), [{ $_op.setChannel(channel); }]>,
  ];
}

#endif // PPOPT_DIALECT_PP_COLLECTIVE_INTERFACE
