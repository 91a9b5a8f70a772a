//===- main.cpp - Prints the references of documents ----------------------===//

#include "schema/write.h"

#include <iostream>
#include <string_view>

/// "device": of a device's document; without an argument, of a program's.
int main(int argc, char **argv) {
  bool isDevice = argc > 1 && std::string_view(argv[1]) == "device";
  std::cout << (isDevice ? ppopt::schema::writeDeviceReference()
                         : ppopt::schema::writeReference());
  return std::cout.flush() ? 0 : 1;
}
