//===- PageText.cpp - Pages for a browser ---------------------------------===//

#include "ppopt/Report/PageText.h"

using namespace ppopt;

static std::string escapeHtml(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

/// Returns JSON without "<", which occurs in strings only and could end the
/// script.
static std::string escapeInScript(std::string_view json) {
  std::string escaped;
  for (char c : json)
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

/// Returns the text before a mark, and moves `rest` after the mark.
static std::string_view takeUntil(std::string_view &rest,
                                  std::string_view mark) {
  size_t at = rest.find(mark);
  std::string_view before = rest.substr(0, at);
  rest.remove_prefix(at + mark.size());
  return before;
}

std::string ppopt::fillPage(const PageParts &parts, std::string_view title,
                            std::string_view data) {
  std::string_view rest = parts.document;
  std::string text;
  text.append(takeUntil(rest, "@TITLE@")).append(escapeHtml(title));
  text.append(takeUntil(rest, "@STYLE@")).append(parts.style);
  text.append(takeUntil(rest, "@DATA@")).append(escapeInScript(data));
  text.append(takeUntil(rest, "@SCRIPT@")).append(parts.script);
  return text.append(rest);
}
