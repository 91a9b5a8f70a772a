//===- files_test.cpp - safetensors and token files -----------------------===//

#include "app/agreement.h"
#include "base/list_files.h"
#include "data/guarded_copy.h"
#include "data/safetensors.h"
#include "data/token_files.h"
#include "ppopt/shell_word.h"
#include "ppopt/utf8.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>

using namespace ppopt::train;

namespace {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// What ranks have in common
//===----------------------------------------------------------------------===//

TEST(Agreement, AFingerprintTellsContentsAndSizesApart) {
  TemporaryFolder folder;
  auto file = [&](const char *name, const std::string &text) {
    return SampleFile{folder.write(name, text), text.size(), 0};
  };
  std::string text(1 << 20, 'a'), changed = text;
  changed[(1 << 20) / 64 * 5] = 'b'; // where the fifth piece begins
  std::string whole = fingerprint({file("whole", text)});
  EXPECT_EQ(fingerprint({file("same", text)}), whole);
  EXPECT_NE(fingerprint({file("changed", changed)}), whole);
  // As many bytes in all, and the same.
  EXPECT_NE(fingerprint({file("begin", text.substr(0, 1000)),
                         file("end", text.substr(1000))}),
            whole);
  EXPECT_NE(fingerprint({file("a", "a")}), fingerprint({file("b", "b")}));
  EXPECT_EQ(fingerprint({file("none", ""), file("x", "x"), file("no", "")}),
            fingerprint({file("none2", ""), file("x2", "x"), file("no2", "")}));
  EXPECT_EQ(fingerprint({file("nothing", "")}), fingerprint({file("n", "")}));
}

TEST(Agreement, TheFirstDifferenceIsNamed) {
  using Facts = std::vector<CommonFact>;
  Facts facts{{"--lr", "0.1"}, {"--seed", "3"}};
  EXPECT_EQ(findDifference(facts, facts), "");
  EXPECT_EQ(findDifference(facts, {{"--seed", "4"}, {"--lr", "0.1"}}),
            "--seed: 3 / 4");
  EXPECT_EQ(findDifference(facts, {{"--lr", "0.1"}}), "--seed: 3 / not given");
  EXPECT_EQ(findDifference({{"--lr", "0.1"}}, facts), "--seed: not given / 3");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST(Utf8, OtherBytesAreEscaped) {
  for (const char *text : {"", "plain", "\xc3\xa4", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "\x7f\\x41"})
    EXPECT_EQ(ppopt::escapeNonUtf8(text), text);
  EXPECT_EQ(ppopt::escapeNonUtf8("l\xe4tin"), "l\\xE4tin");
  // Cut short, overlong, a surrogate, beyond the last character.
  EXPECT_EQ(ppopt::escapeNonUtf8("\xe2\x82"), "\\xE2\\x82");
  EXPECT_EQ(ppopt::escapeNonUtf8("\xc0\x80"), "\\xC0\\x80");
  EXPECT_EQ(ppopt::escapeNonUtf8("\xed\xa0\x80"), "\\xED\\xA0\\x80");
  EXPECT_EQ(ppopt::escapeNonUtf8("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
}

TEST(ShellWord, IsQuotedWhereItMustBe) {
  EXPECT_EQ(ppopt::shellWord("--mesh=dp=2,pp=2"), "--mesh=dp=2,pp=2");
  EXPECT_EQ(ppopt::shellWord(""), "''");
  EXPECT_EQ(ppopt::shellWord("a b"), "'a b'");
  EXPECT_EQ(ppopt::shellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ppopt::shellWord("~$*\n"), "'~$*\n'");
  EXPECT_EQ(ppopt::shellCommand("./train"), "./train");
  EXPECT_EQ(ppopt::shellCommand("a b/train"), "'a b/train'");
  // Not an assignment before the command --data.
  EXPECT_EQ(ppopt::shellCommand("lr=1/train"), "'lr=1/train'");
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

/// A file with this header and so many bytes of data.
std::string withHeader(const std::string &header, size_t dataBytes) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += static_cast<char>(header.size() >> (8 * i));
  return text + header + std::string(dataBytes, '\x01');
}

TEST(Safetensors, ReadsWhatItWrote) {
  TemporaryFolder folder;
  std::string path = folder.path("a.safetensors");
  double d[2] = {1.5, -2};
  float f[6] = {0, 1, 2, 3, 4, 5};
  uint8_t byte = 7;
  writeSafetensors(path,
                   {{"byte", "U8", {}, &byte},
                    {"f", "F32", {2, 3}, f},
                    {"empty", "I64", {0, 4}, nullptr},
                    {"d \"quoted\"", "F64", {2}, d}},
                   {{"format", "pt"}});
  SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  const StoredTensor *stored = file.find("f");
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->dtype, "F32");
  EXPECT_EQ(stored->shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(stored->bytes, sizeof(f));
  EXPECT_EQ(std::memcmp(stored->data, f, sizeof(f)), 0);
  EXPECT_EQ(std::memcmp(file.find("d \"quoted\"")->data, d, sizeof(d)), 0);
  EXPECT_EQ(*file.find("byte")->data, 7);
  EXPECT_TRUE(file.find("byte")->shape.empty());
  EXPECT_EQ(file.find("empty")->bytes, 0u);
  EXPECT_EQ(file.find("g"), nullptr);
}

TEST(Safetensors, ReplacesAFileAsAWholeAndLeavesNothingAside) {
  TemporaryFolder folder;
  std::string path = folder.write("a.safetensors", "not yet");
  float value = 1;
  writeSafetensors(path, {{"x", "F32", {1}, &value}});
  EXPECT_EQ(SafetensorsFile(path).tensors().size(), 1u);
  auto entries = std::filesystem::directory_iterator(folder.path("."));
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  EXPECT_ERROR(writeSafetensors(folder.path("no/a"), {}), "cannot create");
}

TEST(Safetensors, WritesTensorsInPiecesInAnyOrder) {
  TemporaryFolder folder;
  std::vector<TensorToStore> tensors = {{"b", "BOOL", {3}, nullptr},
                                        {"d", "F64", {4}, nullptr}};
  bool b[3] = {true, false, true};
  double d[4] = {1.5, -2, 3, 4};
  std::string whole = folder.path("whole"), pieces = folder.path("pieces");
  writeSafetensors(whole, {{"b", "BOOL", {3}, b}, {"d", "F64", {4}, d}},
                   {{"format", "pt"}});
  {
    SafetensorsWriter writer(pieces, tensors, {{"format", "pt"}});
    writer.write(0, 1, b + 1, 2);
    writer.write(1, 16, d + 2, 16);
    writer.write(1, 0, d, 16);
    writer.write(0, 0, b, 1);
    EXPECT_FALSE(std::filesystem::exists(pieces));
    writer.commit();
  }
  EXPECT_EQ(ppopt::train::MappedFile(pieces).text(),
            ppopt::train::MappedFile(whole).text());
  {
    SafetensorsWriter stopped(folder.path("stopped"), tensors, {});
    stopped.write(1, 0, d, 32);
  }
  auto entries = std::filesystem::directory_iterator(folder.path("."));
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
  EXPECT_ERROR(SafetensorsWriter(folder.path("no/a"), tensors, {}),
               "no/a: cannot create");
}

TEST(Safetensors, RefusesMalformedFiles) {
  struct Case {
    const char *header;
    size_t dataBytes;
    const char *message;
  };
  const Case cases[] = {
      {"[]", 0, "the header is not a JSON object"},
      {"{", 0, "the header is not valid JSON"},
      {"", 0, "the header is not valid JSON"},
      {R"({"a": 3})", 0, "'a': its entry in the header is not an object"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4,
       "'a': the header does not give its dtype"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4,
       "does not give its shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4,
       "does not give its data_offsets"},
      {R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
       "'a': unknown dtype 'F31'"},
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4,
       "dtype is not a string"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4,
       "shape is not a list"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
       "the size -1 in its shape is not a whole number"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4,
       "the size 1.5 in its shape"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       0, "overflow 64 bits"},
      {R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})",
       0, "overflow 64 bits"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
       "end before they begin"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4,
       "data_offsets is not a pair"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "F32 [2] needs 8 bytes, data_offsets [0, 4] hold 4"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4,
       "the file is truncated"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8,
       "unknown key 'x'"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       4, "tensors 'a' and 'b' overlap"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       4, "bytes 1 to 2 of the data belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 4,
       "the last 3 bytes of the data belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "two tensors are named 'a'"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
       1, "has the key 'dtype' twice"},
      {R"({"a":[[[[[[[[[[[[0]]]]]]]]]]]]})", 0, "nested too deeply"},
      {R"({"__metadata__":{"x":1}})", 0, "entry 'x' is not a string"},
      {R"({"__metadata__":3})", 0, "__metadata__ is not an object"},
  };
  TemporaryFolder folder;
  for (const Case &wrong : cases) {
    SCOPED_TRACE(wrong.header);
    std::string path =
        folder.write("bad", withHeader(wrong.header, wrong.dataBytes));
    EXPECT_ERROR(SafetensorsFile{path}, wrong.message);
    EXPECT_ERROR(SafetensorsFile{path}, path);
  }
  EXPECT_ERROR(SafetensorsFile{folder.write("bad", "1234567")}, "too few");
  EXPECT_ERROR(SafetensorsFile{folder.write("bad", "")}, "too few");
  EXPECT_ERROR(SafetensorsFile{folder.write("bad", "hello, world")},
               "not a safetensors file");
  EXPECT_ERROR(
      SafetensorsFile{folder.write("bad", withHeader("{}", 0).substr(0, 9))},
      "the header should have 2 bytes, the file ends after 1");
  EXPECT_ERROR(SafetensorsFile{folder.path("absent")}, "cannot open");
  EXPECT_ERROR(SafetensorsFile{folder.path(".")}, "not a regular file");
}

TEST(Safetensors, HeadersAreReadInLinearTime) {
  constexpr int tensors = 100000;
  std::string header;
  for (int i = 0; i < tensors; ++i)
    header += fmt::format(
        R"({}"t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
        i == 0 ? "{" : ",", i, i, i + 1);
  TemporaryFolder folder;
  std::string path = folder.write("a", withHeader(header + "}", tensors));
  std::clock_t begin = std::clock();
  EXPECT_EQ(SafetensorsFile{path}.tensors().size(), size_t(tensors));
  // Quadratic time is minutes, linear time less than one of these seconds.
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 30);
}

