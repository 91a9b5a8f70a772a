//===- main.cpp - Runs ppopt ----------------------------------------------===//

#include "driver.h"

int main(int argc, char **argv) { return ppopt::runDriver(argc, argv); }
