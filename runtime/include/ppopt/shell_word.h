//===- shell_word.h - Words of commands that we print ---------------------===//

#ifndef PPOPT_SHELL_WORD_H
#define PPOPT_SHELL_WORD_H

#include <string>
#include <string_view>

namespace ppopt {

/// Returns an argument of a command, quoted for a POSIX shell if it needs to
/// be.
inline std::string shellWord(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-_=./,:+@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return std::string(word);
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The same of the path of a command, to which the shell must not assign:
/// lr=1/train.
inline std::string shellCommand(std::string_view path) {
  std::string word = shellWord(path);
  return word.find('=') == word.npos || word[0] == '\'' ? word
                                                        : "'" + word + "'";
}

} // namespace ppopt

#endif // PPOPT_SHELL_WORD_H
