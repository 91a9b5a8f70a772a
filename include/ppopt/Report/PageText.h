//===- PageText.h - Pages for a browser -----------------------------------===//
//
// A page is one self-contained file: a document with its style, its script and,
// as a JavaScript value, the data that the script draws. The parts that pages
// share (base.css, base.js) are in lib/Report/PageBase; cmake/PpoptPage.cmake
// compiles parts into sources.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_REPORT_PAGETEXT_H
#define PPOPT_REPORT_PAGETEXT_H

#include <string>
#include <string_view>

namespace ppopt {

struct PageParts {
  std::string_view document; ///< contains @TITLE@, @STYLE@, @DATA@, @SCRIPT@
  std::string_view style, script;
};

/// Returns the page. `data` is JSON.
std::string fillPage(const PageParts &parts, std::string_view title,
                     std::string_view data);

} // namespace ppopt

#endif // PPOPT_REPORT_PAGETEXT_H
