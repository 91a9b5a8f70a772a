//===- main.cpp - Prints the reference of the program's document ----------===//

#include "schema/write.h"

#include <iostream>

int main() {
  std::cout << ppopt::schema::writeReference();
  return std::cout.flush() ? 0 : 1;
}
