//===- unknown_name.cpp - Explains unknown names in a model ---------------===//

#include "unknown_name.h"

#include "flags.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ppopt;

/// Returns the part of `text` between `before` and the next `after`; empty if
/// `before` is not found.
static StringRef getBetween(StringRef text, StringRef before, StringRef after) {
  size_t at = text.find(before);
  if (at == StringRef::npos)
    return "";
  return text.substr(at + before.size()).split(after).first;
}

/// Returns the quoted name that ends at the error: the name of an op in generic
/// form, which the parser's message does not include.
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

/// Returns the model op that is nearest to `name`; empty if none is near. The
/// dialect of `name` may be missing or wrong.
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
          (nearest.empty() ? "; a model may have the pp ops in docs/reference, "
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
  // MLIR's spelling of unknown names: #"dialect"<"text">, !"dialect"<"text">.
  if (StringRef dialect = getBetween(text, "!\"", "\""); !dialect.empty())
    return ("unknown type !" + dialect + "." +
            getBetween(text, "\"<\"", "\">") +
            "; the types of a model are tensors, e.g. tensor<4x8xf32>")
        .str();
  return ("unknown attribute #" + getBetween(text, "#\"", "\"") + "." +
          getBetween(text, "\"<\"", "\">") +
          "; the attributes of a model are those of pp, e.g. #pp.init<zeros>")
      .str();
}
