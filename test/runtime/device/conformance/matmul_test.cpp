//===- matmul_test.cpp - Conformance: matmuls -----------------------------===//

#include "device/conformance/devices.h"

#include <cmath>
#include <cstring>

using namespace ppopt;
using namespace ppopt::device;

namespace {

int64_t byteSize(MatmulType type) {
  return type == MatmulType::f64 ? 8 : type == MatmulType::f32 ? 4 : 2;
}

double readNumber(MatmulType type, const unsigned char *at) {
  auto as = [&](auto number) {
    std::memcpy(&number, at, sizeof number);
    return double(number);
  };
  if (type == MatmulType::f64)
    return as(double());
  if (type == MatmulType::f32)
    return as(float());
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  uint32_t wide = uint32_t(bits) << 16;
  float number;
  std::memcpy(&number, &wide, 4);
  return number;
}

void writeNumber(MatmulType type, unsigned char *at, double number) {
  float single = float(number);
  if (type == MatmulType::f64) {
    std::memcpy(at, &number, 8);
  } else if (type == MatmulType::f32) {
    std::memcpy(at, &single, 4);
  } else {
    uint32_t wide;
    std::memcpy(&wide, &single, 4);
    auto bits = uint16_t(wide >> 16); // inputs may be truncated
    std::memcpy(at, &bits, 2);
  }
}

using Strides = std::array<int64_t, 4>;

struct Shape {
  const char *name;
  int64_t m, n, k;
  std::array<int64_t, 2> batch;
  Strides a, b, c;
};

const Shape shapes[] = {
    {"one", 1, 1, 1, {1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}},
    {"dense", 33, 20, 17, {1, 1}, {0, 0, 17, 1}, {0, 0, 20, 1}, {0, 0, 20, 1}},
    {"large",
     70,
     65,
     130,
     {1, 1},
     {0, 0, 130, 1},
     {0, 0, 65, 1},
     {0, 0, 65, 1}},
    {"transposed", 9, 8, 7, {1, 1}, {0, 0, 1, 9}, {0, 0, 1, 7}, {0, 0, 8, 1}},
    {"padded rows",
     9,
     8,
     7,
     {1, 1},
     {0, 0, 11, 1},
     {0, 0, 10, 1},
     {0, 0, 13, 1}},
    {"batches",
     5,
     6,
     7,
     {2, 3},
     {105, 35, 7, 1},
     {126, 42, 6, 1},
     {90, 30, 6, 1}},
    {"broadcast A",
     5,
     6,
     7,
     {2, 3},
     {0, 35, 7, 1},
     {126, 42, 6, 1},
     {90, 30, 6, 1}},
    {"broadcast B",
     5,
     6,
     7,
     {2, 3},
     {105, 35, 7, 1},
     {0, 0, 6, 1},
     {90, 30, 6, 1}},
    // Heads of one activation: [batch, time, heads, width] of each operand.
    {"heads",
     6,
     6,
     4,
     {2, 3},
     {72, 4, 12, 1},
     {72, 4, 1, 12},
     {108, 36, 6, 1}}};

struct Types {
  MatmulType type, cType;
};
const Types allTypes[] = {{MatmulType::f32, MatmulType::f32},
                          {MatmulType::f64, MatmulType::f64},
                          {MatmulType::bf16, MatmulType::f32},
                          {MatmulType::bf16, MatmulType::bf16}};

class Matmul : public Conformance {
protected:
  /// Numbers of a type in host memory and on the device.
  struct Operand {
    MatmulType type;
    Bytes host;
    DevicePointer memory;

