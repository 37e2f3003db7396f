// octet-evaluate on ranks that were told, or have read, something else: no numbers, and one message of all.
#include "tests/jobs/job.h"

namespace octet::test {
namespace {

/// Two ranks with one command, rank `other` of which runs in the folder "other-files" and so finds other files.
CommandResult evaluate(const std::string& arguments, int other) {
  const std::string plain = octet_evaluate + saved_run().file("checkpoints") + " " + arguments;
  const std::string there = fmt::format("-n 1 env -C {}/other-files {}", workplace().path(), plain);
  return in_workplace(other == 0 ? "mpiexec " + there + " : -n 1 " + plain : "mpiexec -n 1 " + plain + " : " + there);
}

void expect_refused(const CommandResult& r, const std::string& message) {
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_EQ(occurrences(r.err, message), 1) << r.err;
  EXPECT_EQ(r.out.find("loss"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("acc"), std::string::npos) << r.out;
}

void write_texts(const std::string& folder, int documents, const std::string& text) {
  std::string lines;
  for (int i = 0; i < documents; ++i) lines += nlohmann::json{{"text", text}}.dump() + "\n";
  write_bytes(workplace() / (folder + "texts.jsonl"), lines);
}

/// A model that is not there is found missing when the ranks have their communicators.
TEST(EvaluateRanks, WhatFailedIsToldBeforeAnythingIsTakenDown) {
  write_texts("", 1, "the house");
  const CommandResult r = in_workplace(fmt::format("env LD_PRELOAD={} mpiexec -n 2 {} no-model --text texts.jsonl",
                                                   OCTET_ENDLESS_TEARDOWN, octet_evaluate));
  EXPECT_FALSE(r.timed_out);
  EXPECT_EQ(r.exit_code, 64) << r.all();
  EXPECT_NE(r.err.find("no-model"), std::string::npos) << r.err;
}

TEST(EvaluateRanks, TextsThatDifferAreRefused) {
  const std::string what = "[evaluate] the ranks have read different texts: rank 1 on ";
  write_texts("", 40, "the house");
  for (const int documents : {1, 40}) {
    write_texts("other-files/", documents, documents == 1 ? "the house" : "the river");
    for (const int other : {0, 1}) expect_refused(evaluate("--text texts.jsonl", other), what);
  }
  write_texts("other-files/", 40, "the house");
  EXPECT_EQ(evaluate("--text texts.jsonl", 1).exit_code, 0);
}

void write_task(const std::string& folder, int questions) {
  std::string rows;
  for (int i = 0; i < questions; ++i)
    rows += nlohmann::json{{"q", "the"}, {"c", {" a", " of"}}, {"g", 0}}.dump() + "\n";
  write_bytes(workplace() / (folder + "ranks.jsonl"), rows);
  write_bytes(workplace() / (folder + "ranks.yaml"),
              "name: asked\npath: ranks.jsonl\ncontext: q\nchoices: c\ngold: g\n");
}

TEST(EvaluateRanks, TasksThatDifferAreRefused) {
  write_task("", 40);
  write_task("other-files/", 3);
  for (const int other : {0, 1}) {
    const CommandResult r = evaluate("--tasks ranks.yaml --output evaluated/ranks", other);
    expect_refused(r, "[evaluate] the ranks have read different tasks: rank 1 on ");
    EXPECT_HAS(r.err, fmt::format(": has asked with {} questions, data with the hash ", other == 1 ? 3 : 40));
    EXPECT_HAS(r.err, fmt::format(", and rank 0 asked with {} questions, data with the hash ", other == 1 ? 40 : 3));
  }
}

TEST(EvaluateRanks, OptionsThatDifferAreRefused) {
  const std::string plain = octet_evaluate + saved_run().file("checkpoints") + " --data data/text --documents ";
  const CommandResult r = in_workplace(fmt::format("mpiexec -n 1 {0}1 : -n 1 {0}2", plain));
  expect_refused(r, "[ranks] the ranks have different options: node(s) ");
  EXPECT_HAS(r.err, "--documents 1; node(s) ");
  EXPECT_HAS(r.err, "--documents 2; expected the same on every rank");
}

}  // namespace
}  // namespace octet::test
