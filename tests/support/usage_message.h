#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/error.h"

namespace octet {

/// What the usage error of the action says.
template <typename F>
std::string message_of(const F& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// In one line.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << "\n in " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

}  // namespace octet