    double get(int64_t i) const {
      return readNumber(type, &host[i * byteSize(type)]);
    }
  };
  Operand make(MatmulType type, const MatmulDescriptor &p, const Strides &s,
               int64_t rows, int64_t columns, unsigned seed) {
    int64_t count = (p.batch[0] - 1) * s[0] + (p.batch[1] - 1) * s[1] +
                    (rows - 1) * s[2] + (columns - 1) * s[3] + 1;
    Bytes random = randomBytes(count, seed);
    Operand operand{type, Bytes(count * byteSize(type)), {}};
    for (int64_t i = 0; i < count; ++i)
      writeNumber(type, &operand.host[i * byteSize(type)],
                  (random[i] - 127) / 128.0);
    operand.memory = allocate(operand.host.size());
    upload(operand.memory, operand.host);
    return operand;
  }
  void expectRight(const MatmulDescriptor &p, int number);
};
PPOPT_CONFORMANCE_DEVICES(Matmul);

void Matmul::expectRight(const MatmulDescriptor &p, int number) {
  Operand a = make(p.type, p, p.a, p.m, p.k, 1);
  Operand b = make(p.type, p, p.b, p.k, p.n, 2);
  Operand c = make(p.cType, p, p.c, p.m, p.n, 3);
  int64_t workspaceBytes = matmulWorkspaceBytes(p, GetParam().threads);
  DevicePointer workspace;
  if (workspaceBytes > 0)
    workspace = allocate(workspaceBytes);
  device->defineMatmul({"of a test", p, workspaceBytes});
  device->matmul(stream, number, a.memory, b.memory, c.memory, workspace);
  Operand result{p.cType, download(c.memory, c.host.size()), {}};

  double tolerance = p.type == MatmulType::f64 ? 1e-13 : 1e-5;
  if (p.cType == MatmulType::bf16)
    tolerance = 1.0 / 128;
  int64_t size = byteSize(p.cType);
  for (int64_t b0 = 0; b0 < p.batch[0]; ++b0)
    for (int64_t b1 = 0; b1 < p.batch[1]; ++b1)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          auto at = [&](const Strides &s, int64_t row, int64_t column) {
            return b0 * s[0] + b1 * s[1] + row * s[2] + column * s[3];
          };
          int64_t where = at(p.c, i, j);
          double sum = p.accumulate ? c.get(where) : 0;
          for (int64_t l = 0; l < p.k; ++l)
            sum += a.get(at(p.a, i, l)) * b.get(at(p.b, l, j));
          ASSERT_NEAR(result.get(where), sum,
                      tolerance * std::max(1.0, std::fabs(sum)))
              << "C[" << b0 << "," << b1 << "," << i << "," << j << "]";
          std::fill_n(&result.host[where * size], size, 0);
          std::fill_n(&c.host[where * size], size, 0);
        }
  EXPECT_EQ(result.host, c.host) << "wrote between the elements of C";
}

TEST_P(Matmul, AllTypesAndStrides) {
  int number = 0;
  for (const Shape &shape : shapes)
    for (const Types &types : allTypes)
      for (bool accumulate : {false, true}) {
        MatmulDescriptor p;
        p.type = types.type, p.cType = types.cType;
        p.accumulate = accumulate;
        p.m = shape.m, p.n = shape.n, p.k = shape.k;
        p.batch = shape.batch;
        p.a = shape.a, p.b = shape.b, p.c = shape.c;
        ASSERT_EQ(invalidMatmul(p), "");
        SCOPED_TRACE(testing::Message()
                     << shape.name << (accumulate ? ", accumulated" : "")
                     << ", types " << int(p.type) << int(p.cType));
        expectRight(p, number++);
      }
}

/// C = A·B, then D = C·B on another stream, with one workspace for both.
TEST_P(Matmul, InOrder) {
  MatmulDescriptor p;
  p.m = p.n = p.k = 64;
  p.a = p.b = p.c = {0, 0, 64, 1};
  int64_t workspaceBytes = matmulWorkspaceBytes(p, GetParam().threads);
  device->defineMatmul({"square", p, workspaceBytes});
  DevicePointer workspace = allocate(std::max<int64_t>(workspaceBytes, 1));
  // Permutations: exact in any order of the sums.
  std::vector<float> shift(64 * 64);
  for (int i = 0; i < 64; ++i)
    shift[i * 64 + (i + 5) % 64] = 1;
  int64_t bytes = 64 * 64 * 4;
  DevicePointer a = allocate(bytes), c = allocate(bytes), d = allocate(bytes);
  device->copyIn(stream, a, shift.data(), bytes);
  device->matmul(stream, 0, a, a, c, workspace);
  Stream other = device->makeStream("other");
  Event event = device->makeEvent();
  device->record(event, stream);
  device->wait(other, event);
  device->matmul(other, 0, c, a, d, workspace);
  std::vector<float> result(64 * 64);
  device->copyOut(other, result.data(), d, bytes);
  device->synchronize(other);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      ASSERT_EQ(result[i * 64 + j], j == (i + 15) % 64 ? 1 : 0);
}

} // namespace
