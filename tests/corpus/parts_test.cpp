// The same bytes for any number of workers, parts and chunks; packed or not; interrupted or not.
#include <random>

#include "src/corpus/chunk_encoder.h"
#include "src/corpus/making.h"
#include "src/corpus/part_folder.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest;
using test::error_of;
using test::packed;
using test::read_bytes;
using test::write_bytes;

class Parts : public CorpusTest {
 protected:
  Parts() {
    std::mt19937 random(3);
    for (int file = 0; file < 6; ++file) {
      std::string text;
      for (int i = 0; i < 300; ++i) {
        const std::string words(random() % 150, static_cast<char>('a' + i % 26));
        text += fmt::format("{{\"id\": {}, \"text\": \"{} {}\"}}\n", i, words, file * 1000 + i);
      }
      write_bytes(folder_ / fmt::format("in/{}.jsonl", file), text);
    }
    packed(folder_ / "in/4.jsonl", "gzip", ".gz");
    packed(folder_ / "in/5.jsonl", "zstd", ".zst");
    fs::remove(folder_ / "in/4.jsonl");
    fs::remove(folder_ / "in/5.jsonl");
    std::string text;
    for (int i = 0; i < 2000; ++i) text += fmt::format("line {}{}", i, i % 9 == 0 ? "\n\n" : "\n");
    write_bytes(folder_ / "in/9.txt", text);
  }
  PrepareOptions small(int workers, std::int64_t part, std::int64_t chunk, const std::string& output = "x") const {
    PrepareOptions o = options({"in"}, output);
    o.split = SplitDocuments::blank_lines;
    o.workers = workers;
    o.part_bytes = part;
    o.chunk_bytes = chunk;
    return o;
  }
};

TEST_F(Parts, AreTheSameBytesForAnyNumberOfWorkersPartsAndChunks) {
  prepare(small(1, 1 << 30, 1 << 20));
  const std::string expected = both();
  const TokenFile whole(folder_ / "out/x");
  EXPECT_EQ(whole.documents(), 1800 + 224);
  const std::string facts = read_bytes(folder_ / "out/x.data.json");
  for (const int workers : {1, 5}) {
    for (const std::int64_t part : {std::int64_t{1} << 30, std::int64_t{20000}, std::int64_t{6000}}) {
      for (const std::int64_t chunk : {64, 1 << 20}) {
        prepare(small(workers, part, chunk));
        ASSERT_EQ(both(), expected) << workers << " workers, parts of " << part << ", chunks of " << chunk;
        ASSERT_EQ(read_bytes(folder_ / "out/x.data.json"), facts);
        ASSERT_FALSE(fs::exists(PartFolder::path_of(folder_ / "out/x")));
      }
    }
  }
}

TEST_F(Parts, ThatAreFinishedAreKeptWhenAnotherOneFails) {
  prepare(small(1, 1 << 30, 1 << 20, "whole"));
  const std::string last = read_bytes(folder_ / "in/9.txt");
  const auto changed = fs::last_write_time(folder_ / "in/9.txt");
  write_bytes(folder_ / "in/9.txt", last.substr(0, last.size() - 1) + '\0');
  fs::last_write_time(folder_ / "in/9.txt", changed);
  EXPECT_HAS(error_of([&] { prepare(small(1, 20000, 1000)); }), "9.txt: byte 0 at offset");
  EXPECT_FALSE(fs::exists(folder_ / "out/x.idx"));

  write_bytes(folder_ / "in/9.txt", last);  // of the same length and time
  fs::last_write_time(folder_ / "in/9.txt", changed);
  const PrepareReport report = prepare(small(2, 20000, 500));
  EXPECT_EQ(report.parts_before, report.parts - 1);
  EXPECT_EQ(report.counts.kept.documents, 1800 + 224);
  EXPECT_EQ(both(), both("whole"));
  EXPECT_FALSE(fs::exists(PartFolder::path_of(folder_ / "out/x")));
}

TEST_F(Parts, OfARunThatWasMadeOtherwiseAreNotTakenOver) {
  PrepareOptions o = small(1, 20000, 1000);
  write_bytes(folder_ / "in/z.txt", std::string("\0", 1));
  o.overwrite = false;
  EXPECT_HAS(error_of([&] { prepare(o); }), "z.txt: byte 0");
  PrepareOptions other = o;
  other.eos = false;
  other.holdout = 0.5;
  EXPECT_HAS(error_of([&] { prepare(other); }),
             "--eos was true, is false; --holdout was 0, is 0.5); --overwrite begins anew");
  other = o;
  fs::rename(folder_ / "in/9.txt", folder_ / "9.txt");
  other.inputs = {folder_ / "9.txt", folder_ / "in"};
  EXPECT_HAS(error_of([&] { prepare(other); }), "--input was 8 files of ");
  fs::remove(folder_ / "in/z.txt");
  o.part_bytes = 1 << 30;
  EXPECT_HAS(error_of([&] { prepare(o); }), "out/x.parts has parts of another run");
  o.overwrite = true;
  EXPECT_EQ(prepare(o).parts_before, 0);
  EXPECT_FALSE(fs::exists(PartFolder::path_of(folder_ / "out/x")));
}

