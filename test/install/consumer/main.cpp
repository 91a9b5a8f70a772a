#include <ppopt/version.h>

#include <cstdio>

int main() {
  std::printf("runtime %s, ABI %d, compiler %s\n", ppopt_runtime_version(),
              ppopt_runtime_abi(), PPOPT_COMPILER);
}
