//===- ExportedProgram.cpp - A graph of torch.export ----------------------===//

#include "ExportedProgram.h"

#include "ReadTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

namespace {

void readArgument(const JsonValue &json, Argument &argument);
void readGraph(const JsonValue &json, Graph &graph, StringSet<> defined,
               bool isInner);

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

double readFloat(const JsonValue &json) {
  if (!json.isText())
    return json.asNumber();
  StringRef word = json.asText();
  if (word == "Infinity" || word == "-Infinity")
    return word.front() == '-' ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
  if (word != "NaN")
    json.fail("is '" + word + "', no number");
  return std::numeric_limits<double>::quiet_NaN();
}

/// Reads {"as_name": "sym_size_int"} or {"as_int": 4} into the next name and
/// int of a list.
void readSymbol(const JsonValue &json, Argument &argument) {
  json.readUnion([&](StringRef kind, const JsonValue &value) {
    bool isName = kind == "as_name";
    argument.names.push_back(isName ? value.asText().str() : "");
    argument.ints.push_back(!isName && kind != "as_float" ? value.asInteger()
                                                          : 0);
    if (kind == "as_float")
      argument.number = readFloat(value);
  });
}

void readNames(const JsonValue &json, Argument &argument) {
  argument.kind = Argument::Kind::Tensors;
  json.forEach([&](const JsonValue &each) {
    argument.names.push_back(each.get("name").asText().str());
  });
}

void readOptionalNames(const JsonValue &json, Argument &argument) {
  argument.kind = Argument::Kind::Tensors;
  json.forEach([&](const JsonValue &each) {
    each.readUnion([&](StringRef kind, const JsonValue &value) {
      argument.names.push_back(
          kind == "as_none" ? "" : value.get("name").asText().str());
    });
  });
}

void readKind(StringRef kind, const JsonValue &value, Argument &argument) {
  using Kind = Argument::Kind;
  if (kind == "as_none") {
    argument.kind = Kind::None;
  } else if (kind == "as_tensor") {
    argument.kind = Kind::Tensor;
    argument.names.push_back(value.get("name").asText().str());
  } else if (kind == "as_tensors") {
    readNames(value, argument);
  } else if (kind == "as_optional_tensors") {
    readOptionalNames(value, argument);
  } else if (kind == "as_optional_tensor") {
    readArgument(value, argument);
  } else if (kind == "as_int") {
    argument.kind = Kind::Int;
    argument.ints.push_back(value.asInteger());
  } else if (kind == "as_ints") {
    argument.kind = Kind::Ints;
    value.forEach([&](const JsonValue &each) {
      argument.ints.push_back(each.asInteger());
    });
  } else if (kind == "as_float") {
    argument.kind = Kind::Float;
    argument.number = readFloat(value);
  } else if (kind == "as_bool") {
    argument.kind = Kind::Bool;
    argument.ints.push_back(value.asBool());
  } else if (kind == "as_string") {
    argument.kind = Kind::Text;
    argument.text = value.asText().str();
  } else if (kind == "as_scalar_type") {
    argument.kind = Kind::Dtype;
    argument.ints.push_back(value.asInteger());
  } else if (kind == "as_sym_int" || kind == "as_sym_float" ||
             kind == "as_sym_bool") {
    readSymbol(value, argument);
    if (!argument.names.empty() && argument.names.front().empty())
      argument.kind = kind == "as_sym_float" ? Kind::Float : Kind::Int;
    else
      argument.kind = Kind::SymInt;
  } else if (kind == "as_sym_ints") {
    argument.kind = Kind::SymInts;
    value.forEach([&](const JsonValue &each) { readSymbol(each, argument); });
  } else if (kind == "as_graph") {
    argument.kind = Kind::Graph;
    argument.graph = std::make_shared<Graph>();
    readGraph(value.get("graph"), *argument.graph, {}, /*isInner=*/true);
  } else if (kind == "as_layout" || kind == "as_device" ||
             kind == "as_memory_format") {
    // Where a tensor is: no number depends on it.
    argument.kind = Kind::Other;
    argument.text = kind.str();
  } else if (kind == "as_floats" || kind == "as_strings" ||
             kind == "as_bools" || kind == "as_sym_bools" ||
             kind == "as_sym_floats" || kind == "as_custom_obj" ||
             kind == "as_operator" || kind == "as_complex" ||
             kind == "as_nested_tensors" || kind == "as_int_lists" ||
             kind == "as_float_lists" || kind == "as_string_to_argument") {
    // No op that is supported has one.
    argument.kind = Kind::Other;
    argument.text = kind.str();
  } else {
    value.fail("is of the unknown kind '" + kind +
               "': export with PyTorch 2.9 to 2.15");
  }
}

void readArgument(const JsonValue &json, Argument &argument) {
  json.readUnion([&](StringRef kind, const JsonValue &value) {
    readKind(kind, value, argument);
  });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The innermost line that is not PyTorch's own.
SourceLine readSource(StringRef trace) {
  SourceLine source;
  for (StringRef line : split(trace, '\n')) {
    line = line.trim();
    if (!line.consume_front("File \""))
      continue;
    auto [file, rest] = line.split("\", line ");
    int64_t number = 0;
    if (file.starts_with("torch/") || file.contains("/torch/") ||
        rest.consumeInteger(10, number))
      continue;
    source = {file.str(), number};
  }
  return source;
}

std::vector<std::pair<std::string, std::string>> readModules(StringRef stack) {
  std::vector<std::pair<std::string, std::string>> modules;
  for (StringRef each : split(stack, ';')) {
    SmallVector<StringRef, 3> parts;
    each.split(parts, ',', /*MaxSplit=*/2);
    if (parts.size() == 3)
      modules.push_back({parts[1].str(), parts[2].str()});
  }
  return modules;
}

void readResults(const JsonValue &json, Node &node) {
  json.forEach([&](const JsonValue &each) {
    Argument result;
    readArgument(each, result);
    if (result.kind == Argument::Kind::None)
      result.names.push_back("");
    for (const std::string &name : result.names)
      node.results.push_back(name);
  });
}

Node readNode(const JsonValue &json) {
  Node node;
  StringRef target = json.get("target").asText();
  target.consume_front("torch.ops.");
  node.op = target.str();
  json.get("inputs").forEach([&](const JsonValue &each) {
    NamedArgument argument;
    argument.name = each.get("name").asText().str();
    for (const NamedArgument &other : node.arguments)
      if (other.name == argument.name && !argument.name.empty())
        each.fail("gives '" + argument.name + "' of '" + node.op + "' twice");
    readArgument(each.get("arg"), argument.value);
    node.arguments.push_back(std::move(argument));
  });
  readResults(json.get("outputs"), node);
  JsonValue metadata = json.get("metadata");
  if (metadata.has("stack_trace"))
    node.source = readSource(metadata.get("stack_trace").asText());
  if (metadata.has("nn_module_stack"))
    node.modules = readModules(metadata.get("nn_module_stack").asText());
  return node;
}

void readGraph(const JsonValue &json, Graph &graph, StringSet<> defined,
               bool isInner) {
  json.get("tensor_values")
      .forEachField([&](StringRef name, const JsonValue &value) {
        graph.tensors[name] = readMeta(value, /*isStored=*/false);
      });
  auto readSymbols = [&](StringRef field, StringRef exact) {
    if (!json.has(field))
      return;
    json.get(field).forEachField([&](StringRef name, const JsonValue &value) {
      value.readUnion([&](StringRef kind, const JsonValue &inner) {
        if (kind == exact)
          graph.symbols[name] = readFloat(inner);
        else if (inner.has("hint") && !inner.get("hint").isNull()) {
          graph.expressions[name] = inner.get("expr_str").asText().str();
          inner.get("hint").readUnion([&](StringRef, const JsonValue &hint) {
            graph.symbols[name] = readFloat(hint);
          });
        }
      });
    });
  };
  readSymbols("sym_int_values", "as_int");
  readSymbols("sym_float_values", "as_float");
  json.get("inputs").forEach([&](const JsonValue &each) {
    Argument input;
    readArgument(each, input);
    for (const std::string &name : input.names)
      if (!defined.insert(name).second)
        each.fail("names '" + name + "' a second time");
    graph.inputs.push_back(std::move(input));
  });
  json.get("nodes").forEach([&](const JsonValue &each) {
    Node node = readNode(each);
    for (const NamedArgument &argument : node.arguments)
      for (const std::string &name : argument.value.names)
        if (!name.empty() && !defined.contains(name))
          each.fail("reads '" + name + "', which nothing before it makes");
    for (const std::string &name : node.results)
      if (!name.empty() && !defined.insert(name).second && !isInner)
        each.fail("makes '" + name + "' a second time");
    graph.nodes.push_back(std::move(node));
  });
  json.get("outputs").forEach([&](const JsonValue &each) {
    Argument output;
    readArgument(each, output);
    for (const std::string &name : output.names)
      if (!name.empty() && !defined.contains(name))
        each.fail("is '" + name + "', which nothing makes");
    graph.outputs.push_back(std::move(output));
  });
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

void readInputSpec(const JsonValue &json, std::vector<InputSpec> &specs) {
  json.readUnion([&](StringRef kind, const JsonValue &value) {
    InputSpec spec;
    if (kind == "user_input") {
      Argument argument;
      readArgument(value.get("arg"), argument);
      if (argument.kind == Argument::Kind::Tensor)
        spec.value = spec.name = argument.names.front();
      else
        spec.kind = InputSpec::Kind::UserConstant;
    } else if (kind == "constant_input") {
      spec.kind = InputSpec::Kind::UserConstant;
      spec.name = value.get("name").asText().str();
    } else if (kind == "parameter" || kind == "buffer" ||
               kind == "tensor_constant") {
      spec.kind = kind == "parameter" ? InputSpec::Kind::Parameter
                  : kind == "buffer"  ? InputSpec::Kind::Buffer
                                      : InputSpec::Kind::Constant;
      spec.value = value.get("arg").get("name").asText().str();
      spec.name = value.get((kind + "_name").str()).asText().str();
      spec.isPersistent = kind == "buffer" && value.get("persistent").asBool();
    } else {
      json.fail("is an input of the kind '" + kind +
                "', which is not supported: export the module without it");
    }
    specs.push_back(std::move(spec));
  });
}

void readOutputSpec(const JsonValue &json, std::vector<OutputSpec> &specs) {
  json.readUnion([&](StringRef kind, const JsonValue &value) {
    OutputSpec spec;
    if (kind == "user_output") {
      Argument argument;
      readArgument(value.get("arg"), argument);
      if (argument.kind == Argument::Kind::Tensor)
        spec.value = argument.names.front();
    } else if (kind == "buffer_mutation") {
      spec.kind = OutputSpec::Kind::BufferMutation;
      spec.value = value.get("arg").get("name").asText().str();
      spec.target = value.get("buffer_name").asText().str();
    } else {
      spec.kind = OutputSpec::Kind::Other;
      spec.target = kind.str();
    }
    specs.push_back(std::move(spec));
  });
}

int64_t countLeaves(const JsonValue &tree) {
  int64_t children = 0, leaves = 0;
  tree.get("children_spec").forEach([&](const JsonValue &child) {
    ++children;
    leaves += countLeaves(child);
  });
  return children == 0 && tree.get("type").isNull() ? 1 : leaves;
}

/// Gives the user's outputs the keys of the dict, or of the data class, that
/// forward returns. What is of another form has none.
void readResultKeys(const JsonValue &signature,
                    std::vector<OutputSpec> &specs) {
  if (signature.isNull() || !signature.has("out_spec"))
    return;
  JsonDocument document(signature.get("out_spec").asText(), "out_spec");
  if (!document.getError().empty())
    return;
  auto spec = llvm::find_if(specs, [](const OutputSpec &each) {
    return each.kind == OutputSpec::Kind::User;
  });
  int64_t number = 0;
  document.root().forEach([&](const JsonValue &tree) {
    if (number++ != 1 || !tree.get("context").isText())
      return;
    JsonDocument context(tree.get("context").asText(), "context");
    SmallVector<std::string> keys;
    if (context.getError().empty())
      context.root().forEach([&](const JsonValue &key) {
        keys.push_back(key.isText() ? key.asText().str() : "");
      });
    size_t key = 0;
    tree.get("children_spec").forEach([&](const JsonValue &child) {
      int64_t leaves = countLeaves(child);
      for (; leaves > 0 && spec != specs.end(); --leaves, ++spec)
        spec->key = key < keys.size() ? keys[key] : "";
      ++key;
    });
  });
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void checkVersion(const JsonValue &root) {
  JsonValue version = root.get("schema_version");
  if (int64_t major = version.get("major").asInteger(); major != 8)
    version.fail("is " + Twine(major) + "." +
                 Twine(version.get("minor").asInteger()) +
                 ", and this ppopt reads 8: export with PyTorch 2.9 to 2.15");
}

} // namespace

Expected<ExportedProgram> pt2::readProgram(const Archive &archive) {
  Expected<std::string> path = archive.findModel();
  if (!path)
    return path.takeError();
  if (archive.has("archive_format")) {
    Expected<std::string> format = archive.read("archive_format");
    if (!format)
      return format.takeError();
    if (*format != "pt2")
      return createStringError("has the archive_format '" + *format +
                               "', and torch.export.save writes 'pt2'");
  }
  if (archive.has("byteorder")) {
    Expected<std::string> order = archive.read("byteorder");
    if (!order)
      return order.takeError();
    if (StringRef(*order).trim() != "little")
      return createStringError("was written on a big-endian machine, which is "
                               "not supported");
  }
  Expected<std::string> text = archive.read(*path);
  if (!text)
    return text.takeError();
  JsonDocument document(*text, *path);
  JsonValue root = document.root();
  ExportedProgram program;
  if (document.getError().empty())
    checkVersion(root);
  if (document.getError().empty()) {
    JsonValue module = root.get("graph_module");
    readGraph(module.get("graph"), program.graph, {}, /*isInner=*/false);
    JsonValue signature = module.get("signature");
    signature.get("input_specs").forEach([&](const JsonValue &each) {
      readInputSpec(each, program.inputs);
    });
    signature.get("output_specs").forEach([&](const JsonValue &each) {
      readOutputSpec(each, program.outputs);
    });
    bool isWhole = true; // the first one is of the whole module
    if (module.has("module_call_graph"))
      module.get("module_call_graph").forEach([&](const JsonValue &each) {
        if (std::exchange(isWhole, false) && each.has("signature"))
          readResultKeys(each.get("signature"), program.outputs);
      });
    if (root.has("range_constraints"))
      root.get("range_constraints")
          .forEachField([&](StringRef symbol, const JsonValue &range) {
            if (range.has("max_val") && !range.get("max_val").isNull())
              program.mostOf[symbol] = range.get("max_val").asInteger();
          });
    if (root.has("torch_version"))
      program.torchVersion = root.get("torch_version").asText().str();
    if (program.inputs.size() != program.graph.inputs.size())
      signature.fail("has " + Twine(program.inputs.size()) +
                     " inputs, and the graph " +
                     Twine(program.graph.inputs.size()));
  }
  if (!document.getError().empty())
    return createStringError(document.getError());
  StringRef model = StringRef(*path).drop_front(strlen("models/"));
  model.consume_back(".json");
  if (Error error =
          readStorages(archive, "data/weights", model, program.weights))
    return std::move(error);
  if (Error error =
          readStorages(archive, "data/constants", model, program.constants))
    return std::move(error);
  return program;
}
