#pragma once

#include <gtest/gtest.h>

#include <string>

#include "src/base/error.h"

namespace octet::test {

/// The message of the Error that `call` throws, whose exit code must be `code`; "" when it throws none.
template <typename Call>
std::string error_or_none(const Call& call, ExitCode code = ExitCode::usage) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

/// The same of a call that has to throw: the test fails when it does not.
template <typename Call>
std::string error_of(const Call& call, ExitCode code = ExitCode::usage) {
  std::string message = error_or_none(call, code);
  EXPECT_FALSE(message.empty()) << "nothing thrown";
  return message;
}

}  // namespace octet::test
