//===- reference.cpp - A reference of the document's fields ---------------===//

#include "schema/visit.h"
#include "schema/write.h"

#include <algorithm>
#include <functional>
#include <set>

namespace ppopt::schema {

namespace {

/// Writes a section for each struct; the structs in it come after it.
class Reference {
public:
  /// Adds the section of the struct T, unless there is one.
  template <typename T> void add() {
    if (!known.insert(T::title).second)
      return;
    text += std::string("\n## ") + T::title + "\n\n";
    T value;
    FieldLister lister(*this);
    T::visit(lister, value);
    for (const auto &addInner : lister.inner)
      addInner();
  }

  std::string text;

private:
  /// Adds a line for each field of one struct.
  class FieldLister {
  public:
    explicit FieldLister(Reference &reference) : reference(reference) {}

    template <typename T, typename... B>
    void operator()(const char *name, const T &, const char *meaning,
                    const B &...bounds) {
      add(name, describe<T>(wordsOf(bounds...)), meaning);
    }
    template <typename T, typename... B>
    void optional(const char *name, const T &, const char *meaning,
                  const B &...bounds) {
      add(name, describe<T>(wordsOf(bounds...)) + ", may be absent", meaning);
    }
    template <typename Declare>
    void nested(const char *name, const char *meaning, const Declare &declare) {
      add(name, "object", meaning);
      std::string outer = prefix;
      prefix += std::string(name) + ".";
      declare(*this);
      prefix = outer;
    }
    template <typename Declare>
    void when(bool, const char *label, const Declare &declare) {
      addItem(std::string("Of ") + label + ".");
      indent += "  ";
      declare(*this);
      indent.resize(indent.size() - 2);
    }

    std::vector<std::function<void()>> inner;

  private:
    void add(const char *name, const std::string &type, const char *meaning) {
      addItem("`" + prefix + name + "` (" + type + "): " + meaning + ".");
    }
    void addItem(const std::string &item) {
      reference.text += indent + "- " + item + "\n";
    }

    static uint64_t wordsOf() { return Bounds().words; }
    static uint64_t wordsOf(const Bounds &bounds) { return bounds.words; }
    template <typename T> static uint64_t wordsOf(const T &) {
      return Bounds().words;
    }

    /// Describes a type, and remembers the structs in it.
    template <typename T> std::string describe(uint64_t words) {
      constexpr Shape shape = shapeOf<T>();
      if constexpr (shape == Shape::boolean)
        return "true or false";
      else if constexpr (shape == Shape::integer)
        return "integer";
      else if constexpr (shape == Shape::number)
        return "number";
      else if constexpr (shape == Shape::text)
        return "text";
      else if constexpr (shape == Shape::word)
        return "one of " + listWords<T>(words);
      else if constexpr (shape == Shape::list)
        return "list of " + describe<typename T::value_type>(words);
      else if constexpr (shape == Shape::orNull)
        return describe<typename T::value_type>(words) + " or null";
      else {
        inner.push_back([&reference = reference] { reference.add<T>(); });
        return link(T::title);
      }
    }

    /// Returns a link to the section of a struct.
    static std::string link(const std::string &title) {
      std::string anchor = title;
      for (char &letter : anchor)
        letter = letter == ' ' ? '-' : static_cast<char>(std::tolower(letter));
      return "[" + title + "](#" + anchor + ")";
    }

    Reference &reference;
    std::string prefix, indent;
  };

  std::set<std::string> known;
};

} // namespace

std::string writeReference() {
  Reference reference;
  reference.add<Program>();
  return reference.text;
}

std::string writeDeviceReference() {
  Reference reference;
  reference.add<Device>();
  return reference.text;
}

std::string writeClusterReference() {
  Reference reference;
  reference.add<Cluster>();
  return reference.text;
}

} // namespace ppopt::schema
