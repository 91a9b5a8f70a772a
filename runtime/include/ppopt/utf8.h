//===- utf8.h - Texts for JSON --------------------------------------------===//

#ifndef PPOPT_UTF8_H
#define PPOPT_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace ppopt {

/// Returns the number of bytes of the character that a text begins with; 0 if
/// they are not UTF-8.
inline size_t utf8Length(std::string_view text) {
  struct Form {
    unsigned char first, last; ///< of the leading byte
    size_t length;
    unsigned char least, most; ///< of the second byte
  };
  constexpr Form forms[] = {
      {0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf},
      {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
      {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
      {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf},
      {0xf4, 0xf4, 4, 0x80, 0x8f}};
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Form &form : forms) {
    if (byte(0) < form.first || byte(0) > form.last)
      continue;
    if (text.size() < form.length)
      return 0;
    for (size_t i = 1; i < form.length; ++i)
      if (byte(i) < (i == 1 ? form.least : 0x80) ||
          byte(i) > (i == 1 ? form.most : 0xbf))
        return 0;
    return form.length;
  }
  return 0;
}

/// Returns the text with each byte that is not UTF-8 as "\xE4". Names of files
/// may have any bytes, the texts of a JSON document may not.
inline std::string escapeNonUtf8(std::string_view text) {
  constexpr const char *digits = "0123456789ABCDEF";
  std::string escaped;
  while (!text.empty()) {
    size_t length = utf8Length(text);
    if (length > 0) {
      escaped += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    auto byte = static_cast<unsigned char>(text[0]);
    escaped += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    text.remove_prefix(1);
  }
  return escaped;
}

} // namespace ppopt

#endif // PPOPT_UTF8_H
