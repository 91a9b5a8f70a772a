//===- OpBase.td - What all definitions of ops share ----- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_OP_BASE
#define PPOPT_DIALECT_PP_OP_BASE

include "ppopt/Dialect/PP/KernelInterfaces.td"
include "ppopt/Dialect/PP/PPBase.td"

def PP_ModelOps : OpDocGroup {
  let summary = "Model ops";
  let description = "The ops that a model file may contain.";
}

def PP_InternalOps : OpDocGroup {
  let summary = "Internal ops";
  let description = "The ops that the compiler creates.";
}

/// The op has no attributes but those that are declared here.
def PP_DeclaredAttributes : NativeOpTrait<"DeclaredAttributes"> { let cppNamespace = "::mlir::pp"; }

class PP_Op<string mnemonic, list<Trait> traits = [], list<Trait> attributes = [PP_DeclaredAttributes]>
    : Op<PP_Dialect, mnemonic, !listconcat(attributes, traits)> {
  let opDocGroup = PP_InternalOps;
}

/// A model op: no side effects, a loop nest.
class PP_ModelOp<string mnemonic, list<Trait> traits = []>
    : PP_Op<mnemonic, !listconcat([Pure], traits)> {
  let opDocGroup = PP_ModelOps;
}

defvar PP_Infer = DeclareOpInterfaceMethods<InferTypeOpInterface>;
defvar PP_Space = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface>;
defvar PP_LinearSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["isLinearIn"]>;
defvar PP_IndexSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["isLinearIn", "getIndexRange"]>;
defvar PP_TableSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["isLinearIn", "getIndexRange", "localize", "needsRandomKey"]>;
defvar PP_CountedSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["getNeutralElement"]>;
defvar PP_MovedSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["isLinearIn", "localize"]>;
defvar PP_TiledSpace = DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["isLinearIn", "localize", "needsRandomKey"]>;
defvar PP_Adjoint = DeclareOpInterfaceMethods<PP_DifferentiableOpInterface>;
defvar PP_Decompose = DeclareOpInterfaceMethods<PP_DecomposableOpInterface>;
defvar PP_Element = DeclareOpInterfaceMethods<PP_ElementOpInterface>;
defvar PP_Stepwise = DeclareOpInterfaceMethods<PP_StepwiseOpInterface>;
defvar PP_Score = DeclareOpInterfaceMethods<PP_ScoreOpInterface>;
defvar PP_View = DeclareOpInterfaceMethods<PP_ViewOpInterface>;
defvar PP_Library = DeclareOpInterfaceMethods<PP_LibraryCallOpInterface>;
defvar PP_Form = DeclareOpInterfaceMethods<PP_KernelFormOpInterface>;

#endif // PPOPT_DIALECT_PP_OP_BASE
