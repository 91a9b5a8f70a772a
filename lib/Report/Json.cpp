//===- Json.cpp - Writes strings and numbers as JSON ----------------------===//

#include "Json.h"

#include <cstdio>

using namespace ppopt::schedule;

std::string ppopt::schedule::quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (code < 0x20 || c == '<') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string ppopt::schedule::spellNumber(double number) {
  char buffer[400]; // the largest double has 309 digits
  int length = std::snprintf(buffer, sizeof buffer, "%.3f", number);
  std::string text(buffer, length);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

std::vector<std::string>
ppopt::schedule::nameEdges(const StageGraph &graph,
                           const std::vector<std::string> &names) {
  std::vector<std::string> all = names;
  all.resize(graph.edges.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].empty())
      all[i] = "s" + std::to_string(graph.edges[i].from) + ">s" +
               std::to_string(graph.edges[i].to);
  return all;
}
