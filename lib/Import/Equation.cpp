//===- Equation.cpp - The equation of an einsum ---------------------------===//

#include "Equation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

namespace {
struct Term {
  Labels labels;
  bool hasEllipsis = false;
  size_t ellipsisAt = 0;
};
} // namespace

static Term readTerm(OpCall &call, StringRef text) {
  Term term;
  while (!text.empty()) {
    if (!term.hasEllipsis && text.consume_front("...")) {
      term.hasEllipsis = true;
      term.ellipsisAt = term.labels.size();
      continue;
    }
    char letter = text.front();
    text = text.drop_front();
    if (letter == ' ')
      continue;
    if (!isAlpha(letter))
      call.fail("has an equation with '" + Twine(letter) + "'");
    term.labels.push_back(letter);
  }
  return term;
}

static void insertEllipsis(Term &term, int64_t count) {
  Labels dims;
  for (int64_t dim = count; dim > 0; --dim)
    dims.push_back(-int(dim));
  if (term.hasEllipsis)
    term.labels.insert(term.labels.begin() + term.ellipsisAt, dims.begin(),
                       dims.end());
}

/// Without "->", the output has the ellipsis and then the letters that occur
/// once, in their order.
static Term implicitOutput(ArrayRef<Term> operands) {
  std::map<int, int> uses;
  Term output;
  output.hasEllipsis = true;
  for (const Term &term : operands)
    for (int label : term.labels)
      ++uses[label];
  for (auto [label, count] : uses)
    if (count == 1)
      output.labels.push_back(label);
  return output;
}

static void checkOutput(OpCall &call, const Equation &equation) {
  for (int label : equation.output) {
    if (llvm::none_of(equation.operands, [&](const Labels &labels) {
          return llvm::is_contained(labels, label);
        }))
      call.fail("has an output with a letter that no operand has");
    if (llvm::count(equation.output, label) > 1)
      call.fail("has the letter '" + Twine(char(label)) +
                "' twice in its output");
  }
}

Equation pt2::readEquation(OpCall &call, ArrayRef<Shape> shapes) {
  StringRef text = call.text("equation", "");
  auto [left, right] = text.split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  SmallVector<Term> terms;
  for (StringRef part : parts)
    terms.push_back(readTerm(call, part));
  Term output =
      text.contains("->") ? readTerm(call, right) : implicitOutput(terms);
  if (terms.size() != shapes.size())
    call.fail("has an equation of " + Twine(terms.size()) + " operands for " +
              Twine(shapes.size()));
  if (call.failed())
    return {};
  Equation equation;
  int64_t most = 0;
  for (auto [term, shape] : zip_equal(terms, shapes)) {
    int64_t rest = int64_t(shape.size()) - int64_t(term.labels.size());
    if (rest < 0 || (rest > 0 && !term.hasEllipsis))
      call.fail("has an operand of " + Twine(shape.size()) +
                " dimensions that its equation '" + text + "' does not fit");
    insertEllipsis(term, std::max<int64_t>(rest, 0));
    most = std::max(most, rest);
    equation.operands.push_back(term.labels);
  }
  insertEllipsis(output, most);
  equation.output = output.labels;
  if (!call.failed())
    checkOutput(call, equation);
  return equation;
}

std::map<int, int64_t> pt2::findSizes(OpCall &call, ArrayRef<Labels> operands,
                                      ArrayRef<Shape> shapes) {
  std::map<int, int64_t> sizes;
  for (auto [labels, shape] : zip_equal(operands, shapes))
    for (auto [label, size] : zip_equal(labels, shape)) {
      int64_t &known = sizes.try_emplace(label, 1).first->second;
      if (size != 1 && known != 1 && size != known)
        call.fail("has dimensions of sizes " + Twine(known) + " and " +
                  Twine(size) + " under one letter");
      if (size != 1)
        known = size;
    }
  return sizes;
}