//===----------------------------------------------------------------------===//
// Token files
//===----------------------------------------------------------------------===//

template <typename Int>
std::string llmcFile(int32_t magic, int32_t version,
                     const std::vector<Int> &tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<int32_t>(tokens.size());
  return asBytes(header) + asBytes(tokens);
}

using Paths = std::vector<std::string>;

std::vector<int64_t> tokensOf(const std::string &path, TokenFormat format) {
  TokenWindows windows({path}, format, {1, 1}, "--data");
  std::vector<int64_t> tokens(windows.count());
  for (uint64_t i = 0; i < windows.count(); ++i)
    windows.copy(i, 0, 1, {}, &tokens[i]);
  return tokens;
}

TEST(TokenFiles, ReadsEachFormat) {
  TemporaryFolder folder;
  using Tokens = std::vector<int64_t>;
  EXPECT_EQ(tokensOf(folder.write("text", "a\xff"), TokenFormat::Bytes),
            (Tokens{97, 255}));
  std::string raw = asBytes(std::vector<uint16_t>{1, 50256, 3});
  EXPECT_EQ(tokensOf(folder.write("raw", raw), TokenFormat::Uint16),
            (Tokens{1, 50256, 3}));
  std::string gpt2 = llmcFile<uint16_t>(20240520, 1, {50256, 2});
  std::string llama = llmcFile<uint32_t>(20240801, 7, {128255, 70000, 5});
  for (TokenFormat format : {TokenFormat::Bytes, TokenFormat::Uint16}) {
    EXPECT_EQ(tokensOf(folder.write("gpt2.bin", gpt2), format),
              (Tokens{50256, 2}));
    EXPECT_EQ(tokensOf(folder.write("llama.bin", llama), format),
              (Tokens{128255, 70000, 5}));
  }
}

