//===- ParserErrors.cpp - Explains errors of the parser -------------------===//

#include "ParserErrors.h"

#include "ppopt/Support/NearestNames.h"

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

/// Returns the line of the error, up to it and from it on.
static std::pair<StringRef, StringRef> getLine(Location loc,
                                               const llvm::SourceMgr &sources) {
  auto at = loc->findInstanceOf<FileLineColLoc>();
  if (!at || sources.getNumBuffers() == 0)
    return {};
  StringRef rest =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  for (unsigned line = 1; line < at.getLine(); ++line)
    rest = rest.split('\n').second;
  StringRef line = rest.split('\n').first;
  return {line.take_front(at.getColumn() - 1),
          line.drop_front(std::min<size_t>(at.getColumn() - 1, line.size()))};
}

/// Returns the quoted name that ends at the error: the name of an op in generic
/// form, which the parser's message does not include.
static StringRef getQuotedName(Location loc, const llvm::SourceMgr &sources) {
  StringRef before = getLine(loc, sources).first.rtrim();
  return before.consume_back("\"") ? before.rsplit('"').second : "";
}

/// Explains `1e-6`: the parser takes the 1 and does not expect the rest.
static std::string explainFloat(Location loc, const llvm::SourceMgr &sources) {
  auto [before, rest] = getLine(loc, sources);
  StringRef digits = before.take_back(
      before.size() - (before.find_last_not_of("0123456789") + 1));
  StringRef exponent = rest.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '-' || c == '+'; });
  if (digits.empty() || !exponent.starts_with_insensitive("e"))
    return "";
  return ("'" + digits + exponent +
          "' is no number; floats have a decimal "
          "point: " +
          digits + ".0" + exponent)
      .str();
}

/// Returns the model op that is nearest to `name`; empty if none is near. The
/// dialect of `name` may be missing or wrong.
static StringRef findNearestOp(StringRef name, MLIRContext &context) {
  context.loadAllAvailableDialects();
  auto stem = [](StringRef full) {
    StringRef rest = full.split('.').second;
    return rest.empty() ? full : rest;
  };
  std::vector<StringRef> ops = {"func.func", "func.call", "func.return"};
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == "pp")
      ops.push_back(op.getStringRef());
  SmallVector<StringRef> nearest = findNearest(name, ops, stem);
  return nearest.empty() ? "" : nearest.front();
}

static std::string explainOp(StringRef name, MLIRContext &context) {
  // A function's `return` is known.
  if (name == "return")
    return "unknown op 'return'; the body of a pp.repeat ends with 'pp.yield'";
  StringRef nearest = findNearestOp(name, context);
  return ("unknown op '" + name + "'" +
          (nearest.empty() ? "; a model may have the pp ops in docs/reference, "
                             "func.func, func.call and func.return"
                           : "; did you mean '" + nearest + "'?"))
      .str();
}

std::string pp::explainParserError(Diagnostic &error,
                                   const llvm::SourceMgr &sources) {
  MLIRContext &context = *error.getLocation()->getContext();
  std::string text = error.str();
  // Any error of a known op begins with "custom op", too.
  if (StringRef rest = text; rest.consume_front("custom op '"))
    if (auto [name, said] = rest.split('\''); said.starts_with(" is unknown"))
      return explainOp(name, context);
  for (StringRef before :
       {"not found for custom op '", "unregistered operation '"})
    if (StringRef name = getBetween(text, before, "'"); !name.empty())
      return explainOp(name, context);
  if (StringRef(text).contains("i8>'"))
    return text + "; files may store an input as U8: make it f32 or i32, and "
                  "its values are converted when they are read";
  if (text == "expected '}' in attribute dictionary")
    return explainFloat(error.getLocation(), sources);
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

bool pp::repeatsParserError(Diagnostic &error) {
  return StringRef(error.str()).contains("failed to parse PP_");
}
