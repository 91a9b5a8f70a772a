//===- PageText.h - Pages for a browser -----------------------------------===//
//
// A page is one file that needs no other: a document with its style, its script
// and, as a JavaScript value, the data that the script draws. Parts that pages
// share (base.css, base.js) and how parts get into a source: lib/Page and
// cmake/PpoptPage.cmake.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_REPORT_PAGETEXT_H
#define PPOPT_REPORT_PAGETEXT_H

#include <string>
#include <string_view>

namespace ppopt {

struct PageParts {
  std::string_view document; ///< @TITLE@, @STYLE@, @DATA@, @SCRIPT@ in it
  std::string_view style, script;
};

/// The page. `data` is JSON without a "<" in it.
std::string fillPage(const PageParts &parts, std::string_view title,
                     std::string_view data);

} // namespace ppopt

#endif // PPOPT_REPORT_PAGETEXT_H