/// No part that is finished has a text to which they matter: such a text had ended the run.
TEST_F(Parts, ThatAreFinishedAreKeptWhenBadUtf8IsReplacedOrMaxDocumentRises) {
  PrepareOptions o = small(1, 20000, 1000);
  o.overwrite = false;
  o.max_document = 400;
  const auto goes_on = [&](const std::string& output, const std::string& line, const std::string& error,
                           const std::function<void(PrepareOptions&)>& change) {
    o.output = folder_ / ("out/" + output);
    write_bytes(folder_ / "in/z.jsonl", line + "\n");
    EXPECT_HAS(error_of([&] { prepare(o); }), error);
    PrepareOptions other = o;
    change(other);
    EXPECT_NE(read_making(o.output + ".parts/making.json"), std::nullopt);
    const PrepareReport report = prepare(other);
    EXPECT_GT(report.parts, 3);
    EXPECT_EQ(report.parts_before, report.parts - 1);
    EXPECT_EQ(report.counts.kept.documents, 1800 + 224 + 1);
  };
  goes_on("utf8", "{\"text\": \"a\xE2\x82z\"}",
          "z.jsonl:1: byte 11 of the line is no UTF-8; --bad-utf8 replace takes it",
          [](PrepareOptions& other) { other.bad_utf8 = BadUtf8::replace; });
  goes_on("long", "{\"text\": \"" + std::string(500, 'b') + "\"}", "z.jsonl:1: is longer than --max-document 400 B",
          [](PrepareOptions& other) { other.max_document = 600; });
}

TEST(Making, GoesOnWhereWhatDiffersIsInNoPartThatIsFinished) {
  const Making before = {{"--input", "a"}, {"--bad-utf8", "refuse"}, {"--max-document", "400"}};
  const auto goes_on = [&](const std::string& name, const std::string& was, const std::string& is) {
    Making first = before, then = before;
    first[name] = was;
    then[name] = is;
    return can_go_on(first, then);
  };
  EXPECT_TRUE(can_go_on(before, before));
  EXPECT_TRUE(goes_on("--bad-utf8", "refuse", "replace"));
  EXPECT_FALSE(goes_on("--bad-utf8", "replace", "refuse")) << "texts may have been mended";
  EXPECT_TRUE(goes_on("--max-document", "400", "1000"));
  EXPECT_FALSE(goes_on("--max-document", "400", "399")) << "longer texts may have been taken";
  EXPECT_FALSE(goes_on("--max-document", "", "400"));
  EXPECT_FALSE(goes_on("--input", "a", "b"));
  Making more = before;
  more["--eos"] = "true";
  EXPECT_FALSE(can_go_on(before, more));
  EXPECT_FALSE(can_go_on(more, before));
}

TEST_F(Parts, TheJoinGoesOnWhereverItWasInterrupted) {
  PrepareOptions o = small(1, 20000, 1000);
  write_bytes(folder_ / "in/z.txt", std::string("\0", 1));
  EXPECT_HAS(error_of([&] { prepare(o); }), "z.txt: byte 0");
  write_bytes(folder_ / "in/z.txt", "z");
  // As if all were there: the times are taken back, and the join is cut off after two parts.
  const std::string parts = PartFolder::path_of(folder_ / "out/x");
  prepare(small(1, 1 << 30, 1000, "whole"));
  fs::remove_all(parts);
  fs::create_directory(folder_ / "out/x.idx");  // it cannot be replaced, so that the join ends before its end
  write_bytes(folder_ / "out/x.idx/file", "");
  o.overwrite = true;
  EXPECT_HAS(error_of([&] { prepare(o); }, ExitCode::internal), "cannot remove");
  EXPECT_FALSE(fs::exists(parts + "/00000.bin"));
  EXPECT_TRUE(fs::exists(parts + "/00000.idx"));
  EXPECT_TRUE(fs::exists(folder_ / "out/x.bin.tmp"));
  fs::remove_all(folder_ / "out/x.idx");
  const PrepareReport report = prepare(o);
  EXPECT_EQ(report.parts_before, report.parts);
  EXPECT_EQ(both(), both("whole"));
}

