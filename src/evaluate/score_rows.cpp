#include "src/evaluate/score_rows.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "src/base/error.h"

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

/// Without the last token, which nothing is behind, and what is too much at the left.
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

/// In the order of the alphabet of ids, what begins with an input follows it without a gap.
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

void append(ScoreRow& row, const Shared& shared, std::span<const ScoreRequest> requests) {
  const auto start = static_cast<std::int32_t>(row.tokens.size());
  const auto& tokens = shared.longest->tokens;
  row.tokens.insert(row.tokens.end(), tokens.begin(), tokens.end());
  row.begin.resize(row.tokens.size(), start);
  for (const Input* input : shared.all) {
    const auto& continuation = requests[static_cast<std::size_t>(input->request)].continuation;
    std::int32_t behind = start + static_cast<std::int32_t>(input->tokens.size() - continuation.size());
    for (const std::int32_t target : continuation) {
      row.behind.push_back(behind++);
      row.targets.push_back(target);
    }
    row.requests.push_back(input->request);
  }
}

}  // namespace

ScorePlan pack_requests(std::span<const ScoreRequest> requests, std::int64_t window, std::int64_t row_tokens,
                        std::int64_t vocab_size) {
  if (row_tokens < window) throw internal_error("evaluate", "rows of {} tokens for {}", row_tokens, window);
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    check(requests[i], number, window, vocab_size);
    if (!requests[i].continuation.empty()) inputs.push_back({number, input_of(requests[i], window)});
  }
  std::vector<Shared> shared = share(inputs);
  std::ranges::stable_sort(shared, [](const Shared& a, const Shared& b) {
    const auto length = [](const Shared& s) { return s.longest->tokens.size(); };
    return length(a) != length(b) ? length(a) > length(b) : a.longest->request < b.longest->request;
  });
  ScorePlan plan;
  std::multimap<std::int64_t, std::size_t> rooms;  // room that is left in a row, and its number
  for (const Shared& s : shared) {
    const auto length = static_cast<std::int64_t>(s.longest->tokens.size());
    auto room = rooms.lower_bound(length);
    if (room == rooms.end()) {
      room = rooms.emplace(row_tokens, plan.rows.size());
      plan.rows.emplace_back();
    }
    const auto [left, number] = *room;
    rooms.erase(room);
    append(plan.rows[number], s, requests);
    if (left > length) rooms.emplace(left - length, number);
    plan.tokens += length;
  }
  for (ScoreRow& row : plan.rows) {
    row.used = static_cast<std::int64_t>(row.tokens.size());
    row.begin.resize(static_cast<std::size_t>(row_tokens), static_cast<std::int32_t>(row.used));
    row.tokens.resize(static_cast<std::size_t>(row_tokens), 0);
  }
  return plan;
}

}  // namespace octet
