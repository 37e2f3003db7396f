#include "src/data/token_join.h"

#include <fstream>

#include "src/data/token_file.h"
#include "src/data/token_writer.h"
#include "tests/data/support.h"

namespace octet {
namespace {

/// A process gets some 65,000 mappings, and 17 TB of text have as many parts.
TEST(TokenJoin, HoldsNoMappingOfAPartThatItHasTaken) {
  const test::TempFolder folder;
  const auto mapped_parts = [&] {
    std::ifstream maps("/proc/self/maps");
    int mapped = 0;
    for (std::string line; std::getline(maps, line);) mapped += line.find(folder / "part") != std::string::npos;
    return mapped;
  };
  TokenJoin join(folder / "whole");
  for (int part = 0; part < 3; ++part) {
    const std::string prefix = folder / fmt::format("part{}", part);
    TokenFileWriter writer(prefix, TokenType::u16);
    for (int document = 0; document <= part; ++document) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(10 * part + document), part));
      writer.end_document();
    }
    writer.finish();
    join.take(prefix);
    EXPECT_EQ(mapped_parts(), 0) << part;
  }
  join.finish();
  const TokenFile whole(folder / "whole");
  ASSERT_EQ(whole.documents(), 6);
  EXPECT_EQ(whole.tokens(), 0 + 21 + 63);
  const std::vector<std::int64_t> lengths = {0, 10, 11, 20, 21, 22};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(whole.document_tokens(i), lengths[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace octet
