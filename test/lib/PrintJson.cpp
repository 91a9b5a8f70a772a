//===- PrintJson.cpp - The entry as JSON, for an interpreter --------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

#include <cmath>

namespace mlir::pp {
#define GEN_PASS_DEF_TESTPRINTJSON
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace json = llvm::json;

namespace {

template <typename T> std::string spell(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// JSON has no infinities and no NaN: they are strings.
json::Value convert(const APFloat &value) {
  double number = value.convertToDouble();
  if (std::isfinite(number))
    return number;
  return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
}

json::Value convert(const APInt &value) {
  if (value.getBitWidth() == 1)
    return value.getBoolValue();
  return value.getSExtValue();
}

json::Value convert(Attribute attribute);

template <typename RangeT> json::Array convertRange(RangeT &&values) {
  json::Array array;
  for (const auto &value : values)
    array.push_back(convert(value));
  return array;
}

/// Elements in row-major order, or one for all.
template <typename T> json::Object convertElements(DenseElementsAttr elements) {
  if (elements.isSplat())
    return json::Object{{"splat", convert(elements.getSplatValue<T>())}};
  return json::Object{{"values", convertRange(elements.getValues<T>())}};
}

json::Object describe(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return json::Object{{"type", spell(type)}};
  return json::Object{{"type", spell(tensor.getElementType())},
                      {"shape", json::Array(tensor.getShape())}};
}

json::Object convertElements(DenseElementsAttr elements) {
  json::Object object = isa<FloatType>(elements.getElementType())
                            ? convertElements<APFloat>(elements)
                            : convertElements<APInt>(elements);
  for (auto &[key, value] : describe(elements.getType()))
    object.try_emplace(key, std::move(value));
  return object;
}

json::Object convertDictionary(DictionaryAttr dictionary) {
  json::Object object;
  for (NamedAttribute entry : dictionary)
    object.try_emplace(entry.getName().str(), convert(entry.getValue()));
  return object;
}

json::Array convertNames(ArrayRef<StringAttr> names) {
  return json::Array(
      llvm::map_range(names, [](StringAttr name) { return name.getValue(); }));
}

json::Object convertSharding(ShardingAttr sharding) {
  json::Array dims;
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
    dims.push_back(json::Array());
  for (const DimCut &cut : sharding.getCuts())
    dims[cut.dim].getAsArray()->push_back(
        json::Object{{"axis", cut.axis.getValue()}, {"outer", cut.outer}});
  return json::Object{{"dims", std::move(dims)},
                      {"sum", convertNames(sharding.getSums())},
                      {"max", convertNames(sharding.getMaxima())}};
}

json::Object convertTile(TileAttr tile) {
  json::Array cuts;
  for (TileCutAttr cut : tile.getCuts())
    cuts.push_back(json::Object{{"dim", cut.getDim()},
                                {"axis", cut.getAxis().getValue()},
                                {"at", cut.getAt()},
                                {"parts", cut.getParts()},
                                {"period", cut.getPeriod()}});
  return json::Object{{"cuts", std::move(cuts)},
                      {"shape", json::Array(tile.getShape())}};
}

json::Value convert(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case([](UnitAttr) { return true; })
      .Case([](IntegerAttr value) { return convert(value.getValue()); })
      .Case([](FloatAttr value) { return convert(value.getValue()); })
      .Case([](StringAttr value) { return value.getValue(); })
      .Case([](ArrayAttr values) { return convertRange(values); })
      .Case([](DenseI64ArrayAttr values) {
        return json::Array(values.asArrayRef());
      })
      .Case([](DenseI32ArrayAttr values) {
        return json::Array(values.asArrayRef());
      })
      .Case([](DictionaryAttr value) { return convertDictionary(value); })
      .Case([](DenseElementsAttr value) { return convertElements(value); })
      .Case([](ComparePredicateAttr value) {
        return stringifyComparePredicate(value.getValue());
      })
      .Case([](ReduceKindAttr value) {
        return stringifyReduceKind(value.getValue());
      })
      .Case([](ShardingAttr sharding) { return convertSharding(sharding); })
      .Case([](TileAttr tile) { return convertTile(tile); })
      .Case([](MeshAxisAttr axis) {
        return json::Object{{"axis", axis.getName()}, {"size", axis.getSize()}};
      })
      .Default([](Attribute other) { return spell(other); });
}

/// Numbers values in the order of their definitions.
class EntryPrinter {
public:
  json::Object print(func::FuncOp entry) {
    json::Array arguments;
    for (BlockArgument argument : entry.getArguments()) {
      json::Object object = define(argument);
      if (DictionaryAttr attributes =
              entry.getArgAttrDict(argument.getArgNumber()))
        object.try_emplace("attributes", convertDictionary(attributes));
      arguments.push_back(std::move(object));
    }
    return json::Object{{"arguments", std::move(arguments)},
                        {"ops", printBlock(entry.front())}};
  }

private:
  json::Object define(Value value) {
    json::Object object = describe(value.getType());
    object.try_emplace("value", static_cast<int64_t>(numbers.size()));
    numbers.try_emplace(value, numbers.size());
    return object;
  }

  json::Array printBlock(Block &block) {
    json::Array ops;
    for (Operation &op : block)
      ops.push_back(printOp(op));
    return ops;
  }

  /// What is in a region comes before the results.
  json::Object printOp(Operation &op) {
    json::Array operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(numbers.lookup(operand));
    json::Object object{
        {"op", op.getName().getStringRef()},
        {"location", spellSource(op.getLoc())},
        {"operands", std::move(operands)},
        {"attributes", convertDictionary(op.getAttrDictionary())}};
    if (op.getNumRegions() == 1)
      object.try_emplace("body", printBlock(op.getRegion(0).front()));
    for (Value result : op.getResults())
      results.push_back(define(result));
    object.try_emplace("results", std::move(results));
    return object;
  }

  DenseMap<Value, int64_t> numbers;
};

struct TestPrintJson : pp::impl::TestPrintJsonBase<TestPrintJson> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    json::Object object = EntryPrinter().print(*entry);
    object.try_emplace("plan", convertDictionary((*plan)->getAttrDictionary()));
    llvm::outs() << json::Value(std::move(object)) << "\n";
  }
};

} // namespace
