#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace octet::test {

/// A message of one line that has all these parts.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << "\n in " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace octet::test
