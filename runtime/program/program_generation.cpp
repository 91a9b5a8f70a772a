//===- program_generation.cpp - Reads the part for generation -------------===//

#include "program/program_generation.h"

#include "ppopt/runtime.h"
#include "program/program_actions.h"
#include "program/program_places.h"

namespace ppopt::runtime {

namespace {

ElementType readTypeOf(const Field &field, ElementType one, ElementType other) {
  ElementType type = readType(field);
  if (type != one && type != other)
    field.fail(fmt::format("is {}, neither {} nor {}", spelling(type),
                           spelling(one), spelling(other)));
  return type;
}

} // namespace

Generation readGeneration(const Field &field, const Program &program) {
  if (program.plan.ranks() != 1 || program.places.size() != 1 ||
      program.plan.batch != 1)
    field.fail("is in a program that is not for one rank and a batch of 1");
  const Place &place = program.places.front();
  auto readOffset = [&](const Field &at, int64_t bytes) {
    return runtime::readOffset(at["offset"], place, bytes, PPOPT_ALIGNMENT);
  };
  Generation read;
  read.vocabulary = field["vocabulary"].integer(1);
  read.context = field["context"].integer(1);
  Field token = field["token"], position = field["position"],
        logits = field["logits"];
  read.tokenType =
      readTypeOf(token["type"], ElementType::i32, ElementType::i64);
  read.tokenOffset = readOffset(token, byteSize(read.tokenType));
  if (readType(position["type"]) != ElementType::i64)
    position["type"].fail("is not i64");
  read.positionOffset = readOffset(position, byteSize(ElementType::i64));
  read.logitsType =
      readTypeOf(logits["type"], ElementType::f32, ElementType::f64);
  read.logitsOffset =
      readOffset(logits, read.vocabulary * byteSize(read.logitsType));
  field["caches"].forEach([&](const Field &cache) {
    int64_t bytes = cache["bytes"].integer(1);
    read.caches.push_back(
        {cache["name"].text(), readOffset(cache, bytes), bytes});
  });
  read.bytesPerPosition = field["bytes_per_position"].integer();
  return read;
}

} // namespace ppopt::runtime
