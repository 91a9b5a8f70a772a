//===- unknown_name.cpp - Names in a model that nothing has ---------------===//

#include "unknown_name.h"

#include "flags.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ppopt;

/// What stands in `text` between `before` and the next `after`; empty where
/// `before` does not.
static StringRef getBetween(StringRef text, StringRef before, StringRef after) {
  size_t at = text.find(before);
  if (at == StringRef::npos)
    return "";
  return text.substr(at + before.size()).split(after).first;
}

/// The name in quotes that ends where the error is: of an op in generic form,
/// which the parser's message does not repeat.
static StringRef getQuotedName(Location loc, const llvm::SourceMgr &sources) {
  auto at = loc->findInstanceOf<FileLineColLoc>();
  if (!at || sources.getNumBuffers() == 0)
    return "";
  StringRef rest =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  for (unsigned line = 1; line < at.getLine(); ++line)
    rest = rest.split('\n').second;
  StringRef before = rest.split('\n').first.take_front(at.getColumn() - 1);
  before = before.rtrim();
  return before.consume_back("\"") ? before.rsplit('"').second : "";
}

/// The op of a model that is nearest to `name`, whose dialect may be left out
/// or be another's; empty where none is near.
static std::string findNearestOp(StringRef name, MLIRContext &context) {
  context.loadAllAvailableDialects();
  auto stem = [](StringRef full) {
    StringRef rest = full.split('.').second;
    return rest.empty() ? full : rest;
  };
  std::vector<StringRef> ops = {"func.func", "func.call", "func.return"};
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == "pp")
      ops.push_back(op.getStringRef());
  std::string nearest;
  size_t least = ~size_t(0);
  for (StringRef known : ops) {
    size_t edits = stem(name).edit_distance(stem(known));
    if (edits < least && edits <= std::max<size_t>(1, stem(known).size() / 2)) {
      least = edits;
      nearest = known.str();
    }
  }
  return nearest;
}

static std::string explainOp(StringRef name, MLIRContext &context) {
  std::string nearest = findNearestOp(name, context);
  return ("unknown op '" + name + "'" +
          (nearest.empty()
               ? "; a model is made of the pp ops in docs/reference, "
                 "func.func, func.call and func.return"
               : "; did you mean '" + nearest + "'?"))
      .str();
}

std::string ppopt::explainUnknownName(Diagnostic &error,
                                      const llvm::SourceMgr &sources) {
  MLIRContext &context = *error.getLocation()->getContext();
  std::string text = error.str();
  for (StringRef before :
       {"custom op '", "not found for custom op '", "unregistered operation '"})
    if (StringRef name = getBetween(text, before, "'"); !name.empty())
      return explainOp(name, context);
  if (StringRef(text).contains("operation being parsed with an unregistered"))
    return explainOp(getQuotedName(error.getLocation(), sources), context);
  if (!StringRef(text).contains("created with unregistered dialect"))
    return "";
  // As MLIR spells what it does not know: #"dialect"<"text">, !"dialect"<"…">.
  if (StringRef dialect = getBetween(text, "!\"", "\""); !dialect.empty())
    return ("unknown type !" + dialect + "." +
            getBetween(text, "\"<\"", "\">") +
            "; the types of a model are tensors, e.g. tensor<4x8xf32>")
        .str();
  return ("unknown attribute #" + getBetween(text, "#\"", "\"") + "." +
          getBetween(text, "\"<\"", "\">") +
          "; those of models are the dialect pp's, e.g. #pp.init<zeros>")
      .str();
}
