#include "src/evaluate/score_rows.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "src/base/error.h"
#include "src/evaluate/share_prefixes.h"

namespace octet {
namespace {

/// What the model sees of a request.
struct Input {
  std::int64_t request = 0;
  std::vector<std::int32_t> tokens;
};

void check(const ScoreRequest& request, std::int64_t number, std::int64_t window, std::int64_t vocab_size) {
  if (request.context.empty()) throw usage_error("evaluate", "request {}: its context is empty", number);
  if (static_cast<std::int64_t>(request.continuation.size()) > window) {
    throw usage_error("evaluate", "request {}: its continuation has {} tokens, and the model sees {} at once", number,
                      request.continuation.size(), window);
  }
  for (const auto* tokens : {&request.context, &request.continuation}) {
    for (const std::int32_t id : *tokens) {
      if (id >= 0 && id < vocab_size) continue;
      throw usage_error("evaluate", "request {}: token id {} is not in the model's vocabulary of {}", number, id,
                        vocab_size);
    }
  }
}

/// The request's tokens without the last one, after which nothing is predicted, and without the first ones if they do
/// not fit the window.
std::vector<std::int32_t> input_of(const ScoreRequest& request, std::int64_t window) {
  std::vector<std::int32_t> tokens = request.context;
  tokens.insert(tokens.end(), request.continuation.begin(), request.continuation.end() - 1);
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length > window) tokens.erase(tokens.begin(), tokens.begin() + (length - window));
  return tokens;
}

bool begins_with(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& beginning) {
  return beginning.size() <= tokens.size() && std::equal(beginning.begin(), beginning.end(), tokens.begin());
}

/// An input that is computed, and the requests that are read from it.
struct Shared {
  const Input* longest = nullptr;
  std::vector<const Input*> all;
};

/// When inputs are sorted by their ids, those that begin with a given input follow it without a gap.
std::vector<Shared> share(std::vector<Input>& inputs) {
  std::ranges::sort(inputs, [](const Input& a, const Input& b) {
    return a.tokens != b.tokens ? a.tokens < b.tokens : a.request < b.request;
  });
  std::vector<Shared> out;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    if (out.empty() || !begins_with(out.back().longest->tokens, inputs[i].tokens)) out.push_back({&inputs[i], {}});
    out.back().all.push_back(&inputs[i]);
  }
  return out;
}

/// What stands together in a row: what inputs begin with, and the rest of each.
struct Group {
  std::span<const Shared> members;
  std::int64_t prefix = 0;
  std::int64_t tokens = 0;
  std::int64_t request = 0;  ///< the first of the longest input: its place among groups of the same length
};

std::vector<Group> group(std::span<const Shared> inputs, const PackOptions& options) {
  std::vector<const std::vector<std::int32_t>*> texts;
  for (const Shared& input : inputs) texts.push_back(&input.longest->tokens);
  std::vector<Group> out;
  for (const PrefixGroup& g : share_prefixes(texts, options.least_shared, options.row_tokens)) {
    Group& group = out.emplace_back();
    group.members = inputs.subspan(g.first, g.count);
    group.prefix = group.tokens = g.shared;
    group.request = group.members.front().longest->request;
    for (const Shared& s : group.members) group.tokens += std::ssize(s.longest->tokens) - g.shared;
  }
  return out;
}

/// Puts documents and what is read from them behind what a row has.
class RowWriter {
 public:
  RowWriter(ScoreRow& row, std::span<const ScoreRequest> requests) : row_(row), requests_(requests) {}

  void append(const Group& group) {
    const auto start = static_cast<std::int32_t>(row_.tokens.size()), prefix = static_cast<std::int32_t>(group.prefix);
    if (prefix > 0) {
      const auto& tokens = group.members.front().longest->tokens;
      append_document({tokens.data(), static_cast<std::size_t>(prefix)}, start);
    }
    for (const Shared& member : group.members) {
      const auto own = static_cast<std::int32_t>(row_.tokens.size());
      append_document(std::span(member.longest->tokens).subspan(static_cast<std::size_t>(prefix)), own - prefix);
      if (prefix > 0) append_spans(start, prefix, own);
      for (const Input* input : member.all) read(*input, prefix, start, own);
    }
  }

 private:
  void append_document(std::span<const std::int32_t> tokens, std::int32_t origin) {
    const auto start = static_cast<std::int32_t>(row_.tokens.size());
    row_.tokens.insert(row_.tokens.end(), tokens.begin(), tokens.end());
    row_.begin.resize(row_.tokens.size(), start);
    row_.origin.resize(row_.tokens.size(), origin);
  }
  void append_spans(std::int32_t start, std::int32_t prefix, std::int32_t own) {
    row_.spans.resize(4 * static_cast<std::size_t>(own), 0);
    const auto end = static_cast<std::int32_t>(row_.tokens.size());
    for (std::int32_t t = own; t < end; ++t) row_.spans.insert(row_.spans.end(), {start, start + prefix, own, t + 1});
  }
  void read(const Input& input, std::int32_t prefix, std::int32_t start, std::int32_t own) {
    const auto& continuation = requests_[static_cast<std::size_t>(input.request)].continuation;
    auto place = static_cast<std::int32_t>(input.tokens.size() - continuation.size());
    for (const std::int32_t target : continuation) {
      row_.predicted_from.push_back(place < prefix ? start + place : own + place - prefix);
      row_.targets.push_back(target);
      ++place;
    }
    row_.requests.push_back(input.request);
  }

  ScoreRow& row_;
  std::span<const ScoreRequest> requests_;
};

void fill_up(ScoreRow& row, std::int64_t row_tokens) {
  const auto all = static_cast<std::size_t>(row_tokens);
  row.used = static_cast<std::int64_t>(row.tokens.size());
  const auto filling = static_cast<std::size_t>(filling_tokens(row_tokens));
  for (std::size_t first = row.tokens.size(); first < all; first += filling) {
    const std::size_t end = std::min(first + filling, all);
    row.begin.resize(end, static_cast<std::int32_t>(first));
    row.origin.resize(end, static_cast<std::int32_t>(first));
  }
  row.tokens.resize(all, 0);
  if (!row.spans.empty()) row.spans.resize(4 * all, 0);
}

}  // namespace

ScorePlan pack_requests(std::span<const ScoreRequest> requests, const PackOptions& options) {
  if (options.row_tokens < options.window) {
    throw internal_error("evaluate", "rows of {} tokens for {}", options.row_tokens, options.window);
  }
  ScorePlan plan;
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    check(requests[i], number, options.window, options.vocab_size);
    if (requests[i].continuation.empty()) continue;
    inputs.push_back({number, input_of(requests[i], options.window)});
    plan.asked_for += std::ssize(inputs.back().tokens);
  }
  const std::vector<Shared> shared = share(inputs);
  std::vector<Group> groups = group(shared, options);
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
    return a.tokens != b.tokens ? a.tokens > b.tokens : a.request < b.request;
  });
  std::multimap<std::int64_t, std::size_t> rooms;  // room that is left in a row, and its number
  for (const Group& g : groups) {
    auto room = rooms.lower_bound(g.tokens);
    if (room == rooms.end()) {
      room = rooms.emplace(options.row_tokens, plan.rows.size());
      plan.rows.emplace_back();
    }
    const auto [left, number] = *room;
    rooms.erase(room);
    RowWriter(plan.rows[number], requests).append(g);
    if (left > g.tokens) rooms.emplace(left - g.tokens, number);
    plan.tokens += g.tokens;
  }
  for (ScoreRow& row : plan.rows) fill_up(row, options.row_tokens);
  return plan;
}

}  // namespace octet
