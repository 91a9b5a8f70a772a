//===- path.h - Where in a document something is wrong --------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PATH_H
#define PPOPT_RUNTIME_PROGRAM_PATH_H

#include "base/error.h"

#include <cstddef>
#include <string>

namespace ppopt::runtime {

/// The path of a field in the program's document, "places[0].actions[4].task".
/// Refers to the outer path, which must outlive it; makes no text until
/// something fails.
class Path {
public:
  Path() = default;
  /// A document other than an executable's program. `advice` says what to do if
  /// it is wrong. Without both, errors are only where and what.
  Path(const char *document, const char *advice)
      : document(document), advice(advice) {}

  Path operator[](const char *name) const { return {this, name, 0}; }
  Path operator[](size_t index) const { return {this, nullptr, index}; }

  std::string text() const {
    if (!outer)
      return "";
    std::string text = outer->text();
    if (!name)
      return text + "[" + std::to_string(index) + "]";
    return text.empty() ? name : text + "." + name;
  }

  [[noreturn]] void fail(const std::string &what) const {
    const Path *root = this;
    while (root->outer)
      root = root->outer;
    std::string where = text();
    if (where.empty())
      where = "the document";
    if (!root->document)
      throw Error("{} {}", where, what);
    throw Error("{}: {} {}; {}", root->document, where, what, root->advice);
  }

private:
  Path(const Path *outer, const char *name, size_t index)
      : outer(outer), name(name), index(index) {}

  const Path *outer = nullptr;
  const char *name = nullptr; ///< null: an element of a list
  size_t index = 0;
  // Of the whole document.
  const char *document = "program";
  const char *advice = "the executable does not fit its runtime: compile it "
                       "again";
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PATH_H