TEST(TokenFiles, RefusesWrongHeaders) {
  TemporaryFolder folder;
  std::string good = llmcFile<uint16_t>(20240520, 1, {1, 2, 3});
  auto open = [&](const std::string &bytes,
                  TokenFormat format = TokenFormat::Bytes) {
    tokensOf(folder.write("f.bin", bytes), format);
  };
  EXPECT_ERROR(open(good.substr(0, 100)), "ends within the header");
  EXPECT_ERROR(open(good.substr(0, good.size() - 1)),
               "the header promises 3 tokens of 2 bytes, 5 bytes follow it");
  EXPECT_ERROR(open(llmcFile<uint16_t>(20240520, 2, {1})), "of version 2");
  EXPECT_ERROR(open(llmcFile<uint32_t>(20240801, 1, {1})),
               "only version 7 of magic 20240801 is known");
  EXPECT_ERROR(open("abc", TokenFormat::Uint16),
               "3 bytes are not a whole number of uint16 tokens");
}

/// The tokens of bytes as text.
std::string textOf(const TokenWindows &windows, uint64_t window, uint64_t shift,
                   uint64_t length) {
  std::vector<int32_t> tokens(length);
  windows.copy(window, shift, length, {}, tokens.data());
  return std::string(tokens.begin(), tokens.end());
}

