#include "src/cluster/host_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "src/base/error.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

constexpr std::size_t most_digits = 18;  // of a number in a host's name: they fit 64 bits

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Slurm's names, and what file systems and networks make of them.
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' ||
         c == ':';
}

std::int64_t number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string padded(std::int64_t value, std::size_t width) {
  return fmt::format("{:0{}}", value, width);
}

/// Reads the list from left to right.
class HostListReader {
 public:
  explicit HostListReader(std::string_view text) : text_(text) {}

  std::vector<std::string> hosts() {
    std::vector<std::string> out;
    if (text_.empty()) return out;
    do {
      std::vector<std::string> names = name();
      check_count(out.size() + names.size());
      std::ranges::move(names, std::back_inserter(out));
    } while (take(','));
    if (at_ < text_.size()) throw wrong("a comma or the end");
    return out;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Error wrong(std::string_view expected) const {
    return usage_error("cluster", "host list {}: found {} at character {}, expected {}", in_quotes(text_),
                       at_ < text_.size() ? in_quotes(text_.substr(at_, 1)) : "the end", at_ + 1, expected);
  }

  void check_count(std::size_t count) const {
    if (count <= most_hosts) return;
    throw usage_error("cluster", "host list {}: found more than {} hosts, expected at most that many",
                      in_quotes(text_.substr(0, 80)), most_hosts);
  }

  /// Texts and brackets in turn, each combination of them.
  std::vector<std::string> name() {
    const std::size_t begin = at_;
    std::vector<std::string> out = {""};
    while (at_ < text_.size() && text_[at_] != ',') {
      const std::vector<std::string> parts = take('[') ? bracket() : std::vector{literal()};
      check_count(out.size() * parts.size());
      std::vector<std::string> longer;
      for (const std::string& front : out) {
        for (const std::string& part : parts) longer.push_back(front + part);
      }
      out = std::move(longer);
    }
    if (at_ == begin) throw wrong("a host's name");
    return out;
  }

  std::string literal() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    if (at_ == begin) throw wrong("a letter, a digit, - _ . : or [");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<std::string> bracket() {
    std::vector<std::string> out;
    do {
      const std::string_view low = digits();
      const std::string_view high = take('-') ? digits() : low;
      if (number(high) < number(low)) throw wrong(fmt::format("a range that ends at {} or above", low));
      const std::int64_t more = std::min<std::int64_t>(number(high) - number(low), most_hosts) + 1;
      check_count(out.size() + static_cast<std::size_t>(more));
      for (std::int64_t n = number(low); n <= number(high); ++n) out.push_back(padded(n, low.size()));
    } while (take(','));
    if (!take(']')) throw wrong("a comma, a hyphen or ]");
    return out;
  }

  std::string_view digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ == begin || at_ - begin > most_digits) throw wrong("a number of at most 18 digits");
    return text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A name around its last number: "rack1node" "07" "-ib".
struct Split {
  std::string_view front, digits, back;
};

Split split(std::string_view host) {
  const auto last = std::find_if(host.rbegin(), host.rend(), is_digit);
  const auto end = static_cast<std::size_t>(host.rend() - last);
  std::size_t begin = end;
  while (begin > 0 && is_digit(host[begin - 1]) && end - begin < most_digits) --begin;
  return {host.substr(0, begin), host.substr(begin, end - begin), host.substr(end)};
}

/// One bracket: "1-3,07".
class Ranges {
 public:
  explicit Ranges(std::string_view digits) : low_(digits), high_(digits) {}

  void add(std::string_view digits) {
    if (padded(number(high_) + 1, low_.size()) == digits) {
      high_ = digits;
      return;
    }
    close();
    low_ = high_ = digits;
  }
  /// The digits alone where there is one number only.
  std::string text() {
    close();
    return text_.find_first_of(",-") == std::string::npos ? text_ : "[" + text_ + "]";
  }

 private:
  void close() {
    text_ += text_.empty() ? "" : ",";
    text_ += low_ == high_ ? std::string(low_) : fmt::format("{}-{}", low_, high_);
  }

  std::string text_;
  std::string_view low_, high_;
};

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
  return HostListReader(list).hosts();
}

std::string compress_hosts(const std::vector<std::string>& hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const Split first = split(hosts[i]);
    out += out.empty() ? "" : ",";
    if (first.digits.empty()) {
      out += hosts[i++];
      continue;
    }
    Ranges ranges(first.digits);
    for (++i; i < hosts.size(); ++i) {
      const Split next = split(hosts[i]);
      if (next.digits.empty() || next.front != first.front || next.back != first.back) break;
      ranges.add(next.digits);
    }
    out += fmt::format("{}{}{}", first.front, ranges.text(), first.back);
  }
  return out;
}

}  // namespace octet
