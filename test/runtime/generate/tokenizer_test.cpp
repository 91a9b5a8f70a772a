//===- tokenizer_test.cpp - Text as tokens and back -----------------------===//
//
// Inputs/tokenizer holds a vocabulary and texts with their tokens, both made by
// Hugging Face's `tokenizers` (make.py there).
//
//===----------------------------------------------------------------------===//

#include "generate/bpe_tokenizer.h"
#include "paths.h"
#include "train_files.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace ppopt::train;

namespace {

using Tokens = std::vector<int32_t>;

const std::string given = std::string(ppopt::test::inputs) + "/tokenizer";

std::string decodeAll(const Tokenizer &tokenizer, const Tokens &tokens) {
  std::string text;
  for (int32_t token : tokens)
    text += tokenizer.decode(token);
  return text;
}

/// A folder's two files.
std::string writeFiles(const TemporaryFolder &folder,
                       const std::string &vocabulary, const std::string &merges,
                       const char *first = "t/vocab.json",
                       const char *second = "t/merges.txt") {
  folder.write(first, vocabulary);
  folder.write(second, merges);
  return folder.path("t");
}

TEST(BpeTokenizer, GivesTheTokensThatTokenizersGives) {
  BpeTokenizer tokenizer(given);
  EXPECT_EQ(tokenizer.size(), 900);
  std::ifstream file(given + "/texts.json");
  nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 150u);
  for (const nlohmann::json &expected : cases) {
    std::string text = expected["text"];
    Tokens tokens = tokenizer.encode(text);
    EXPECT_EQ(tokens, expected["tokens"].get<Tokens>()) << expected["text"];
    EXPECT_EQ(decodeAll(tokenizer, tokens), text);
  }
}

TEST(BpeTokenizer, TakesBytesThatAreNotUtf8AsTheyAre) {
  BpeTokenizer tokenizer(given);
  for (std::string text :
       {"\xff", "a\xff", "\xffz \xc3", "word\xc3 word", "  \xe2\x82 x",
        "\xed\xa0\x80\xf5", "\xc0\xaf'\x80's"})
    EXPECT_EQ(decodeAll(tokenizer, tokenizer.encode(text)), text);
  Tokens word = tokenizer.encode(" word");
  Tokens both = tokenizer.encode("\xff word");
  EXPECT_EQ(Tokens(both.end() - word.size(), both.end()), word);
}

TEST(BpeTokenizer, BeginsWithTheEndOfText) {
  BpeTokenizer tokenizer(given);
  EXPECT_EQ(tokenizer.decode(tokenizer.first()), "<|endoftext|>");
  TemporaryFolder folder;
  BpeTokenizer without(writeFiles(folder, R"({"Ċ": 1, "b": 0})", ""));
  EXPECT_EQ(without.first(), 1);
  EXPECT_EQ(without.encode("b\nb"), (Tokens{0, 1, 0}));
  EXPECT_ERROR(without.encode("a"), "has no token for the byte 0x61");
  BpeTokenizer neither(writeFiles(folder, R"({"b": 0})", ""));
  EXPECT_ERROR(neither.first(), "give a --prompt");
}

TEST(BpeTokenizer, MergesByRankAndReadsOpenAisNames) {
  TemporaryFolder folder;
  // "ab" before "bc": a-b-c is ab-c, though b-c stands later in the file.
  std::string path = writeFiles(
      folder, R"({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "#a": 5, "#": 6})",
      "#version: 0.2\na b\r\n\nb c\n# a", "t/encoder.json", "t/vocab.bpe");
  BpeTokenizer tokenizer(path);
  EXPECT_EQ(tokenizer.encode("abc"), (Tokens{3, 2}));
  EXPECT_EQ(tokenizer.encode("bcab"), (Tokens{4, 3}));
  EXPECT_EQ(tokenizer.encode("cab"), (Tokens{2, 3}));
}

TEST(BpeTokenizer, RefusesWhatIsNoVocabulary) {
  TemporaryFolder folder;
  auto refuses = [&](const std::string &vocabulary, const std::string &merges,
                     const std::string &message) {
    EXPECT_ERROR(BpeTokenizer(writeFiles(folder, vocabulary, merges)), message);
  };
  EXPECT_ERROR(BpeTokenizer(folder.path("none")), "none: no such folder");
  folder.write("half/vocab.json", "{}");
  EXPECT_ERROR(BpeTokenizer(folder.path("half")),
               "half: has neither vocab.json and merges.txt nor encoder.json");
  refuses("{\"a\": 0", "", "vocab.json: is not a JSON object");
  refuses("{}", "", "vocab.json: is not a JSON object");
  refuses(std::string(1000, '['), "", "vocab.json: is nested too deeply");
  refuses(R"({"a": 0, "b": 2})", "",
          "vocab.json: token 'b' has the number 2, not one of 0 to 1");
  refuses(R"({"a": "0"})", "", "token 'a' has the number \"0\"");
  refuses(R"({"a": 0, "b": 0})", "", "two tokens have the number 0");
  refuses(R"({"a b": 0})", "", "token 'a b' (number 0) does not spell bytes");
  refuses(R"({"a": 0, "b": 1})", "a b c", "merges.txt:1: 'a b c' is not two");
  refuses(R"({"a": 0, "b": 1})", "#version\nab", "merges.txt:2: 'ab' is not");
  refuses(R"({"a": 0, "b": 1})", "a b", "merges.txt:1: 'ab' is not in the");
}

TEST(ByteTokenizer, IsBytes) {
  ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.encode("a\xff"), (Tokens{97, 255}));
  EXPECT_EQ(tokenizer.decode(255), "\xff");
  EXPECT_EQ(tokenizer.first(), 10);
}

TEST(WholeCharacters, KeepsAPartUntilTheRestComes) {
  WholeCharacters text;
  EXPECT_EQ(text.add("a\xe2"), "a");
  EXPECT_EQ(text.add("\x82"), "");
  EXPECT_EQ(text.add("\xac z\xf0\x9f\x99"), "\xe2\x82\xac z");
  EXPECT_EQ(text.add("\x82"), "\xf0\x9f\x99\x82");
  EXPECT_EQ(text.add("\xc3"), "");
  EXPECT_EQ(text.add("x"), "\xc3x"); // it was no character
  EXPECT_EQ(text.add("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
  EXPECT_EQ(text.add("\xc0\xff\xe2\x82"), "\xc0\xff");
  EXPECT_EQ(text.finish(), "\xe2\x82");
  EXPECT_EQ(text.finish(), "");
}

} // namespace