TEST(TokenWindows, AreNumberedByFileAndDoNotCrossFiles) {
  TemporaryFolder folder;
  folder.write("data/b", "BCDE");
  folder.write("data/a/deep", "abc");
  folder.write("data/c", "xy");
  folder.write("data/.git/config", "hidden");
  folder.write("data/.hidden", "hidden");
  TokenWindows windows({folder.path("data")}, TokenFormat::Bytes, {3, 1},
                       "--data");
  EXPECT_EQ(windows.count(), 3u); // abc, BCD, CDE
  EXPECT_EQ(windows.tokens(), 7u);
  EXPECT_EQ(windows.files(), 2u);
  EXPECT_EQ(windows.skippedFiles(), 1u);
  EXPECT_EQ(windows.skippedTokens(), 2u);
  EXPECT_EQ(textOf(windows, 0, 0, 3), "abc");
  EXPECT_EQ(textOf(windows, 1, 0, 3), "BCD");
  EXPECT_EQ(textOf(windows, 2, 1, 2), "DE");
}

TEST(TokenWindows, EveryTokenIsATargetOnce) {
  TemporaryFolder folder;
  for (int length : {5, 8, 9, 10, 12, 13, 20, 10007}) {
    SCOPED_TRACE(length);
    std::string text;
    for (int i = 0; i < length; ++i)
      text += static_cast<char>(i * i % 251);
    // Inputs of 4 tokens, and targets one later.
    TokenWindows windows({folder.write("f", text)}, TokenFormat::Bytes, {5, 4},
                         "--data");
    uint64_t whole = (length - 1) / 4; // what fills no window is left over
    ASSERT_EQ(windows.count(), whole);
    std::string targets;
    for (uint64_t i = 0; i < whole; ++i)
      targets += textOf(windows, i, 1, 4);
    EXPECT_EQ(targets, text.substr(1, 4 * whole));
  }
}

TEST(TokenWindows, DoNotDependOnTheOrderOfPaths) {
  TemporaryFolder folder;
  std::string b = folder.write("b", "BBBB"), a = folder.write("x/a", "aaaa");
  folder.write("x/c", "cccc");
  for (const Paths &paths :
       {Paths{b, folder.path("x")}, Paths{folder.path("x/"), b},
        Paths{folder.path("x/c"), folder.path("./b"), folder.path("x/../x/a")}})
    for (uint64_t i = 0; i < 3; ++i)
      EXPECT_EQ(textOf({paths, TokenFormat::Bytes, {4, 4}, "--data"}, i, 0, 4),
                std::string(4, "Bac"[i]));
  auto open = [](const Paths &paths) {
    TokenWindows(paths, TokenFormat::Bytes, {4, 4}, "--data");
  };
  EXPECT_ERROR(open({folder.path("x"), b, a}), "x/a is given twice");
}

TEST(ListFiles, FollowsLinks) {
  TemporaryFolder folder;
  folder.write("data/a", "");
  folder.write("data/.hidden/no", "");
  folder.write("elsewhere/in/b", "");
  folder.write("c", "");
  fs::create_directory_symlink("../elsewhere", folder.path("data/link"));
  fs::create_symlink(folder.path("c"), folder.path("data/c"));
  fs::create_directory_symlink("data", folder.path("given"));
  for (const char *given : {"data", "data/", "given"})
    EXPECT_EQ(listFiles({folder.path(given)}, "--data").size(), 3u) << given;
  EXPECT_EQ(listFiles({folder.path("data")}, "--data")[2],
            folder.path("data/link/in/b"));
  // A folder that two links lead to has its files twice, also without a ring.
  fs::create_directory_symlink("../elsewhere/in", folder.path("data/more"));
  EXPECT_ERROR(listFiles({folder.path("data")}, "--data"),
               fmt::format("--data: {0}/link/in/b and {0}/more/b are the same "
                           "file",
                           folder.path("data")));
}

