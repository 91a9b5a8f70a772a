//===- main.cpp - Prints the references of documents ----------------------===//

#include "schema/write.h"

#include <iostream>
#include <string_view>

/// "device", "cluster": of their documents; without an argument, of a
/// program's.
int main(int argc, char **argv) {
  std::string_view of = argc > 1 ? argv[1] : "";
  std::cout << (of == "device"    ? ppopt::schema::writeDeviceReference()
                : of == "cluster" ? ppopt::schema::writeClusterReference()
                                  : ppopt::schema::writeReference());
  return std::cout.flush() ? 0 : 1;
}
