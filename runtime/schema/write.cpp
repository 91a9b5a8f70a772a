//===- write.cpp - Writes a program as its document -----------------------===//

#include "schema/write.h"

#include "schema/write_fields.h"

namespace ppopt::schema {

namespace {

std::string dump(const OrderedJson &document) {
  return document.dump(/*indent=*/-1, /*indent_char=*/' ',
                       /*ensure_ascii=*/false,
                       OrderedJson::error_handler_t::replace);
}

} // namespace

std::string writeProgram(const Program &program) {
  return dump(toJson(program));
}

std::string writeRefusedGeneration(int64_t abi, const std::string &reason) {
  return dump({{"abi", abi}, {"generation", {{"refused", reason}}}});
}

std::string writeDevice(const Device &device) {
  return toJson(device).dump(/*indent=*/1, /*indent_char=*/' ',
                             /*ensure_ascii=*/false,
                             OrderedJson::error_handler_t::replace) +
         "\n";
}

} // namespace ppopt::schema
