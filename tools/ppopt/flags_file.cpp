//===- flags_file.cpp - Files with flags ----------------------------------===//

#include "flags_file.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace ppopt;

/// Appends the rest of a quotation to a word, and removes it and its end from
/// the line. Returns false if it has no end.
static bool takeQuoted(StringRef &line, char quote, std::string &word) {
  while (!line.empty()) {
    char c = line.front();
    line = line.drop_front();
    if (c == quote)
      return true;
    if (c == '\\' && quote == '"' && !line.empty() &&
        StringRef("\\\"$`").contains(line.front())) {
      c = line.front();
      line = line.drop_front();
    }
    word += c;
  }
  return false;
}

std::string ppopt::splitWords(StringRef text, std::vector<FileWord> &words) {
  text.consume_front("\xEF\xBB\xBF"); // the byte order mark
  unsigned number = 0;
  for (StringRef line : split(text, '\n')) {
    ++number;
    line = line.trim();
    // So does a shell go on in the next line.
    line.consume_back("\\");
    for (line = line.trim(); !line.empty() && !line.starts_with("#");
         line = line.ltrim()) {
      std::string &word = words.emplace_back(FileWord{"", number}).text;
      while (!line.empty() && !isSpace(line.front())) {
        char c = line.front();
        line = line.drop_front();
        if ((c == '\'' || c == '"') && !takeQuoted(line, c, word))
          return (Twine(number) + ": a " + Twine(c) +
                  " is not closed in its line")
              .str();
        if (c == '\\' && !line.empty()) {
          word += line.front();
          line = line.drop_front();
        } else if (c != '\'' && c != '"') {
          word += c;
        }
      }
    }
  }
  return "";
}
