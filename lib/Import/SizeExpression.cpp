//===- SizeExpression.cpp - Sizes that depend on a Dim --------------------===//

#include "SizeExpression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Takes "'s17', positive=True)" off the text after "Symbol(", or "'0.5',
/// precision=53)" after "Float(".
static StringRef takeQuoted(StringRef &text) {
  if (!text.consume_front("'"))
    return "";
  auto [name, rest] = text.split('\'');
  text = rest.split(')').second;
  return name;
}

StringRef pt2::getSymbol(StringRef expression) {
  if (!expression.consume_front("Symbol("))
    return "";
  StringRef name = takeQuoted(expression);
  return expression.empty() ? name : "";
}

namespace {

/// The value of an expression; after a failure it means nothing.
class Evaluation {
public:
  Evaluation(StringRef text, const StringMap<double> &symbols)
      : text(text), symbols(symbols) {}

  std::optional<double> run() {
    double value = evaluate(0);
    return failed || !text.empty() || !std::isfinite(value)
               ? std::nullopt
               : std::optional(value);
  }

private:
  static constexpr unsigned mostNested = 64;

  double fail() {
    failed = true;
    return 0;
  }
  double evaluate(unsigned depth);
  double apply(StringRef function, ArrayRef<double> operands);

  StringRef text;
  const StringMap<double> &symbols;
  bool failed = false;
};

} // namespace

double Evaluation::evaluate(unsigned depth) {
  StringRef function = text.take_until([](char c) { return c == '('; });
  text = text.drop_front(function.size());
  if (depth > mostNested || !text.consume_front("("))
    return fail();
  if (function == "Symbol") {
    auto found = symbols.find(takeQuoted(text));
    return found == symbols.end() ? fail() : found->second;
  }
  if (function == "Float") {
    double number = 0;
    return takeQuoted(text).getAsDouble(number) ? fail() : number;
  }
  if (function == "Integer") {
    int64_t number = 0;
    if (text.consumeInteger(10, number) || !text.consume_front(")"))
      return fail();
    return double(number);
  }
  SmallVector<double, 4> operands;
  do {
    operands.push_back(evaluate(depth + 1));
  } while (!failed && text.consume_front(", "));
  if (failed || !text.consume_front(")"))
    return fail();
  return apply(function, operands);
}

double Evaluation::apply(StringRef function, ArrayRef<double> operands) {
  auto fold = [&](auto combine) {
    double value = operands.front();
    for (double operand : operands.drop_front())
      value = combine(value, operand);
    return value;
  };
  if (function == "Add")
    return fold([](double a, double b) { return a + b; });
  if (function == "Mul")
    return fold([](double a, double b) { return a * b; });
  if (function == "Max")
    return fold([](double a, double b) { return std::max(a, b); });
  if (function == "Min")
    return fold([](double a, double b) { return std::min(a, b); });
  if (function == "ToFloat" && operands.size() == 1)
    return operands[0];
  if (operands.size() != 2)
    return fail();
  double a = operands[0], b = operands[1];
  if (function == "Pow" || function == "FloatPow" || function == "PowByNatural")
    return std::pow(a, b);
  if (function == "FloorDiv" || function == "CleanDiv")
    return std::floor(a / b);
  if (function == "IntTrueDiv" || function == "FloatTrueDiv")
    return a / b;
  if (function == "Mod" || function == "PythonMod")
    return a - b * std::floor(a / b);
  return fail();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static void forEachGraph(Graph &graph, function_ref<void(Graph &)> visit) {
  visit(graph);
  for (Node &node : graph.nodes)
    for (NamedArgument &argument : node.arguments)
      if (argument.value.graph)
        forEachGraph(*argument.value.graph, visit);
}

/// Gives a tensor its sizes; false where one is not known.
static bool setSizes(TensorMeta &meta, const StringMap<double> &symbols) {
  int64_t elements = 1;
  for (auto [size, expression] : zip(meta.shape, meta.expressions)) {
    // A size that depends on data has no value in the example.
    if (!expression.empty() && size >= 0) {
      std::optional<double> value = Evaluation(expression, symbols).run();
      if (!value || *value < 0 || *value > double(mostElements) ||
          *value != std::floor(*value))
        return false;
      size = int64_t(*value);
    }
    if (MulOverflow(elements, std::max<int64_t>(size, 0), elements) ||
        elements > mostElements)
      return false;
  }
  return true;
}

bool pt2::setSymbol(ExportedProgram &program, StringRef symbol, double value) {
  // Other symbols keep their values, which a size or a number has that is one.
  StringMap<double> symbols;
  forEachGraph(program.graph, [&](Graph &graph) {
    for (const auto &tensor : graph.tensors)
      for (auto [size, expression] :
           zip(tensor.second.shape, tensor.second.expressions))
        if (StringRef name = getSymbol(expression); !name.empty() && size >= 0)
          symbols[name] = double(size);
    for (const auto &number : graph.expressions)
      if (StringRef name = getSymbol(number.second); !name.empty())
        symbols[name] = graph.symbols.lookup(number.first());
  });
  symbols[symbol] = value;
  bool isKnown = true;
  forEachGraph(program.graph, [&](Graph &graph) {
    for (auto &tensor : graph.tensors)
      isKnown &= setSizes(tensor.second, symbols);
    for (const auto &number : graph.expressions) {
      std::optional<double> known = Evaluation(number.second, symbols).run();
      isKnown &= known.has_value();
      graph.symbols[number.first()] = known.value_or(0);
    }
  });
  return isKnown;
}
