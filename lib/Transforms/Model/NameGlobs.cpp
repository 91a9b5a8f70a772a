//===- NameGlobs.cpp - Lists of GLOB=VALUE on the command line ------------===//

#include "ppopt/Transforms/Model/NameGlobs.h"

#include "ppopt/Support/NearestNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::pp;

FailureOr<SmallVector<NameGlob>>
pp::splitGlobs(StringRef text, const GlobContext &context, StringRef example) {
  SmallVector<NameGlob> globs;
  SmallVector<StringRef> parts;
  text.split(parts, ';', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      continue;
    auto [glob, value] =
        example.empty() ? std::pair(part, StringRef()) : part.split('=');
    glob = glob.trim();
    value = value.trim();
    if (glob.empty() || (!example.empty() && value.empty()))
      return context.refuse() << "'" << part << "' is not " << example,
             failure();
    globs.push_back({glob, value});
  }
  return globs;
}

FailureOr<SmallVector<unsigned>> pp::matchGlob(StringRef glob,
                                               const GlobContext &context) {
  auto pattern = llvm::GlobPattern::create(glob);
  if (!pattern)
    return context.refuse()
               << "'" << glob
               << "' is no glob: " << llvm::toString(pattern.takeError()),
           failure();
  SmallVector<unsigned> matched;
  for (auto [i, name] : llvm::enumerate(context.names))
    if (pattern->match(name))
      matched.push_back(i);
  if (matched.empty())
    return context.refuse() << "no " << context.kind << " is named '" << glob
                            << "'" << ppopt::suggest(glob, context.names),
           failure();
  return matched;
}