TEST(ListFiles, FindsAFileThatIsThereTwice) {
  TemporaryFolder folder;
  folder.write("data/a", "");
  auto refuses = [&](const std::vector<std::string> &paths) {
    EXPECT_ERROR(listFiles(paths, "--data"),
                 fmt::format("--data: {} and {} are the same file",
                             folder.path("data/a"), folder.path("data/b")));
    fs::remove(folder.path("data/b"));
  };
  fs::create_symlink("a", folder.path("data/b"));
  refuses({folder.path("data")});
  fs::create_hard_link(folder.path("data/a"), folder.path("data/b"));
  refuses({folder.path("data")});
  fs::create_symlink("a", folder.path("data/b"));
  refuses({folder.path("data/b"), folder.path("data/a")});
}

TEST(ListFiles, NamesLinksThatLeadNowhere) {
  TemporaryFolder folder;
  auto list = [&](const std::string &extension = "") {
    listFiles({folder.path("data")}, "--data", extension);
  };
  folder.write("data/in/a.safetensors", "");
  std::string link = folder.path("data/in/x");
  fs::create_symlink("/none/here", link);
  EXPECT_ERROR(list(), link + ": is a link to /none/here, which leads nowhere");
  // It may have been a folder.
  EXPECT_ERROR(list(".safetensors"), "leads nowhere");
  fs::rename(link, link + ".txt");
  list(".safetensors");
  EXPECT_ERROR(list(), "leads nowhere");
  fs::remove(link + ".txt");
  fs::create_directory_symlink("..", link);
  EXPECT_ERROR(list(),
               "--data: " + link + " is a link to a folder that it is in");
  fs::remove(link);
  fs::create_symlink("x", link);
  EXPECT_ERROR(list(), link + ": is a link to x, which leads nowhere");
}

TEST(TokenWindows, AreReadOfMoreFilesThanAreMapped) {
  TemporaryFolder folder;
  constexpr int kFiles = 3 * DataFiles::kMapped;
  for (int i = 0; i < kFiles; ++i)
    folder.write("data/" + std::to_string(100000 + i),
                 std::to_string(100000 + i));
  TokenWindows windows({folder.path("data")}, TokenFormat::Bytes, {6, 6},
                       "--data");
  ASSERT_EQ(windows.count(), uint64_t{kFiles});
  // By several threads, more than half of them in files that must be mapped.
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&windows, thread] {
      for (int i = 0; i < 4 * kFiles; ++i) {
        uint64_t window = (i * 7919 + thread * 101) % kFiles;
        EXPECT_EQ(textOf(windows, window, 0, 6),
                  std::to_string(100000 + window));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Files that change
//===----------------------------------------------------------------------===//

constexpr uint64_t kLong = 3 * 4096 + 100;

TEST(ChangedFiles, ShrinkToAnError) {
  // To whole pages that are gone, and within a page, whose rest reads as zeros.
  for (uint64_t left : {uint64_t{0}, uint64_t{10}, uint64_t{4096}, kLong - 1}) {
    SCOPED_TRACE(left);
    TemporaryFolder folder;
    std::string path = folder.write("f", std::string(kLong, 'x'));
    TokenWindows windows({path}, TokenFormat::Bytes, {100, 100}, "--data");
    EXPECT_EQ(textOf(windows, 122, 0, 100), std::string(100, 'x'));
    std::filesystem::resize_file(path, left);
    EXPECT_ERROR(textOf(windows, 122, 0, 100),
                 path + ": shrank while training, from 12388 to " +
                     std::to_string(left) + " bytes (sample 122)");
    // So does what is still there: the run ends at the next sample of the file.
    EXPECT_ERROR(textOf(windows, 0, 0, 100), "shrank");
  }
}

TEST(ChangedFiles, AreNoticedWhereTheyAreRewritten) {
  TemporaryFolder folder;
  std::string path = folder.write("f", std::string(kLong, 'x'));
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) - std::chrono::hours(1));
  TokenWindows windows({path}, TokenFormat::Bytes, {100, 100}, "--data");
  textOf(windows, 3, 0, 100);
  folder.write("f", std::string(kLong, 'y'));
  EXPECT_ERROR(textOf(windows, 3, 0, 100),
               path +
                   ": was changed while training: 12388 bytes, last written");
  // Before it was ever mapped.
  TokenWindows others({path}, TokenFormat::Bytes, {100, 100}, "--data");
  folder.write("f", std::string(kLong + 1, 'y'));
  EXPECT_ERROR(textOf(others, 3, 0, 100), "12389 bytes, last written");
}

