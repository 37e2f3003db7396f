#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace octet::test {

/// The text of a page of docs/.
inline std::string page_of_docs(const std::string& name) {
  std::ifstream file(OCTET_SOURCE_DIR "/docs/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What the text has in backticks.
inline std::multiset<std::string> names_in(const std::string& text) {
  std::multiset<std::string> names;
  for (std::size_t begin = text.find('`'); begin != std::string::npos; begin = text.find('`', begin)) {
    const std::size_t end = text.find('`', begin + 1);
    names.insert(text.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return names;
}

/// The names in the first column of the page's table that has this head.
inline std::multiset<std::string> names_in_table(const std::string& page, const std::string& head) {
  const std::size_t begin = page.find(head);
  EXPECT_NE(begin, std::string::npos) << head;
  std::string column;
  std::istringstream table(page.substr(std::min(begin, page.size())));
  for (std::string row; std::getline(table, row) && row.starts_with('|');) column += row.substr(0, row.find('|', 1));
  return names_in(column);
}

}  // namespace octet::test
