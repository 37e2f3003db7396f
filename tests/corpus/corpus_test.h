#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/corpus/prepare.h"
#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet::test {

/// Packs a file beside it, by the program of that name.
inline std::string packed(const std::string& path, const std::string& packer, const std::string& suffix) {
  const CommandResult made = run_command(fmt::format("{} -q -c {} >{}{}", packer, path, path, suffix));
  if (made.exit_code != 0) throw std::runtime_error(made.all());
  return path + suffix;
}

class CorpusTest : public testing::Test {
 protected:
  PrepareOptions options(const std::vector<std::string>& inputs, const std::string& output = "x") const {
    PrepareOptions o;
    for (const std::string& input : inputs) o.inputs.push_back(input[0] == '/' ? input : folder_ / input);
    o.output = folder_ / ("out/" + output);
    o.overwrite = true;
    return o;
  }
  std::string tokens(const std::string& output = "x") const { return read_bytes(folder_ / ("out/" + output + ".bin")); }
  std::string both(const std::string& output = "x") const {
    return tokens(output) + read_bytes(folder_ / ("out/" + output + ".idx"));
  }
  TempFolder folder_;
};

}  // namespace octet::test
