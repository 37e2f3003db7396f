#include "checkpoints/format/names.h"

#include <gtest/gtest.h>

#include "checkpoints/format/format.h"

namespace octet::checkpoint {
namespace {

TEST(Names, OfFoldersAndFiles) {
  EXPECT_EQ(directory_name(120), "step-000120");
  EXPECT_EQ(directory_name(12345678), "step-12345678");
  EXPECT_EQ(temporary_name(7), "step-000007.tmp");
  EXPECT_EQ(temporary_name(7, "n1-5-a"), "step-000007.n1-5-a.tmp");
  EXPECT_EQ(file_name(3), "writer-00003.h5");
}

TEST(Names, OfTensors) {
  EXPECT_EQ(stored_name(TensorKind::master, "norm.weight"), "master/norm.weight");
  EXPECT_EQ(stored_name(TensorKind::second_moment, "a"), "second_moment/a");
  EXPECT_EQ(parameter_of(TensorKind::master, "master/norm.weight"), "norm.weight");
  for (const char* other : {"first_moment/norm.weight", "master", "masters/a", "float8/master/a", ""}) {
    EXPECT_EQ(parameter_of(TensorKind::master, other), std::nullopt) << other;
  }
  EXPECT_EQ(dataset_name("master/w", {{128, 0}, {2, 2}}), "master/w/@128,0");
  for (const char* good : {"a", "master/layers.0.wq.weight", "a-b_c/D.9"}) EXPECT_TRUE(is_tensor_name(good)) << good;
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "a/..", "a b", "a@b", "\xc3\xa4"}) {
    EXPECT_FALSE(is_tensor_name(bad)) << bad;
  }
}

TEST(StepOf, ReadsNamesOfCommittedCheckpointsOnly) {
  EXPECT_EQ(step_of("/runs/a/checkpoints/step-000120"), 120);
  EXPECT_EQ(step_of("step-000120/"), 120);
  EXPECT_EQ(step_of(directory_name(12'345'678)), 12'345'678);
  EXPECT_EQ(step_of(directory_name(0)), 0);
  for (const char* name : {"step-120", "step-000120.tmp", "step-", "step-00012x", "step-0000120", "Step-000120",
                           "step--00120", "step-99999999999999999999", ""}) {
    EXPECT_EQ(step_of(name), std::nullopt) << name;
  }
}

TEST(Names, TellWhatAWriteLeftAndWhatAStartSetAside) {
  for (const std::string& left :
       {temporary_name(7), temporary_name(7, "n1-5-a"), temporary_name(7) + ".replaced.tmp"}) {
    EXPECT_TRUE(is_leftover(left)) << left;
    EXPECT_FALSE(is_set_aside(left)) << left;
  }
  EXPECT_EQ(name_aside("/r/step-000007"), "/r/step-000007.damaged");
  EXPECT_EQ(name_aside("/r/step-000007", 2), "/r/step-000007.damaged2");
  for (const int count : {1, 2, 10}) {
    const std::string aside = name_aside(directory_name(7), count);
    EXPECT_TRUE(is_set_aside(aside)) << aside;
    EXPECT_FALSE(is_leftover(aside)) << aside;
    EXPECT_EQ(step_of(aside), std::nullopt) << aside;
  }
  for (const char* other : {"step-000007", "notes.tmp", "notes.damaged", ""}) {
    EXPECT_FALSE(is_leftover(other) || is_set_aside(other)) << other;
  }
}

}  // namespace
}  // namespace octet::checkpoint
