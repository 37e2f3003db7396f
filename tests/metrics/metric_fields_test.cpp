// The table of a line's fields, and what the documentation says of them.
#include "src/metrics/step_metrics.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/page_table.h"

namespace octet {
namespace {

/// Fills a field with a value that no other field has.
struct Filling {
  std::int64_t value = 0;

  void operator()(std::int64_t& x) { x = ++value; }
  void operator()(double& x) { x = static_cast<double>(++value) / 4; }
  void operator()(std::vector<double>& list) { list = {0.25, static_cast<double>(++value)}; }
  void operator()(std::string& text) { text = std::to_string(++value); }
  template <typename T>
  void operator()(std::optional<T>& x) {
    (*this)(x.emplace());
  }
};

/// A line on which everything was measured.
StepMetrics full() {
  StepMetrics m;
  Filling fill;
  for (const MetricField& field : metric_fields()) {
    std::visit([&](auto member) { fill(m.*member); }, field.member);
  }
  return m;
}

/// All fields but memory_percent, which no file has, are in the table; none is smaller than a word.
TEST(Fields, AreAllInTheTable) {
  std::size_t bytes = sizeof(StepMetrics::memory_percent);
  for (const MetricField& field : metric_fields()) {
    bytes += std::visit([](auto member) { return sizeof(StepMetrics().*member); }, field.member);
  }
  EXPECT_EQ(bytes, sizeof(StepMetrics)) << "a field of StepMetrics has no row in src/metrics/step_metrics.cpp, or two";
}

TEST(Fields, AreReadAsTheyWereWritten) {
  const StepMetrics m = full(), read = step_metrics_of(to_json(m), "m");
  for (const MetricField& field : metric_fields()) {
    std::visit([&](auto member) { EXPECT_EQ(read.*member, m.*member) << field.key; }, field.member);
  }
}

TEST(Fields, AreWrittenInTheirOrder) {
  EXPECT_EQ(to_json(full()),
            R"({"step":1,"loss":0.5,"validation_loss":0.75,"validation_bits_per_byte":1.0,"grad_norm":1.25,"lr":1.5,)"
            R"("tokens":7,"passes":[0.25,8.0],"tokens_per_second":2.25,"tokens_per_second_per_rank":2.5,"tflops":2.75,)"
            R"("tflops_unmasked":3.0,"mfu":3.25,"mfu_mixed":3.5,"memory_bytes":15,"interval_steps":16,)"
            R"("step_seconds":4.25,"data_seconds":4.5,"validation_seconds":4.75,"checkpoint_stall_seconds":5.0,)"
            R"("wait_seconds":5.25,"non_finite":22,"restarts":23,"time":"24"})");
}

TEST(Documentation, HasARowForEveryKey) {
  std::multiset<std::string> keys;
  for (const MetricField& field : metric_fields()) keys.emplace(field.key);
  EXPECT_EQ(test::names_in_table(test::page_of_docs("run-directories.md"), "| Field | Meaning |"), keys);
}

TEST(Documentation, NamesEveryScalarOfTensorBoard) {
  const std::string page = test::page_of_docs("run-directories.md");
  const std::size_t begin = page.find("they have the scalars"), end = page.find("rank 0's, in GiB", begin);
  ASSERT_NE(end, std::string::npos);
  std::multiset<std::string> scalars;
  for (const MetricField& field : metric_fields()) {
    if (!field.scalar.empty()) scalars.emplace(field.scalar);
  }
  EXPECT_EQ(test::names_in(page.substr(begin, end - begin)), scalars);
}

}  // namespace
}  // namespace octet
