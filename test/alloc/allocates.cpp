// A program of four "steps" that allocates in the third: what the counter must
// see.

#include <cstdio>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <vector>

int main(int, char **argv) {
  std::ofstream log(argv[1]);
  for (int step = 1; step <= 4; ++step) {
    if (step == 3) {
      std::string text(1000, 'x'); // asked for inside the C++ library
      std::vector<int> values(1000);
      volatile int *use = values.data();
      use[0] = text[0];
      munmap(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
             4096);
    }
    log << "{\"step\": " << step << "}\n" << std::flush;
  }
  return 0;
}