TEST(ChangedFiles, MayVanishWhileTheyAreMapped) {
  TemporaryFolder folder;
  std::string path = folder.write("f", std::string(kLong, 'x'));
  TokenWindows mapped({path}, TokenFormat::Bytes, {100, 100}, "--data");
  TokenWindows unmapped({path}, TokenFormat::Bytes, {100, 100}, "--data");
  textOf(mapped, 0, 0, 100);
  std::filesystem::remove(path);
  EXPECT_EQ(textOf(mapped, 122, 0, 100), std::string(100, 'x'));
  EXPECT_ERROR(textOf(unmapped, 7, 0, 100),
               path + ": cannot open: No such file or directory; when the run "
                      "began it had 12388 bytes (sample 7)");
}

volatile std::sig_atomic_t passedOn = 0;

/// Ends with status 0 where an earlier handler gets what is not a copy's.
[[noreturn]] void raiseWithEarlierHandler() {
  struct sigaction action = {};
  action.sa_handler = [](int) { passedOn = passedOn + 1; };
  ::sigaction(SIGBUS, &action, nullptr);
  char from = 'x', to = 0;
  bool copied = guardedCopy(&to, &from, 1);
  ::raise(SIGBUS);
  std::_Exit(copied && to == 'x' && passedOn == 1 ? 0 : 1);
}

[[noreturn]] void raiseWithoutEarlierHandler() {
  char from = 'x', to;
  guardedCopy(&to, &from, 1);
  ::raise(SIGBUS);
  std::_Exit(0);
}

TEST(GuardedCopyDeathTest, LeavesOtherBusErrorsToOthers) {
  // In processes of their own: the handler is installed by the first copy.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(raiseWithEarlierHandler(), ::testing::ExitedWithCode(0), "");
  // By the signal, or by a sanitizer that handles it.
  EXPECT_DEATH(raiseWithoutEarlierHandler(), "");
}

TEST(TokenWindows, SayWhatIsMissing) {
  TemporaryFolder folder;
  auto open = [&](const std::string &name) {
    TokenWindows({folder.path(name)}, TokenFormat::Bytes, {9, 8}, "--data");
  };
  folder.write("short", "12345");
  folder.write("many/a", "12345");
  folder.write("many/b", "12345678");
  folder.write("nothing/a", "");
  std::filesystem::create_directory(folder.path("empty"));
  EXPECT_ERROR(open("absent"), "no such file or folder");
  EXPECT_ERROR(open("empty"), "the folder holds no files");
  EXPECT_ERROR(open("nothing"), "no tokens in it");
  EXPECT_ERROR(open("short"), "needs 9 tokens, the file has 5");
  EXPECT_ERROR(open("many"),
               "needs 9 tokens of one file, the longest of the 2 files has 8");
}

TEST(TokenWindows, CheckTokensAgainstTheVocabulary) {
  TemporaryFolder folder;
  std::string path = folder.write("f", "aaza");
  TokenWindows windows({path}, TokenFormat::Bytes, {4, 4}, "--data");
  std::vector<int64_t> into(4);
  TokenRange range;
  range.bounded = true;
  range.size = 'z';
  EXPECT_ERROR(windows.copy(0, 0, 4, range, into.data()),
               path + ": token 122 at offset 2 is outside the model's "
                      "vocabulary of 122 (0 to 121)");
  range.hasIgnored = true;
  range.ignored = 'z';
  windows.copy(0, 0, 4, range, into.data());
  EXPECT_EQ(into[2], 'z');

  std::string large = llmcFile<uint32_t>(20240801, 7, {4000000000u});
  TokenWindows wide({folder.write("w", large)}, TokenFormat::Bytes, {1, 1},
                    "--data");
  int32_t narrow;
  EXPECT_ERROR(wide.copy(0, 0, 1, {}, &narrow), "does not fit the model's");
  wide.copy(0, 0, 1, {}, into.data());
  EXPECT_EQ(into[0], 4000000000);
}

} // namespace