TEST_F(Parts, HeldOutDocumentsAreThoseOfTheirHashWhereverTheyStand) {
  PrepareOptions o = small(2, 20000, 1000);
  o.holdout = 0.25;
  const PrepareReport report = prepare(o);
  const TokenFile kept(folder_ / "out/x"), held_out(folder_ / "out/x-holdout");
  EXPECT_EQ(kept.documents() + held_out.documents(), 2024);
  EXPECT_NEAR(static_cast<double>(held_out.documents()), 2024 * 0.25, 80);
  EXPECT_EQ(report.counts.held_out.documents, held_out.documents());
  const std::string text = tokens("x-holdout");
  for (std::int64_t i = 0; i < held_out.documents(); ++i) {
    const auto begin = static_cast<std::size_t>(held_out.document_begin(i));
    const auto size = static_cast<std::size_t>(held_out.document_tokens(i)) - 1;
    EXPECT_TRUE(is_held_out(text.substr(begin, size), 0.25));
  }
  const std::string before = both() + both("x-holdout");
  o.part_bytes = 1 << 30;
  prepare(o);
  EXPECT_EQ(both() + both("x-holdout"), before);
}

/// They would be in the tokens, and whoever measures on them would not know it.
TEST_F(Parts, DocumentsThatAnEarlierRunHeldOutAreNotLeftBesideTokensThatHaveThemToo) {
  PrepareOptions o = small(2, 1 << 30, 1 << 20);
  o.holdout = 0.25;
  prepare(o);
  const std::string before = both() + both("x-holdout");
  o.holdout = 0;
  EXPECT_HAS(error_of([&] { prepare(o); }),
             "x-holdout.bin exists: the documents that an earlier run held out there would be in ");
  EXPECT_EQ(both() + both("x-holdout"), before);
  const auto remove_pair = [&](const std::string& name) {  // beside which there are no parts
    for (const char* end : {".bin", ".idx"}) fs::remove(folder_ / ("out/" + name + end));
  };
  remove_pair("x");
  o.part = {1, 3};
  EXPECT_HAS(error_of([&] { prepare(o); }), "x-holdout.bin exists");
  remove_pair("x-holdout");
  o.holdout = 0.25;
  prepare(o);
  o.holdout = 0;
  EXPECT_HAS(error_of([&] { prepare(o); }), "x-holdout-00002-of-00003.idx exists");
  remove_pair("x-00002-of-00003");
  for (const Share other : {Share{0, 1}, Share{3, 4}}) {
    o.part = other;
    EXPECT_HAS(error_of([&] { prepare(o); }),
               "x-holdout-00002-of-00003.idx exists: the documents that an earlier run held out there would");
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/x.bin"));
}

/// A data set may have that name.
TEST_F(Parts, ThatAreNotWhatARunHeldOutMayHaveTheName) {
  prepare(small(2, 1 << 30, 1 << 20, "x-holdout"));
  PrepareOptions o = small(2, 1 << 30, 1 << 20);
  EXPECT_FALSE(prepare(o).made_before);
  fs::remove(folder_ / "out/x-holdout.data.json");
  EXPECT_HAS(error_of([&] { prepare(o); }),
             "x-holdout.bin exists: the documents that an earlier run held out there may be in ");
  for (const char* end : {".bin", ".idx"}) fs::remove(folder_ / (std::string("out/x-holdout") + end));
  PrepareOptions part = small(2, 1 << 30, 1 << 20, "x-holdout");
  part.part = {0, 2};
  prepare(part);
  EXPECT_FALSE(prepare(o).made_before);
}

TEST_F(Parts, ASharesFilesTogetherAreTheWhole) {
  prepare(small(1, 1 << 30, 1 << 20, "whole"));
  for (const std::int64_t shares : {2, 30}) {
    std::string joined;
    std::int64_t documents = 0;
    for (std::int64_t share = 0; share < shares; ++share) {
      PrepareOptions o = small(2, 3000, 500, "y");
      o.part = {share, shares};
      documents += prepare(o).counts.kept.documents;
      joined += tokens(fmt::format("y-{:05}-of-{:05}", share + 1, shares));
    }
    EXPECT_EQ(joined, tokens("whole")) << shares;
    EXPECT_EQ(documents, 2024);
  }
}

TEST_F(Parts, BrokenPackedFilesAreOneError) {
  const std::string gzip = folder_ / "in/4.jsonl.gz", zstd = folder_ / "in/5.jsonl.zst";
  for (const std::string& path : {gzip, zstd}) {
    const std::string whole = read_bytes(path);
    write_bytes(path, whole.substr(0, whole.size() - 20));
    EXPECT_HAS(error_of([&] { prepare(options({path})); }), path + ": the ");
    EXPECT_HAS(error_of([&] { prepare(options({path})); }), "before their end: the file is cut off");
    write_bytes(path, whole.substr(0, 200) + std::string(50, '\xAA') + whole.substr(250));
    EXPECT_HAS(error_of([&] { prepare(options({path})); }), path + ": broken ");
    write_bytes(path, whole + whole);  // two members, as `cat` makes them
    EXPECT_EQ(prepare(options({path})).counts.kept.documents, 600);
  }
  EXPECT_FALSE(fs::exists(folder_ / "out/x.bin.tmp"));
}

}  // namespace
}  // namespace octet
