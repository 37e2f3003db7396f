#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/data/token_writer.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"

namespace octet::test {

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

/// One document of `tokens` ids, id i = value(i).
template <typename Value>
void write_tokens(const std::string& prefix, std::int64_t tokens, TokenType type, const Value& value) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<std::int32_t>(value(i)));
  TokenFileWriter writer(prefix, type);
  writer.append(ids);
  writer.end_document();
  writer.finish();
}

}  // namespace octet::test
