//===- JsonValue.h - Reads JSON documents of others strictly --------------===//
//
// A value knows its path in the document. What is missing or of another type is
// remembered as the document's error, the first one alone, and reads as zero,
// empty or null: a reader looks for an error once, at its end. What nests
// deeper than any program cannot be read: readers of nested values may recurse.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_JSONVALUE_H
#define PPOPT_LIB_IMPORT_JSONVALUE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <nlohmann/json.hpp>

#include <string>

namespace mlir::pp::pt2 {

class JsonValue;

class JsonDocument {
public:
  /// Parses `text`; `name` is the document's name in errors.
  JsonDocument(llvm::StringRef text, llvm::StringRef name);

  JsonValue root();
  void fail(const llvm::Twine &message) {
    if (error.empty())
      error = message.str();
  }
  /// The first error; empty if there is none.
  const std::string &getError() const { return error; }
  llvm::StringRef getName() const { return name; }

private:
  nlohmann::json json;
  std::string name, error;
};

/// Refers to its document and to the value that it is part of.
class JsonValue {
public:
  JsonValue(JsonDocument &document, const nlohmann::json *json,
            const JsonValue *outer = nullptr, llvm::StringRef name = "",
            size_t index = 0)
      : document(document), json(json), outer(outer), name(name), index(index),
        depth(outer ? outer->depth + 1 : 0) {}

  bool isNull() const { return json->is_null(); }
  bool isText() const { return json->is_string(); }
  bool has(llvm::StringRef field) const;
  /// Returns the field; an error and null if there is none.
  JsonValue get(llvm::StringRef field) const;
  int64_t asInteger() const;
  double asNumber() const;
  bool asBool() const;
  llvm::StringRef asText() const;
  /// Calls `read` for each element.
  void forEach(llvm::function_ref<void(const JsonValue &)> read) const;
  void forEachField(
      llvm::function_ref<void(llvm::StringRef, const JsonValue &)> read) const;
  /// Calls `read` with the name and the value of the only field: how unions are
  /// written.
  void readUnion(
      llvm::function_ref<void(llvm::StringRef, const JsonValue &)> read) const;

  /// Whether what is in the value may be read; an error otherwise.
  bool mayDescend() const;

  /// The error "DOCUMENT: PATH: message".
  void fail(const llvm::Twine &message) const;
  std::string getPath() const;

private:
  JsonDocument &document;
  const nlohmann::json *json;
  const JsonValue *outer;
  llvm::StringRef name; ///< empty: an element of a list
  size_t index;
  unsigned depth;
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_JSONVALUE_H
